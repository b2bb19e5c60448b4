// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gperftools_read.c - reads gperftools' CPU profiles: words of 4 or 8 bytes, either byte order,
 * versions 0 and 1. See docs/format-gperftools.md.
 *
 * The records are read several times: once to collect addresses and counts, and once for each run.
 * The first reading finds damage; what precedes it is used. Knows nothing of names:
 * gperftools_text.c does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "formats/describe.h"
#include "formats/formats.h"
#include "formats/gperftools/gperftools_text.h"
#include "formats/input.h"
#include "formats/read_error.h"
#include "formats/read_stack.h"
#include "formats/thread_clocks.h"
#include "model/intern.h"
#include "model/reader.h"

#define SYMBOL_HEAD "--- symbol"
#define PROFILE_HEAD "--- profile"
#define HEADER_SLOTS_MIN 3	/* after the first two: version, period, padding */

/* The size and byte order of a file's words. */
struct words {
	const uint8_t *data;
	size_t size;
	uint32_t bytes;		/* 4 or 8 */
	bool swapped;
};

struct gperf_reader {
	struct reader reader;
	struct words w;
	uint64_t version, header_slots;
	bool symbolized;	/* the file begins with "--- symbol"; google-pprof --raw then
				 * writes no trailer */
	size_t records, end;	/* records are in [records, end); end: trailer or damage */
	struct gperf_text *text;
	struct intern *names;
	struct u64map frame_of[2];	/* address -> frame id + 1; [1]: for callers' addresses */
	uint64_t seed;		/* so that a file cannot choose addresses that collide */
	struct buf ids;
	char damage[160];	/* "": none */
};

struct record {
	uint64_t cnt, depth;
	size_t pcs;		/* offset of the first address */
	size_t next;
};

static struct gperf_reader *to_gperf(struct reader *r)
{
	return (struct gperf_reader *)r;
}

/* The word at an offset, which must be inside the file. */
static uint64_t word_at(const struct words *w, size_t at)
{
	uint64_t v8;
	uint32_t v4;

	if (w->bytes == 8) {
		memcpy(&v8, w->data + at, sizeof(v8));
		return w->swapped ? __builtin_bswap64(v8) : v8;
	}
	memcpy(&v4, w->data + at, sizeof(v4));
	return w->swapped ? __builtin_bswap32(v4) : v4;
}

static bool has_words(const struct words *w, size_t at, uint64_t cnt)
{
	return at <= w->size && cnt <= (w->size - at) / w->bytes;
}

/* The offset of the binary profile: 0, or after the line "--- profile". */
static size_t profile_at(const struct input *in)
{
	static const char mark[] = "\n" PROFILE_HEAD "\n";
	const char *found;

	if (in->size < strlen(SYMBOL_HEAD) || memcmp(in->data, SYMBOL_HEAD, strlen(SYMBOL_HEAD)))
		return 0;
	found = memmem(in->data, in->size, mark, strlen(mark));
	return found ? (size_t)((const uint8_t *)found - in->data) + strlen(mark) : in->size;
}

/*
 * Finds the word size and byte order. A profile begins with 0, then the number of header slots (3
 * or a few more), then version 0 or 1: only one size and byte order fits. "A few" are as many as
 * the file has room for.
 */
static bool detect_words(const struct input *in, size_t at, struct words *w)
{
	int i;

	for (i = 0; i < 4; i++) {
		*w = (struct words){ in->data, in->size, i & 1 ? 4 : 8, i >= 2 };
		if (has_words(w, at, 3) && !word_at(w, at) &&
		    word_at(w, at + w->bytes) >= HEADER_SLOTS_MIN &&
		    word_at(w, at + w->bytes) < 4096 && word_at(w, at + 2 * w->bytes) <= 1)
			return true;
	}
	return false;
}

static bool gperf_probe(const struct input *in)
{
	struct words w;

	return (in->size >= strlen(SYMBOL_HEAD) &&
		!memcmp(in->data, SYMBOL_HEAD, strlen(SYMBOL_HEAD))) || detect_words(in, 0, &w);
}

static int parse_header(struct gperf_reader *g, size_t at, const struct reason *why)
{
	const struct words *w = &g->w;

	g->header_slots = word_at(w, at + w->bytes);
	if (!has_words(w, at, 2 + g->header_slots))
		return reason_at(why, at + w->bytes, "a header of %" PRIu64 " slots does not fit",
				 g->header_slots);
	g->version = word_at(w, at + 2 * w->bytes);
	g->reader.info.meta.interval_us = word_at(w, at + 3 * w->bytes);
	g->records = at + (2 + g->header_slots) * w->bytes;
	/* A period of a day or more is invalid, and could make times overflow. */
	if (!g->reader.info.meta.interval_us || g->reader.info.meta.interval_us > 86400000000)
		return reason_at(why, at + 3 * w->bytes, "a sampling period of %" PRIu64 " us",
				 g->reader.info.meta.interval_us);
	return 0;
}

/* Parses a record. Returns 1: a record; 0: the trailer; -EBADMSG. */
static int parse_record(const struct words *w, size_t at, struct record *rec,
			const struct reason *why)
{
	if (!has_words(w, at, 2))
		return reason_at(why, at, "the file ends without the trailer 0, 1, 0");
	rec->cnt = word_at(w, at);
	rec->depth = word_at(w, at + w->bytes);
	rec->pcs = at + 2 * w->bytes;
	if (!rec->depth)
		return reason_at(why, at + w->bytes, "a stack of 0 addresses");
	if (!has_words(w, rec->pcs, rec->depth))
		return reason_at(why, at + w->bytes, "a stack of %" PRIu64 " addresses, %zu bytes "
				 "are left", rec->depth, w->size - rec->pcs);
	rec->next = rec->pcs + rec->depth * w->bytes;
	if (rec->cnt)
		return 1;
	if (rec->depth == 1 && !word_at(w, rec->pcs))
		return 0;
	return reason_at(why, at, "a record of 0 samples");
}

static int frame_of_address(struct gperf_reader *g, uint64_t addr, bool caller, uint32_t *frame)
{
	/* In version 1, names belong to the addresses as they are in the file. */
	struct u64map *map = &g->frame_of[caller && !g->version];
	void *known = u64map_get(map, addr ^ g->seed);
	int err;

	if (known) {
		*frame = (uint32_t)((uintptr_t)known - 1);
		return 0;
	}
	err = gperf_text_frame(g->text, g->names, addr, caller && !g->version, frame);
	return err ? err : u64map_put(map, addr ^ g->seed, (void *)((uintptr_t)*frame + 1));
}

static int parse_stack(struct gperf_reader *g, const struct record *rec, struct event *ev,
		       uint32_t frames[EVENT_MAX_FRAMES], bool *cut)
{
	/* Beyond the frames that are kept, it only matters whether there are more. */
	uint64_t n = rec->depth <= EVENT_MAX_FRAMES ? rec->depth : EVENT_MAX_FRAMES + 1, i;
	uint32_t frame;
	int err;

	g->ids.len = 0;
	for (i = 0; i < n; i++) {
		err = frame_of_address(g, word_at(&g->w, rec->pcs + i * g->w.bytes), i > 0, &frame);
		if (!err)
			err = buf_add(&g->ids, &frame, sizeof(frame));
		if (err)
			return err;
	}
	ev->frames = frames;
	return stack_fit(g->names, &g->ids, false, frames, &ev->nframes, cut);
}

/* Finds the end of the records: the trailer, or the first damaged record. */
static int find_end(struct gperf_reader *g)
{
	const struct reason why = { g->damage, sizeof(g->damage) };
	struct record rec;
	int got;

	for (g->end = g->records;; g->end = rec.next) {
		if (g->symbolized && g->end == g->w.size)
			return 0;
		got = parse_record(&g->w, g->end, &rec, &why);
		if (got <= 0)
			break;
	}
	return got ? 0 : gperf_text_trailer(g->text, (const char *)g->w.data + rec.next,
					    g->w.size - rec.next);
}

/* Finds a frame for every address, after all text was read. */
static int count_records(struct gperf_reader *g, const struct reason *why)
{
	struct reader_info *info = &g->reader.info;
	uint32_t frames[EVENT_MAX_FRAMES];
	struct record rec;
	struct event ev;
	size_t at;
	bool cut;

	for (at = g->records; at < g->end; at = rec.next) {
		parse_record(&g->w, at, &rec, why);
		if (rec.cnt > WEIGHT_SUM_MAX - info->weight_sum)
			return reason_at(why, at, "counts that add up to more than 63 bits");
		if (parse_stack(g, &rec, &ev, frames, &cut))
			return reason_memory(why);
		info->weight_sum += rec.cnt;
		info->event_cnt++;
		info->truncated_cnt += cut;
	}
	if (*g->damage && !info->event_cnt) {
		snprintf(why->why, why->size, "%s", g->damage);
		return -EBADMSG;
	}
	info->stats.known = true;
	info->stats.duration_s = info->weight_sum * (info->meta.interval_us / 1e6);
	info->stats.sample_rate = 1e6 / info->meta.interval_us;
	return 0;
}

static int gperf_parse(struct gperf_reader *g, const struct input *in, const struct reason *why)
{
	size_t at = profile_at(in);
	int err;

	if (!detect_words(in, at, &g->w))
		return reason_at(why, at, "no header of a CPU profile (0, 3, version 0 or 1)");
	g->symbolized = at > 0;
	if (gperf_text_symbols(g->text, (const char *)in->data, at))
		return reason_memory(why);
	err = parse_header(g, at, why);
	if (!err && find_end(g))
		err = reason_memory(why);
	return err ? err : count_records(g, why);
}

static void free_gperf(struct reader *r)
{
	struct gperf_reader *g = to_gperf(r);

	gperf_text_free(g->text);
	intern_free(g->names);
	u64map_free(&g->frame_of[0]);
	u64map_free(&g->frame_of[1]);
	buf_free(&g->ids);
	free(g);
}

static struct reader *open_gperf(const struct input *in, const struct reader_args *args, char *why,
				 size_t why_size)
{
	const struct reason reason = { why, why_size };
	struct gperf_reader *g = calloc(1, sizeof(*g));
	int err;

	if (!g) {
		reason_memory(&reason);
		return NULL;
	}
	g->reader.ops = &reader_gperftools;
	g->reader.profile_cnt = 1;
	g->reader.info.timed = true;
	g->reader.info.meta.mode = MODE_CPU;
	if (getrandom(&g->seed, sizeof(g->seed), GRND_NONBLOCK) < 0)
		g->seed = now_ns();
	g->text = gperf_text_new();
	g->names = intern_new();
	err = g->text && g->names ? gperf_parse(g, in, &reason) : reason_memory(&reason);
	if (err) {
		free_gperf(&g->reader);
		errno = -err;
		return NULL;
	}
	g->reader.tables = intern_tables(g->names);
	return &g->reader;
}

/* The format has neither threads nor times: it becomes one thread with consecutive samples. */
static int gperf_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		     size_t why_size)
{
	struct gperf_reader *g = to_gperf(r);
	const struct reason reason = { why, why_size };
	uint32_t frames[EVENT_MAX_FRAMES];
	struct event ev = { 0 };
	struct clocks clocks = { 0 };
	struct record rec;
	size_t at;
	bool cut;
	int err = 0;

	for (at = g->records; !err && at < g->end; at = rec.next) {
		parse_record(&g->w, at, &rec, &reason);
		ev.weight = rec.cnt;
		err = parse_stack(g, &rec, &ev, frames, &cut);
		if (!err)
			err = clocks_tick(&clocks, 0, rec.cnt, r->info.meta.interval_us,
					  &ev.time_us);
		if (!err)
			err = on_event(ctx, &ev);
	}
	clocks_free(&clocks);
	if (!err && *g->damage) {
		snprintf(why, why_size, "%s", g->damage);
		err = -EBADMSG;
	}
	return err;
}

static void gperf_describe(const struct reader *r, struct describe *d)
{
	const struct gperf_reader *g = (const struct gperf_reader *)r;
	bool little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != g->w.swapped;
	const char *order = little ? "little" : "big";

	d->number(d, "version", g->version);
	d->number(d, "word_bytes", g->w.bytes);
	d->text(d, "byte_order", order, strlen(order));
	d->number(d, "symbol_count", gperf_text_symbol_cnt(g->text));
	d->number(d, "mapping_count", gperf_text_mapping_cnt(g->text));
}

const struct reader_ops reader_gperftools = {
	.name = "gperftools",
	.help = "CPU profiles of gperftools (google-pprof), with or without symbols",
	.probe = gperf_probe,
	.open = open_gperf,
	.run = gperf_run,
	.describe = gperf_describe,
	.free = free_gperf,
};
