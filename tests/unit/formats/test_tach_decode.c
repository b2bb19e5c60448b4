// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_tach_decode.c - records made here, of which is known what they mean: ids and counts of every
 * length, in a window and across its ends, as single events and as runs, whole, cut and damaged.
 */
#include "tests/unit/tach_test.h"

#include <zstd.h>

#include "formats/tach/tach_decode.h"
#include "formats/tach/tach_format.h"

#define THREADS 40	/* more than are found without a search */

/* The stacks as this file knows them, innermost first. */
struct stack {
	uint64_t time_us;
	uint32_t depth, frames[EVENT_MAX_FRAMES];
};

/* Records, and the samples that they mean. */
struct made {
	uint64_t random;
	uint32_t frame_cnt, threads;
	struct stack stacks[THREADS];
	struct buf bytes;
	struct events events;
};

static uint32_t below(struct made *m, uint32_t limit)
{
	return (uint32_t)(rnd(&m->random) >> 32) % limit;
}

/* Now and then longer than it must be, which is allowed. */
static void put(struct made *m, uint64_t v)
{
	uint8_t bytes[VARINT_MAX], *end = varint_put(bytes, v);

	if (!below(m, 50) && end - bytes < 4) {
		end[-1] |= 0x80;
		*end++ = 0x80;
		*end++ = 0;
	}
	assert_int_equal(buf_add(&m->bytes, bytes, (size_t)(end - bytes)), 0);
}

static void put_byte(struct made *m, uint8_t byte)
{
	assert_int_equal(buf_add(&m->bytes, &byte, 1), 0);
}

/* Thread i is thread 1000 + i / 2 in interpreter i % 2. */
static void put_header(struct made *m, uint32_t i, uint8_t kind)
{
	uint64_t thread_id = 1000 + i / 2;
	uint32_t interp_id = i % 2;

	assert_int_equal(buf_add(&m->bytes, &thread_id, sizeof(thread_id)), 0);
	assert_int_equal(buf_add(&m->bytes, &interp_id, sizeof(interp_id)), 0);
	put_byte(m, kind);
}

static void put_time(struct made *m, uint32_t i)
{
	uint64_t delta = below(m, 3) ? below(m, 20000) : rnd(&m->random) >> (24 + below(m, 40));
	uint8_t status = below(m, 4) ? 1 : 2;
	struct stack *st = &m->stacks[i];
	struct event ev = { .thread_id = 1000 + i / 2, .interp_id = i % 2, .nframes = st->depth,
			    .frames = st->frames, .weight = 1, .status = status };

	put(m, delta);
	put_byte(m, status);
	ev.time_us = st->time_us += delta;
	keep_event(&m->events, &ev);
}

static uint32_t any_frame(struct made *m)
{
	uint32_t few = m->frame_cnt < 128 ? m->frame_cnt : 128;

	return below(m, below(m, 4) ? m->frame_cnt : few);
}

/* A record that changes a stack. */
static void change(struct made *m, uint32_t i)
{
	struct stack *st = &m->stacks[i];
	uint8_t kind = (uint8_t)(TACH_FULL + below(m, 3));
	uint32_t most = below(m, 20) ? 12 : EVENT_MAX_FRAMES, old = st->depth, keep, fresh, j;
	uint32_t frames[EVENT_MAX_FRAMES];

	keep = kind == TACH_FULL ? 0 : below(m, old + 1);
	fresh = below(m, (EVENT_MAX_FRAMES - keep < most ? EVENT_MAX_FRAMES - keep : most) + 1);
	for (j = 0; j < fresh; j++)
		frames[j] = any_frame(m);
	memcpy(frames + fresh, st->frames + old - keep, keep * sizeof(*frames));
	memcpy(st->frames, frames, (keep + fresh) * sizeof(*frames));
	st->depth = keep + fresh;
	put_header(m, i, kind);
	put_time(m, i);
	if (kind != TACH_FULL)
		put(m, kind == TACH_SUFFIX ? keep : old - keep);
	put(m, fresh);
	for (j = 0; j < fresh; j++)
		put(m, frames[j]);
}

static void make(struct made *m, uint64_t seed, uint32_t frame_cnt, uint32_t threads, uint32_t cnt)
{
	*m = (struct made){ .random = seed, .frame_cnt = frame_cnt, .threads = threads };
	while (cnt--) {
		uint32_t i = below(m, threads), repeats;

		if (below(m, 3)) {
			change(m, i);
			continue;
		}
		put_header(m, i, TACH_REPEAT);
		repeats = below(m, 50) ? below(m, 5) : below(m, 300);
		put(m, repeats);
		while (repeats--)
			put_time(m, i);
	}
}

static void made_free(struct made *m)
{
	buf_free(&m->bytes);
	events_free(&m->events);
}

static struct tach_info info_of(const struct made *m)
{
	return (struct tach_info){ .frame_cnt = m->frame_cnt, .thread_cnt = m->threads,
				   .sample_cnt = m->events.cnt };
}

/* What has come so far; compares it with what was made. */
struct taken {
	const struct made *m;
	size_t cnt, events;
	unsigned int takes;
	struct stack before[THREADS];
};

static void assert_kept(struct taken *t, const struct event *ev)
{
	struct stack *st = &t->before[(ev->thread_id - 1000) * 2 + ev->interp_id];
	uint32_t kept = ev->kept_1 - 1;

	assert_int_equal(ev->kept_1 > 0, t->takes & EVENT_KEPT);
	if (ev->kept_1) {
		assert_true(kept <= st->depth && kept <= ev->nframes);
		assert_true(!kept || !memcmp(st->frames + st->depth - kept,
					     ev->frames + ev->nframes - kept, kept * 4));
	}
	st->depth = ev->nframes;
	if (ev->nframes)
		memcpy(st->frames, ev->frames, ev->nframes * 4);
}

static int take(void *ctx, const struct event *ev)
{
	struct taken *t = ctx;
	const struct events *e = &t->m->events;
	uint32_t i;

	assert_kept(t, ev);
	assert_true(t->takes & EVENT_RUNS || !ev->more);
	for (i = 0; i <= ev->more; i++, t->cnt++) {
		const struct kept *k = &e->list[t->cnt];

		assert_true(t->cnt < e->cnt);
		assert_true(k->thread_id == ev->thread_id && k->interp_id == ev->interp_id);
		assert_int_equal(k->nframes, ev->nframes);
		assert_int_equal(k->status, ev->status);
		assert_true(!k->nframes ||
			    !memcmp(e->frames + k->first, ev->frames, k->nframes * 4));
		assert_int_equal(ev->weight, 1);
	}
	assert_true(e->list[t->cnt - 1].time_us == ev->time_us);
	t->events++;
	return 0;
}

static struct taken decode_all(const struct made *m, const uint8_t *data, size_t len,
			       unsigned int takes,
			       uint32_t compression)
{
	struct tach_info info = info_of(m);
	struct taken t = { .m = m, .takes = takes };
	char why[256] = "";

	info.compression = compression;
	if (tach_decode(&info, data, len, takes, take, &t, why, sizeof(why)))
		fail_msg("frames %u: %s", m->frame_cnt, why);
	assert_int_equal(t.cnt, m->events.cnt);
	return t;
}

/* Ids of one to four bytes; where they are compressed, many records lie across a window's end. */
static void test_samples(void **state)
{
	static const uint32_t frame_cnts[] = { 1, 7, 127, 128, 129, 5000, 16383, 16384, 16385,
					       40000, 3000000 };
	struct made m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(frame_cnts); i++) {
		size_t room, len;
		uint8_t *packed;
		struct taken t;

		make(&m, i + 1, frame_cnts[i], i % 2 ? THREADS : 3, 20000);
		assert_true(m.bytes.len > 2 * 256 * 1024);
		room = ZSTD_compressBound(m.bytes.len);
		packed = malloc(room);
		assert_non_null(packed);
		len = ZSTD_compress(packed, room, m.bytes.data, m.bytes.len, 1);
		assert_false(ZSTD_isError(len));
		t = decode_all(&m, m.bytes.data, m.bytes.len, 0, TACH_PLAIN);
		assert_int_equal(t.events, t.cnt);
		t = decode_all(&m, packed, len, 0, TACH_ZSTD);
		assert_int_equal(t.events, t.cnt);
		t = decode_all(&m, m.bytes.data, m.bytes.len, EVENT_RUNS, TACH_PLAIN);
		assert_true(t.events < t.cnt);
		t = decode_all(&m, packed, len, EVENT_KEPT, TACH_ZSTD);
		assert_int_equal(t.events, t.cnt);
		t = decode_all(&m, packed, len, EVENT_KEPT | EVENT_RUNS, TACH_ZSTD);
		assert_true(t.events < t.cnt);
		free(packed);
		made_free(&m);
	}
}

/* How far each way of reading comes, and what it says then. */
struct outcome {
	uint64_t samples, hash;
	int err;
	char why[256];
};

static int add_outcome(void *ctx, const struct event *ev)
{
	struct outcome *o = ctx;
	uint32_t i, j;

	assert_true(ev->nframes <= EVENT_MAX_FRAMES);
	for (i = 0; i <= ev->more; i++) {
		o->samples++;
		o->hash = hash_u64(o->hash ^ ev->thread_id ^ (uint64_t)ev->status << 32);
		for (j = 0; j < ev->nframes; j++)
			o->hash = hash_u64(o->hash ^ ev->frames[j]);
	}
	return 0;
}

/* In memory of just that size, for sanitizers. */
static struct outcome outcome(const struct tach_info *info, const uint8_t *data, size_t len,
			      unsigned int takes)
{
	struct outcome o = { 0 };
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	o.err = tach_decode(info, copy, len, takes, add_outcome, &o, o.why, sizeof(o.why));
	free(copy);
	return o;
}

static struct outcome assert_same_outcome(const struct tach_info *info, const uint8_t *data,
					  size_t len)
{
	struct outcome single = outcome(info, data, len, 0);
	struct outcome runs = outcome(info, data, len, EVENT_KEPT | EVENT_RUNS);

	assert_int_equal(single.err, runs.err);
	assert_string_equal(single.why, runs.why);
	assert_true(single.samples == runs.samples && single.hash == runs.hash);
	assert_true(!single.err == !*single.why);
	return single;
}

/* Cut anywhere: all samples that are complete, and never a word of what lies behind. */
static void test_cut(void **state)
{
	struct made m;
	struct tach_info info;
	uint64_t last = 0;
	size_t len;

	make(&m, 99, 5000, 4, 300);
	info = info_of(&m);
	for (len = 0; len < m.bytes.len; len++) {
		struct outcome o = assert_same_outcome(&info, m.bytes.data, len);

		/* The last records may be repeats of nothing. */
		assert_int_equal(o.err, o.samples == info.sample_cnt ? o.err : -EBADMSG);
		assert_true(o.samples >= last);
		last = o.samples;
	}
	assert_int_equal(assert_same_outcome(&info, m.bytes.data, m.bytes.len).err, 0);
	assert_true(last + 300 > info.sample_cnt);
	made_free(&m);
}

/* Any byte is any other one: read as runs, what comes is the same as read one by one. */
static void test_bytes_changed(void **state)
{
	static const uint8_t flips[] = { 1, 2, 0x40, 0x80, 0xff };
	struct made m;
	struct tach_info info;
	size_t i, j;

	make(&m, 7, 5000, 4, 150);
	info = info_of(&m);
	for (i = 0; i < m.bytes.len; i++)
		for (j = 0; j < ARRAY_SIZE(flips); j++) {
			m.bytes.data[i] ^= flips[j];
			assert_same_outcome(&info, m.bytes.data, m.bytes.len);
			m.bytes.data[i] ^= flips[j];
		}
	made_free(&m);
}

/* One id of a stack of ten is none, with so much behind it that the record surely is complete. */
static void test_ids(void **state)
{
	static const uint32_t frame_cnts[] = { 0, 1, 100, 128, 5000, 16383, 16384, 16390, 70000 };
	char want[64];
	size_t i;
	uint32_t at, j;

	for (i = 0; i < ARRAY_SIZE(frame_cnts); i++)
		for (at = 0; at < 10; at++) {
			struct made m = { .random = 1, .frame_cnt = frame_cnts[i], .threads = 1 };
			struct tach_info info;
			struct outcome o;

			put_header(&m, 0, TACH_FULL);
			put_time(&m, 0);
			put(&m, 10);
			for (j = 0; j < 10; j++)
				put(&m, m.frame_cnt - (j != at && m.frame_cnt));
			info = info_of(&m);
			for (j = 0; j < 4000; j++)
				put_byte(&m, 0x80);
			o = assert_same_outcome(&info, m.bytes.data, m.bytes.len);
			assert_int_equal(o.err, -EBADMSG);
			assert_int_equal(o.samples, 0);
			snprintf(want, sizeof(want), "frame %u of %u", m.frame_cnt, m.frame_cnt);
			assert_non_null(strstr(o.why, want));
			made_free(&m);
		}
}

/* Stacks that keep, pop or have too much, where counts have one byte and where they have two. */
static void test_counts(void **state)
{
	static const struct {
		uint8_t kind;
		uint32_t depth, first, second;
		const char *why;
	} cases[] = {
		{ TACH_SUFFIX, 5, 6, 1, "keeps 6 frames of 5" },
		{ TACH_SUFFIX, 5, 300, 1, "keeps 300 frames of 5" },
		{ TACH_POP_PUSH, 5, 6, 1, "pops 6 frames of 5" },
		{ TACH_POP_PUSH, 5, 300, 1, "pops 300 frames of 5" },
		{ TACH_SUFFIX, 5, 5, 252, "a stack of 5 + 252 frames" },
		{ TACH_POP_PUSH, 200, 100, 157, "a stack of 100 + 157 frames" },
		{ TACH_FULL, 5, 257, 0, "a stack of 0 + 257 frames" },
		{ TACH_SUFFIX, 5, 5, 251, NULL },
		{ TACH_POP_PUSH, 200, 100, 156, NULL },
		{ TACH_FULL, 5, 256, 0, NULL },
	};
	size_t i;
	uint32_t j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made m = { .random = 3, .frame_cnt = 5000, .threads = 1 };
		struct tach_info info;
		struct outcome o;

		put_header(&m, 0, TACH_FULL);
		put_time(&m, 0);
		put(&m, cases[i].depth);
		for (j = 0; j < cases[i].depth; j++)
			put(&m, any_frame(&m));
		put_header(&m, 0, cases[i].kind);
		put_time(&m, 0);
		put(&m, cases[i].first);
		if (cases[i].kind != TACH_FULL)
			put(&m, cases[i].second);
		info = info_of(&m);
		info.sample_cnt = UINT64_MAX;
		for (j = 0; j < 1500; j++)
			put(&m, 1000);
		o = assert_same_outcome(&info, m.bytes.data, m.bytes.len);
		assert_int_equal(o.err, -EBADMSG);
		assert_int_equal(o.samples, cases[i].why ? 1 : 2);
		if (cases[i].why)
			assert_non_null(strstr(o.why, cases[i].why));
		made_free(&m);
	}
}

static int keep_last(void *ctx, const struct event *ev)
{
	*(struct event *)ctx = *ev;
	return 0;
}

/* A run ends before a time that is none, and before a sample that the header does not have. */
static void test_run_ends(void **state)
{
	struct made m = { .random = 5, .frame_cnt = 1, .threads = 1 };
	struct tach_info info;
	struct event last = { 0 };
	char why[256] = "";
	int i;

	put_header(&m, 0, TACH_REPEAT);
	put(&m, 100);
	for (i = 0; i < 100; i++) {
		put(&m, i == 90 ? UINT64_MAX : 1);
		put_byte(&m, 1);
	}
	info = info_of(&m);
	info.sample_cnt = 100;
	assert_int_equal(tach_decode(&info, m.bytes.data, m.bytes.len, EVENT_KEPT | EVENT_RUNS,
				     keep_last, &last, why,
				     sizeof(why)), -EBADMSG);
	assert_non_null(strstr(why, "timestamp"));
	assert_int_equal(last.more, 89);
	assert_true(last.time_us == 90);
	info.sample_cnt = 50;
	assert_int_equal(tach_decode(&info, m.bytes.data, m.bytes.len, EVENT_KEPT | EVENT_RUNS,
				     keep_last, &last, why,
				     sizeof(why)), -EBADMSG);
	assert_non_null(strstr(why, "more samples than the header says (50)"));
	assert_int_equal(last.more, 49);
	assert_true(last.time_us == 50);
	assert_same_outcome(&info, m.bytes.data, m.bytes.len);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_bytes_changed),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_run_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
