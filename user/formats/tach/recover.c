// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recover.c - see recover.h.
 *
 * Owns the mappings of both files and the tables made from them. Of a journal, the longest sequence
 * of entries is used that are intact and whose checksum of the samples so far matches the file: a
 * record depends on the preceding ones, so nothing after a gap could be decoded.
 */
#include "formats/tach/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "formats/input.h"
#include "formats/read_error.h"
#include "formats/tach/recover_steps.h"
#include "formats/tach/tach_checksum.h"
#include "formats/tach/tach_decode.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_journal.h"
#include "formats/tach/tach_tables.h"
#include "model/native_library.h"

/* The tables grow by this many entries at a time. */
#define GROW_CNT 4096
/* No larger than a page of any machine. */
#define OWN_STEP 4096
#define LIVE_TRIES 3

struct recovery {
	enum recovery_source source;
	struct tach_reader *whole;	/* RECOVERY_WHOLE: it owns everything */
	struct input file, journal;
	bool live;
	struct tach_info info;
	struct profile_tables tables;
	struct buf libraries;		/* u32: tables.libraries */
	struct frame *frames;
	struct string_ref *strings;
	uint64_t samples_end;		/* offset in the file */
	const char *cut;		/* why the samples end there; NULL: regularly */
	struct reason why;		/* only during recover_open() */
};

/*
 * Returns true if this file's directory is that of a recording that is still running, which has it
 * locked; not all of its journals are locked (user/recording/profile_file.c).
 */
static bool is_in_recording(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	bool locked;
	int fd;

	if (snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		     slash ? path : ".") >= (int)sizeof(dir))
		return false;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	locked = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return locked;
}

/* ---- tables ---- */

/* Takes at most max strings of [p, end). *got: how many; *at: their end. 0 or -ENOMEM. */
static int take_strings(struct recovery *r, const uint8_t *p, const uint8_t *end, uint32_t max,
			uint32_t *got, const uint8_t **at)
{
	uint32_t n, want;

	for (*got = 0, *at = p; *got < max && *at < end; *got += n) {
		struct string_ref *bigger;

		want = max - *got < GROW_CNT ? max - *got : GROW_CNT;
		bigger = reallocarray(r->strings, (size_t)r->tables.string_cnt + want,
				      sizeof(*bigger));
		if (!bigger)
			return reason_memory(&r->why);
		r->strings = bigger;
		n = tach_take_strings(at, end, want, bigger + r->tables.string_cnt);
		r->tables.string_cnt += n;
		if (n < want) {
			*got += n;
			break;
		}
	}
	r->tables.strings = r->strings;
	return 0;
}

static int take_frames(struct recovery *r, const uint8_t *p, const uint8_t *end, uint32_t max,
		       uint32_t *got, const uint8_t **at)
{
	uint32_t n, want;

	for (*got = 0, *at = p; *got < max && *at < end; *got += n) {
		struct frame *bigger;

		want = max - *got < GROW_CNT ? max - *got : GROW_CNT;
		bigger = reallocarray(r->frames, (size_t)r->tables.frame_cnt + want,
				      sizeof(*bigger));
		if (!bigger)
			return reason_memory(&r->why);
		r->frames = bigger;
		n = tach_take_frames(at, end, want, r->info.layout, r->tables.strings,
				     r->tables.string_cnt, bigger + r->tables.frame_cnt);
		r->tables.frame_cnt += n;
		if (n < want) {
			*got += n;
			break;
		}
	}
	r->tables.frames = r->frames;
	return 0;
}

static void forget_tables(struct recovery *r)
{
	free(r->strings);
	free(r->frames);
	r->strings = NULL;
	r->frames = NULL;
	r->tables = (struct profile_tables){ 0 };
}

/* ---- the journal ---- */

static int parse_journal_head(struct recovery *r, struct tach_journal_head *head)
{
	uint32_t mode, layout;

	if (r->journal.size < sizeof(*head))
		return reason_say(&r->why, "its journal has %zu bytes, no beginning",
				  r->journal.size);
	memcpy(head, r->journal.data, sizeof(*head));
	if (memcmp(head->magic, TACH_JOURNAL_MAGIC, sizeof(head->magic)))
		return reason_say(&r->why, "what should be its journal is none");
	if (!head->version || head->version > TACH_JOURNAL_VERSION)
		return reason_say(
			&r->why,
			"its journal has version %u or comes from a machine of another byte "
			"order: this reads versions up to %u",
			head->version, TACH_JOURNAL_VERSION);
	if (XXH3_64bits(head, offsetof(struct tach_journal_head, check)) != head->check)
		return reason_say(&r->why, "the beginning of its journal is damaged");
	layout = head->layout;
	if (layout >= TACH_LAYOUT_CNT ||
	    tach_load32(head->header, false) != TACH_MAGIC ||
	    tach_take_meta(head->header, layout, false, &r->info.meta, &mode))
		return reason_say(&r->why, "its journal describes no TACH file");
	r->info.layout = layout;
	r->info.version = tach_layout_version(layout);
	r->info.compression = (uint32_t)tach_field_get(head->header, layout, TACH_F_COMPRESSION,
						       false);
	if (r->info.compression > TACH_ZSTD)
		return reason_say(&r->why, "its journal names compression %u: 0 and 1 are known",
				  r->info.compression);
	return 0;
}

/*
 * The file of a running recording can be changed after the last join while we read it: these bytes
 * become our own.
 */
static void own_bytes(const struct recovery *r, uint64_t from, uint64_t end)
{
	volatile uint8_t *data = (uint8_t *)r->file.data;

	for (; from < end; from += OWN_STEP)
		data[from] = data[from];
	if (end)
		data[end - 1] = data[end - 1];
}

static bool sum_matches(const XXH3_state_t *h, const struct recover_step *s)
{
	uint8_t sum[TACH_CHECKSUM_BYTES];

	tach_checksum_now(h, sum);
	return !memcmp(sum, s->checksum, sizeof(sum));
}

/*
 * Returns true if the file's samples, up to the step's end, are those that the step was written
 * for. h: the checksum's state up to `from`, in any case.
 */
static bool samples_match(const struct recovery *r, XXH3_state_t *h, uint64_t from,
			  const struct recover_step *s)
{
	if (s->end < from || s->end > r->file.size)
		return false;
	if (r->live && !s->from)
		own_bytes(r, from, s->end);
	XXH3_128bits_update(h, r->file.data + from, s->end - from);
	return sum_matches(h, s);
}

/* Their writer was killed before they were in place: puts them there, in our copy. */
static bool finish_join(const struct recovery *r, XXH3_state_t *h, uint64_t from,
			const struct recover_step *s)
{
	uint64_t len = s->end - s->at;
	uint8_t *data = (uint8_t *)r->file.data;

	if (!s->from || s->at < from || s->from > r->file.size || len > r->file.size - s->from)
		return false;
	XXH3_128bits_update(h, data + from, s->at - from);
	XXH3_128bits_update(h, data + s->from, len);
	if (!sum_matches(h, s))
		return false;
	memcpy(data + s->at, data + s->from, len);
	return true;
}

/* Takes its strings and frames, all of them or none. Returns 0, -EBADMSG or -ENOMEM. */
static int take_entry(struct recovery *r, const struct tach_journal_entry *e, const uint8_t *p)
{
	const uint8_t *strings = p + sizeof(*e), *frames = strings + e->strings_len, *at;
	struct profile_tables before = r->tables;
	uint32_t got;
	int err;

	err = take_strings(r, strings, frames, e->string_cnt, &got, &at);
	if (!err && (got != e->string_cnt || at != frames))
		err = -EBADMSG;
	if (!err)
		err = take_frames(r, frames, frames + e->frames_len, e->frame_cnt, &got, &at);
	if (!err && (got != e->frame_cnt ||
		     !tach_take_first_lines(at, frames + e->frames_len,
					    r->frames + before.frame_cnt, got)))
		err = -EBADMSG;
	if (err) {
		r->tables.string_cnt = before.string_cnt;
		r->tables.frame_cnt = before.frame_cnt;
	}
	return err;
}

/* Takes the names of all entries of a step; *off: after previous ones. 0 or as take_entry(). */
static int take_names(struct recovery *r, const struct recover_step *s, uint64_t *off)
{
	struct tach_journal_entry e;
	const uint8_t *p;
	int err = 0;

	while (!err && (p = recover_next_names(r->journal.data, off, s->entries_end, &e)))
		err = take_entry(r, &e, p);
	return err;
}

/* Takes the steps up to the first that the file lacks. before: scratch. 0 or -ENOMEM. */
static int walk_steps(struct recovery *r, const struct buf *steps, XXH3_state_t *h,
		      XXH3_state_t *before)
{
	uint64_t off = sizeof(struct tach_journal_head);
	struct recover_step s;
	size_t at;
	int err;

	r->samples_end = TACH_HEADER_BYTES;
	tach_checksum_start(h);
	for (at = 0; at < steps->len; at += sizeof(s)) {
		memcpy(&s, steps->data + at, sizeof(s));
		XXH3_copyState(before, h);
		if (!samples_match(r, h, r->samples_end, &s)) {
			XXH3_copyState(h, before);
			if (!finish_join(r, h, r->samples_end, &s)) {
				r->cut = "the file's samples are not those that its journal names";
				return 0;
			}
		}
		err = take_names(r, &s, &off);
		if (err == -ENOMEM)
			return err;
		if (err) {
			r->cut = "an entry of the journal makes no sense";
			return 0;
		}
		r->samples_end = s.end;
	}
	return 0;
}

static int walk_journal(struct recovery *r, const struct tach_journal_head *head)
{
	XXH3_state_t *h = XXH3_createState(), *before = XXH3_createState();
	struct buf steps = { 0 };
	int err = h && before ? recover_steps(&steps, r->journal.data, r->journal.size, head) :
				-ENOMEM;

	err = err ? reason_memory(&r->why) : walk_steps(r, &steps, h, before);
	buf_free(&steps);
	XXH3_freeState(h);
	XXH3_freeState(before);
	return err;
}

static int use_journal(struct recovery *r)
{
	struct tach_journal_head head;
	int err;

	r->source = RECOVERY_JOURNAL;
	err = parse_journal_head(r, &head);
	if (err)
		return err;
	err = walk_journal(r, &head);
	r->info.frame_cnt = r->tables.frame_cnt;
	return err;
}

/* ---- a damaged file's own tables ---- */

struct offsets {
	uint64_t strings, frames, compression;
};

static bool offsets_fit(const struct recovery *r, enum profile_layout layout, struct offsets *o)
{
	bool swapped = r->info.swapped;

	o->strings = tach_field_get(r->file.data, layout, TACH_F_STRING_TABLE, swapped);
	o->frames = tach_field_get(r->file.data, layout, TACH_F_FRAME_TABLE, swapped);
	o->compression = tach_field_get(r->file.data, layout, TACH_F_COMPRESSION, swapped);
	return o->strings >= TACH_HEADER_BYTES && o->strings <= o->frames &&
	       o->frames <= r->file.size && o->compression <= TACH_ZSTD;
}

/*
 * The number of frames: from the footer if there is one; otherwise as many as can be decoded, which
 * may be too many (what follows is decoded as frames, too), but no sample refers to those.
 */
static uint32_t frames_said(const struct recovery *r, const uint8_t **end)
{
	const uint8_t *footer = r->file.data + r->file.size - TACH_FOOTER_BYTES;

	*end = r->file.data + r->file.size;
	if (r->file.size < TACH_HEADER_BYTES + TACH_FOOTER_BYTES ||
	    tach_load64(footer + TACH_FOOTER_FILE_SIZE, r->info.swapped) != r->file.size)
		return UINT32_MAX;
	*end = footer;
	return tach_load32(footer + TACH_FOOTER_FRAMES, r->info.swapped);
}

/* Reads the tables in this layout. exact: the strings end where the frames begin. */
static int try_layout(struct recovery *r, enum profile_layout layout, bool *exact)
{
	const uint8_t *data = r->file.data, *end, *at;
	struct offsets o;
	uint32_t got, mode, said;
	int err;

	forget_tables(r);
	if (!offsets_fit(r, layout, &o) ||
	    tach_take_meta(data, layout, r->info.swapped, &r->info.meta, &mode))
		return -EBADMSG;
	r->info.layout = layout;
	r->info.compression = (uint32_t)o.compression;
	r->samples_end = o.strings;
	err = take_strings(r, data + o.strings, data + o.frames, UINT32_MAX, &got, &at);
	if (err)
		return err;
	*exact = at == data + o.frames;
	said = frames_said(r, &end);
	if (data + o.frames > end)
		return -EBADMSG;
	err = take_frames(r, data + o.frames, end, said, &got, &at);
	if (!err)
		r->tables.string_cnt -= tach_take_first_line_string(r->tables.strings,
								    r->tables.string_cnt,
								    r->frames, got);
	/* Whatever frame id a sample has: lost frames get a name of their own. */
	r->info.frame_cnt = UINT32_MAX;
	return !err && !got && o.strings > TACH_HEADER_BYTES ? -EBADMSG : err;
}

static int use_tables(struct recovery *r)
{
	enum profile_layout layout, found = TACH_LAYOUT_CNT;
	bool exact = false, any_exact = false;
	int err;

	r->source = RECOVERY_DAMAGED;
	for (layout = 0; layout < TACH_LAYOUT_CNT; layout++) {
		if (tach_layout_version(layout) != r->info.version)
			continue;
		err = try_layout(r, layout, &exact);
		if (err == -ENOMEM)
			return err;
		if (err || (any_exact && !exact))
			continue;
		if (found != TACH_LAYOUT_CNT && exact == any_exact)
			return reason_say(&r->why,
					  "damaged: header and tables can be read in two ways");
		found = layout;
		any_exact = exact;
	}
	if (found == TACH_LAYOUT_CNT)
		return reason_say(
			&r->why,
			"damaged: its tables are lost: nothing in these %zu bytes says what "
			"the frames are",
			r->file.size);
	return try_layout(r, found, &exact);
}

/* ---- opening ---- */

/* Reads the file's first bytes into info. Returns false if they are unusable. */
static bool begins_well(struct recovery *r)
{
	uint32_t magic = r->file.size >= TACH_HEADER_BYTES ? tach_load32(r->file.data, false) : 0;

	r->info.swapped = magic == TACH_MAGIC_SWAPPED;
	if (magic != TACH_MAGIC && magic != TACH_MAGIC_SWAPPED)
		return false;
	r->info.version = tach_load32(r->file.data + 4, r->info.swapped);
	return r->info.version == 1 || r->info.version == 2;
}

/* A file without a valid header: only its journal can help. */
static int open_unfinished(struct recovery *r, bool has_journal)
{
	static const uint8_t zeros[TACH_HEADER_BYTES];
	size_t n = r->file.size < sizeof(zeros) ? r->file.size : sizeof(zeros);

	if (has_journal)
		return use_journal(r);
	if (n && memcmp(r->file.data, zeros, n))
		return reason_say(&r->why, "not a TACH file");
	reason_say(
		&r->why,
		"the capture was cut off, and the journal beside it, which has the names, is gone");
	return -ENOENT;
}

static int open_recovery(struct recovery *r, const char *path, const char *journal)
{
	char why[256];
	int err;

	r->whole = tach_reader_open(path, why, sizeof(why));
	err = input_map_private(&r->journal, journal, &r->live);
	r->live = r->live || (!err && is_in_recording(journal));
	if (err && err != -ENOENT && !r->whole)
		return reason_say(&r->why, "cannot read its journal: %s", strerror(-err));
	if (r->whole) {
		r->source = RECOVERY_WHOLE;
		return 0;
	}
	if (input_map_private(&r->file, path, NULL))
		return reason_say(&r->why, "%s", why);
	r->info.counts_unknown = true;
	r->info.thread_cnt = UINT32_MAX;
	r->info.file_size = r->file.size;
	if (!begins_well(r))
		return open_unfinished(r, !err);
	if (!err && !use_journal(r) && r->samples_end > TACH_HEADER_BYTES)
		return 0;
	begins_well(r);		/* replaces what the journal says */
	r->cut = NULL;
	return use_tables(r);
}

/* Begins again with the files as they are now. */
static void start_over(struct recovery *r)
{
	forget_tables(r);
	input_unmap_private(&r->file);
	input_unmap_private(&r->journal);
	tach_reader_free(r->whole);
	*r = (struct recovery){ .why = r->why };
}

/* Frames of a running recording may have been joined after the journal was read. */
static int open_still(struct recovery *r, const char *path, const char *journal)
{
	int tries, err = open_recovery(r, path, journal);

	for (tries = 1; !err && r->live && r->cut && tries < LIVE_TRIES; tries++) {
		start_over(r);
		err = open_recovery(r, path, journal);
	}
	return err;
}

struct recovery *recover_open(const char *path, const char *journal, char *why, size_t why_size)
{
	struct recovery *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		snprintf(why, why_size, "out of memory");
		return NULL;
	}
	r->why = (struct reason){ why, why_size };
	err = open_still(r, path, journal);
	if (!err)
		err = native_libraries_find(&r->tables, &r->libraries);
	if (err) {
		recover_free(r);
		errno = -err;
		return NULL;
	}
	r->tables.libraries = (const uint32_t *)(const void *)r->libraries.data;
	r->tables.library_cnt = (uint32_t)(r->libraries.len / sizeof(uint32_t));
	r->why = (struct reason){ NULL, 0 };
	return r;
}

void recover_free(struct recovery *r)
{
	if (!r)
		return;
	forget_tables(r);
	buf_free(&r->libraries);
	input_unmap_private(&r->file);
	input_unmap_private(&r->journal);
	tach_reader_free(r->whole);
	free(r);
}

enum recovery_source recover_source(const struct recovery *r)
{
	return r->source;
}

bool recover_is_live(const struct recovery *r)
{
	return r->live;
}

const struct tach_info *recover_info(const struct recovery *r)
{
	return r->whole ? tach_reader_info(r->whole) : &r->info;
}

const struct profile_tables *recover_tables(const struct recovery *r)
{
	return r->whole ? tach_reader_tables(r->whole) : &r->tables;
}

int recover_samples(struct recovery *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx, char *why, size_t why_size)
{
	const uint8_t *samples = r->file.data;
	size_t len = 0;
	int err;

	*why = '\0';
	if (r->whole) {
		err = tach_reader_run(r->whole, on_event, ctx, why, why_size);
	} else {
		if (r->samples_end > TACH_HEADER_BYTES) {
			samples += TACH_HEADER_BYTES;
			len = r->samples_end - TACH_HEADER_BYTES;
		}
		err = tach_decode(&r->info, samples, len, 0, on_event, ctx, why,
				  why_size);
	}
	/* With a reason, the error is the decoder's; without one, on_event()'s. */
	if (err == -EBADMSG && *why)
		err = 0;
	if (!err && !*why && r->cut)
		snprintf(why, why_size, "%s", r->cut);
	return err;
}
