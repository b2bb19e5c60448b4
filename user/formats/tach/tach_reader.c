// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tach_reader.c - opens TACH files: finds the layout, checks the tables. See tach_reader.h;
 * tach_decode.c reads the samples.
 *
 * Owns the read-only mapping that strings point into. If somebody truncates the file while it is
 * mapped, the process ends (SIGBUS). The size is the one that fstat() returned.
 */
#include "formats/tach/tach_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "formats/input.h"
#include "formats/read_error.h"
#include "formats/tach/tach_checksum.h"
#include "formats/tach/tach_decode.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_tables.h"
#include "model/native_library.h"

struct tach_reader {
	struct input *in;
	const uint8_t *map;	/* in's */
	size_t size;
	uint64_t strings_off, frames_off;
	struct tach_info info;
	struct profile_tables tables;
	struct frame *frames;
	struct string_ref *strings;
	struct buf libraries;	/* u32: tables.libraries */
	struct reason why;	/* only during tach_reader_open() */
};

static int parse_strings(struct tach_reader *r)
{
	const uint8_t *p = r->map + r->strings_off, *end = r->map + r->frames_off;
	uint32_t i, cnt = r->info.string_cnt;

	if (cnt > (size_t)(end - p) / TACH_STRING_MIN_BYTES)
		return reason_say(&r->why, "damaged: %u strings in %zu bytes", cnt,
				  (size_t)(end - p));
	r->strings = malloc(((size_t)cnt + 1) * sizeof(*r->strings));
	if (!r->strings)
		return reason_memory(&r->why);
	i = tach_take_strings(&p, end, cnt, r->strings);
	if (i < cnt)
		return reason_say(&r->why,
				  "damaged: string %u of %u, at byte %zu, ends outside its table",
				  i, cnt, (size_t)(p - r->map));
	if (p != end)
		return reason_say(&r->why, "damaged: %zu bytes behind the strings, at byte %zu",
				  (size_t)(end - p), (size_t)(p - r->map));
	return 0;
}

/* Parses the frame table. *end_off: where it ends. */
static int parse_frames(struct tach_reader *r, uint64_t *end_off)
{
	const uint8_t *p = r->map + r->frames_off;
	const uint8_t *end = r->map + r->size - TACH_FOOTER_BYTES;
	uint32_t i, cnt = r->info.frame_cnt;

	if (cnt > (size_t)(end - p) / tach_frame_min_bytes(r->info.layout))
		return reason_say(&r->why, "damaged: %u frames in %zu bytes", cnt,
				  (size_t)(end - p));
	r->frames = malloc(((size_t)cnt + 1) * sizeof(*r->frames));
	if (!r->frames)
		return reason_memory(&r->why);
	i = tach_take_frames(&p, end, cnt, r->info.layout, r->strings, r->info.string_cnt,
			     r->frames);
	if (i < cnt)
		return reason_say(&r->why, "damaged: frame %u of %u, at byte %zu", i, cnt,
				  (size_t)(p - r->map));
	*end_off = p - r->map;
	r->info.string_cnt -= tach_take_first_line_string(r->strings, r->info.string_cnt,
							  r->frames, cnt);
	return 0;
}

static double load_double(const struct tach_reader *r, const uint8_t *p)
{
	uint64_t bits = tach_load64(p, r->info.swapped);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static bool finite_positive(double v)
{
	return isfinite(v) && v >= 0;
}

/*
 * Parses what is between the frame table and the footer: nothing, or TACHSTAT in one of its forms.
 */
static int parse_stats(struct tach_reader *r, uint64_t off)
{
	struct profile_stats *st = &r->info.stats;
	size_t len = r->size - TACH_FOOTER_BYTES - off;
	const uint8_t *p = r->map + off, *trailer = p + len - TACH_STAT_TRAILER_BYTES;
	uint32_t present;

	if (!len)
		return 0;
	if (r->info.layout == LAYOUT_DRAFT2 || len < TACH_STAT_TRAILER_BYTES ||
	    memcmp(trailer, TACH_STAT_MAGIC, 8) ||
	    tach_load32(trailer + 12, r->info.swapped) != len)
		return reason_say(&r->why, "damaged: %zu bytes behind the frames", len);
	/* A newer CPython has written it: ignored. */
	if (tach_load32(trailer + 8, r->info.swapped) != TACH_STAT_VERSION)
		return 0;
	if (len != TACH_STAT_BYTES && len != TACH_STAT_SHORT_BYTES)
		return reason_say(&r->why, "damaged: TACHSTAT of %zu bytes", len);
	st->known = true;
	st->duration_s = load_double(r, p);
	st->sample_rate = load_double(r, p + 8);
	if (len == TACH_STAT_BYTES) {
		present = tach_load32(p + 32, r->info.swapped);
		st->error_known = present & TACH_STAT_HAS_ERROR;
		st->missed_known = present & TACH_STAT_HAS_MISSED;
		st->error_pct = st->error_known ? load_double(r, p + 16) : 0;
		st->missed_pct = st->missed_known ? load_double(r, p + 24) : 0;
	}
	/* missed may be negative: CPython compares with the planned number of samples. */
	if (!finite_positive(st->duration_s) || !finite_positive(st->sample_rate) ||
	    !finite_positive(st->error_pct) || !isfinite(st->missed_pct))
		return reason_say(&r->why, "damaged: TACHSTAT holds a number that is not one");
	return 0;
}

/* Returns true if the header's fields, read in this layout, fit the file. */
static bool header_fits(struct tach_reader *r, enum profile_layout layout)
{
	bool swapped = r->info.swapped;
	uint64_t strings = tach_field_get(r->map, layout, TACH_F_STRING_TABLE, swapped);
	uint64_t frames = tach_field_get(r->map, layout, TACH_F_FRAME_TABLE, swapped);

	return strings >= TACH_HEADER_BYTES && strings <= frames &&
	       frames <= r->size - TACH_FOOTER_BYTES &&
	       tach_field_get(r->map, layout, TACH_F_COMPRESSION, swapped) <= TACH_ZSTD;
}

static int parse_header(struct tach_reader *r, enum profile_layout layout)
{
	struct tach_info *info = &r->info;
	const uint8_t *footer = r->map + r->size - TACH_FOOTER_BYTES;
	uint64_t v[TACH_FIELD_CNT], said;
	uint32_t mode;
	int i;

	for (i = 0; i < TACH_FIELD_CNT; i++)
		v[i] = tach_field_get(r->map, layout, i, info->swapped);
	info->layout = layout;
	info->stats = (struct profile_stats){ 0 };
	info->sample_cnt = v[TACH_F_SAMPLES];
	info->thread_cnt = (uint32_t)v[TACH_F_THREADS];
	info->compression = (uint32_t)v[TACH_F_COMPRESSION];
	info->string_cnt = tach_load32(footer + TACH_FOOTER_STRINGS, info->swapped);
	info->frame_cnt = tach_load32(footer + TACH_FOOTER_FRAMES, info->swapped);
	r->strings_off = v[TACH_F_STRING_TABLE];
	r->frames_off = v[TACH_F_FRAME_TABLE];
	said = tach_load64(footer + TACH_FOOTER_FILE_SIZE, info->swapped);
	if (said != r->size)
		return reason_say(&r->why, "truncated or damaged: %zu bytes, the footer says %llu",
				  r->size, (unsigned long long)said);
	if (tach_take_meta(r->map, layout, info->swapped, &info->meta, &mode))
		return reason_say(&r->why, "damaged: unknown profiling mode %u", mode);
	return 0;
}

static void free_tables(struct tach_reader *r)
{
	free(r->strings);
	free(r->frames);
	r->strings = NULL;
	r->frames = NULL;
}

static int parse_as(struct tach_reader *r, enum profile_layout layout)
{
	uint64_t frames_end = 0;
	int err;

	free_tables(r);
	err = parse_header(r, layout);
	if (!err)
		err = parse_strings(r);
	if (!err)
		err = parse_frames(r, &frames_end);
	return err ? err : parse_stats(r, frames_end);
}

/*
 * release and draft1 have the same version number: the layout whose header fits is used. If both
 * fit, the tables decide. Nothing is guessed.
 */
static int parse_layouts(struct tach_reader *r)
{
	enum profile_layout fitting[TACH_LAYOUT_CNT], found = TACH_LAYOUT_CNT, layout;
	int i, cnt = 0, err = 0;

	for (layout = 0; layout < TACH_LAYOUT_CNT; layout++) {
		if (tach_layout_version(layout) == r->info.version && header_fits(r, layout))
			fitting[cnt++] = layout;
	}
	if (!cnt)
		return reason_say(&r->why,
				  "truncated or damaged: the header's offsets do not fit the file");
	if (cnt == 1)
		return parse_as(r, fitting[0]);
	for (i = 0; i < cnt; i++) {
		err = parse_as(r, fitting[i]);
		if (err == -ENOMEM)
			return err;
		if (!err && found != TACH_LAYOUT_CNT)
			return reason_say(&r->why,
					  "damaged: header and tables can be read in two ways");
		if (!err)
			found = fitting[i];
	}
	return found != TACH_LAYOUT_CNT ? parse_as(r, found) : err;
}

static int parse_file(struct tach_reader *r)
{
	uint32_t magic, version;

	if (r->size >= 4 && !tach_load32(r->map, false))
		return reason_say(&r->why,
				  "not finished: the header is empty, the capture was cut off or "
				  "is still running (tachbpf recover makes it readable)");
	magic = r->size >= 4 ? tach_load32(r->map, false) : 0;
	if (magic != TACH_MAGIC && magic != TACH_MAGIC_SWAPPED)
		return reason_say(&r->why, "not a TACH file");
	if (r->size < TACH_HEADER_BYTES + TACH_FOOTER_BYTES)
		return reason_say(&r->why, "truncated: %zu bytes hold no header and footer",
				  r->size);
	r->info.swapped = magic == TACH_MAGIC_SWAPPED;
	version = tach_load32(r->map + 4, r->info.swapped);
	if (version != 1 && version != 2)
		return reason_say(&r->why, "TACH version %u is not known", version);
	r->info.version = version;
	r->info.file_size = r->size;
	return parse_layouts(r);
}

struct tach_reader *tach_reader_open(const char *path, char *why, size_t why_size)
{
	struct tach_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		snprintf(why, why_size, "out of memory");
		return NULL;
	}
	r->why = (struct reason){ why, why_size };
	r->in = input_map(path, why, why_size);
	err = r->in ? 0 : -errno;
	if (!err) {
		r->map = r->in->data;
		r->size = r->in->size;
		err = parse_file(r);
	}
	if (err) {
		tach_reader_free(r);
		errno = -err;
		return NULL;
	}
	r->tables = (struct profile_tables){
		.frames = r->frames,
		.strings = r->strings,
		.frame_cnt = r->info.frame_cnt,
		.string_cnt = r->info.string_cnt,
	};
	if (native_libraries_find(&r->tables, &r->libraries)) {
		reason_memory(&r->why);
		tach_reader_free(r);
		errno = ENOMEM;
		return NULL;
	}
	r->tables.libraries = (const uint32_t *)(const void *)r->libraries.data;
	r->tables.library_cnt = (uint32_t)(r->libraries.len / sizeof(uint32_t));
	r->why = (struct reason){ NULL, 0 };
	return r;
}

void tach_reader_free(struct tach_reader *r)
{
	if (!r)
		return;
	free_tables(r);
	buf_free(&r->libraries);
	input_unmap(r->in);
	free(r);
}

const struct tach_info *tach_reader_info(const struct tach_reader *r)
{
	return &r->info;
}

const struct profile_tables *tach_reader_tables(const struct tach_reader *r)
{
	return &r->tables;
}

struct tach_decoder *tach_reader_samples(struct tach_reader *r, char *why, size_t why_size)
{
	return tach_decoder_new(&r->info, r->map + TACH_HEADER_BYTES,
				r->strings_off - TACH_HEADER_BYTES, why, why_size);
}

int tach_reader_run(struct tach_reader *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx, char *why, size_t why_size)
{
	return tach_reader_run_takes(r, 0, on_event, ctx, why, why_size);
}

int tach_reader_run_takes(struct tach_reader *r, unsigned int takes,
			  int (*on_event)(void *ctx, const struct event *ev), void *ctx, char *why,
			  size_t why_size)
{
	return tach_decode(&r->info, r->map + TACH_HEADER_BYTES, r->strings_off - TACH_HEADER_BYTES,
			   takes, on_event, ctx, why, why_size);
}

enum tach_checksum tach_reader_checksum(const struct tach_reader *r)
{
	static const uint8_t none[TACH_CHECKSUM_BYTES];
	const uint8_t *said = r->map + r->size - TACH_CHECKSUM_BYTES;
	uint8_t is[TACH_CHECKSUM_BYTES];
	XXH3_state_t *h;
	int err;

	if (!memcmp(said, none, sizeof(none)))
		return TACH_CHECKSUM_NONE;
	h = XXH3_createState();
	if (!h)
		return TACH_CHECKSUM_UNKNOWN;
	tach_checksum_start(h);
	err = tach_checksum_end(h, r->map + TACH_HEADER_BYTES,
				r->size - TACH_HEADER_BYTES - TACH_CHECKSUM_BYTES, r->map, is);
	XXH3_freeState(h);
	if (err)
		return TACH_CHECKSUM_UNKNOWN;
	return memcmp(said, is, sizeof(is)) ? TACH_CHECKSUM_WRONG : TACH_CHECKSUM_RIGHT;
}
