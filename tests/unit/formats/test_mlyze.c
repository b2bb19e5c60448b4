// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_mlyze.c - what a recording writes the reader reads, thousands of times;
 * each rule of the format broken; the table of live blocks against a plain list.
 * Golden files and sums of an independent script: test_readers.c, test_readers.py.
 */
#include "formats/mlyze/mlyze_stats.h"
#include "tests/unit/mlyze_test.h"

#define MAX_EVENTS 60
#define MAX_STACKS 12
#define NAMES 4

struct place {
	uint32_t file, func;	/* below NAMES */
	int32_t line;
};

/* What was written. */
struct written {
	struct mlyze_event events[MAX_EVENTS];
	int cnt;
	struct place frames[MAX_STACKS][EVENT_MAX_FRAMES];	/* innermost first */
	uint32_t ids[MAX_STACKS][EVENT_MAX_FRAMES];
	uint32_t depth[MAX_STACKS];
	char texts[2][NAMES][32];
	struct string_ref files[NAMES], functions[NAMES];
};

/* Small mostly; the extremes of 64 bits often. */
static uint64_t number(uint64_t *seed)
{
	static const uint64_t extremes[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ULL << 32,
					     INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX };

	if (rnd(seed) % 4 == 0)
		return extremes[rnd(seed) % ARRAY_SIZE(extremes)];
	return rnd(seed) >> (rnd(seed) % 64);
}

static struct string_ref random_name(uint64_t *seed, char name[32])
{
	static const char *const parts[] = { "a", "\"", "\\", "\n", "\x01", "ü", "\U0001f600",
					     "/", "<b>" };
	size_t n = rnd(seed) % 5;

	for (name[0] = '\0'; n; n--)
		strcat(name, parts[rnd(seed) % ARRAY_SIZE(parts)]);
	n = strlen(name);
	/* NUL is a character like others. */
	if (rnd(seed) % 4 == 0)
		n++;
	return (struct string_ref){ .data = name, .len = (uint32_t)n };
}

static void make_stacks(struct mlyze_test *m, struct written *t, uint64_t *seed)
{
	uint32_t i, j;

	for (i = 0; i < NAMES; i++) {
		t->files[i] = random_name(seed, t->texts[0][i]);
		t->functions[i] = random_name(seed, t->texts[1][i]);
	}
	for (i = 0; i < MAX_STACKS; i++) {
		t->depth[i] = rnd(seed) % (rnd(seed) % 30 ? 6 : EVENT_MAX_FRAMES + 1);
		for (j = 0; j < t->depth[i]; j++) {
			uint64_t line = rnd(seed) % 5 ? rnd(seed) % 1000 + 1 : INT32_MAX;
			struct place *f = &t->frames[i][j];

			f->file = rnd(seed) % NAMES;
			f->func = rnd(seed) % NAMES;
			f->line = rnd(seed) % 6 ? (int32_t)line : LINE_NONE;
			t->ids[i][j] = mlyze_test_frame(m, &t->files[f->file],
							&t->functions[f->func], f->line);
		}
	}
}

static void write_event(struct mlyze_test *m, struct mlyze_event *ev, const struct written *t,
			uint64_t *seed)
{
	switch (ev->type) {
	case MLYZE_ALLOC:
		ev->addr = number(seed);
		ev->size = number(seed);
		ev->size += !ev->size;	/* mlyze_join.c: no block is empty */
		ev->stack = rnd(seed) % MAX_STACKS;
		ev->thread = (uint16_t)number(seed);
		assert_int_equal(mlyze_stream_alloc(m->stream, ev->time_us, ev->addr, ev->size,
						    ev->stack, t->ids[ev->stack],
						    t->depth[ev->stack], ev->thread), 0);
		break;
	case MLYZE_FREE:
		ev->addr = number(seed);
		assert_int_equal(mlyze_stream_freed(m->stream, ev->time_us, ev->addr), 0);
		break;
	case MLYZE_GC:
		ev->objects = number(seed);
		assert_int_equal(mlyze_stream_gc(m->stream, ev->time_us, ev->objects), 0);
		break;
	case MLYZE_MARKER:
		ev->name = (uint32_t)(rnd(seed) % NAMES);
		mlyze_test_mark(m, ev->time_us, t->functions[ev->name].data,
				t->functions[ev->name].len);
		break;
	}
}

static struct mlyze_test write_random(struct written *t, uint64_t *seed)
{
	uint64_t now = number(seed), step;
	struct mlyze_test m = mlyze_test_new(now);
	int i;

	make_stacks(&m, t, seed);
	t->cnt = (int)(rnd(seed) % MAX_EVENTS);
	for (i = 0; i < t->cnt; i++) {
		step = rnd(seed) % 20 ? rnd(seed) % 300 : number(seed);
		now += step < UINT64_MAX - now ? step : UINT64_MAX - now;
		t->events[i] = (struct mlyze_event){ .type = rnd(seed) % 4, .time_us = now };
		write_event(&m, &t->events[i], t, seed);
	}
	mlyze_test_open(&m);
	return m;
}

static void assert_string(const struct mlyze_file *f, uint32_t id, const struct string_ref *want)
{
	const struct string_ref *got = &mlyze_tables(f)->strings[id];

	assert_int_equal(got->len, want->len);
	assert_memory_equal(got->data, want->data, want->len);
}

static void assert_stack(const struct mlyze_file *f, uint32_t index, uint32_t which,
			 const struct written *t)
{
	struct mlyze_stack s = mlyze_stack(f, index);
	size_t i;

	assert_int_equal(s.frame_cnt, t->depth[which]);
	for (i = 0; i < s.frame_cnt; i++) {
		const struct frame *got = &mlyze_tables(f)->frames[s.frames[i]];
		const struct place *want = &t->frames[which][i];

		assert_int_equal(got->line, want->line);
		assert_string(f, got->file, &t->files[want->file]);
		assert_string(f, got->func, &t->functions[want->func]);
	}
}

static void assert_event(const struct mlyze_file *f, const struct mlyze_event *got,
			 const struct mlyze_event *want, const struct written *t)
{
	assert_int_equal(got->type, want->type);
	assert_int_equal(got->time_us, want->time_us);
	assert_int_equal(got->addr, want->addr);
	assert_int_equal(got->size, want->size);
	assert_int_equal(got->thread, want->thread);
	assert_int_equal(got->objects, want->objects);
	assert_int_equal(got->bytes, want->bytes);
	if (got->type == MLYZE_ALLOC)
		assert_stack(f, got->stack, want->stack, t);
	if (got->type == MLYZE_MARKER)
		assert_string(f, got->name, &t->functions[want->name]);
}

static void test_round_trip(void **state)
{
	static struct written t;
	uint64_t seed = 4711;
	int i, n;

	for (i = 0; i < 3000; i++) {
		struct mlyze_test m = write_random(&t, &seed);
		struct mlyze_error error;
		struct mlyze_cursor c;
		struct mlyze_event ev;
		struct mlyze_stats stats;

		assert_true(mlyze_reserved_clear(m.file));
		mlyze_rewind(&c, m.file);
		for (n = 0; n < t.cnt; n++) {
			assert_int_equal(mlyze_next(&c, &ev, &error), 1);
			assert_event(m.file, &ev, &t.events[n], &t);
		}
		assert_int_equal(mlyze_next(&c, &ev, &error), 0);
		assert_int_equal(mlyze_stats_collect(m.file, NULL, &stats), 0);
		assert_false(stats.damaged);
		assert_int_equal(stats.event_cnt, t.cnt);
		mlyze_stats_free(&stats);
		mlyze_test_free(&m);
	}
}

/* ---- the rules ---- */

static const char metadata[] =
	"{\"stack_traces\":{\"0\":[{\"file_id\":0,\"line\":1,\"func_id\":0}]},"
	"\"files\":{\"0\":\"a.py\"},\"functions\":{\"0\":\"f\"}}";

static struct buf make(const char *json, const char *events, size_t len)
{
	uint8_t header[MLYZE_HEADER_BYTES] = "MTRC\1";
	struct buf b = { 0 };

	header[16] = (uint8_t)strlen(json);
	header[17] = (uint8_t)(strlen(json) >> 8);
	assert_int_equal(buf_add(&b, header, sizeof(header)), 0);
	assert_int_equal(buf_add(&b, json, strlen(json)), 0);
	assert_int_equal(buf_add(&b, events, len), 0);
	return b;
}

/* The first rule that is broken, and where. */
static enum mlyze_rule broken(const struct buf *b, size_t len, uint64_t *off)
{
	struct mlyze_error error = { 0 };
	uint8_t *copy = malloc(len ? len : 1);
	struct mlyze_stats stats;
	struct mlyze_file *f;

	memcpy(copy, b->data, len);
	f = mlyze_open(copy, len, &error);
	if (f) {
		assert_int_equal(mlyze_stats_collect(f, NULL, &stats), 0);
		if (stats.damaged)
			error = stats.error;
		mlyze_stats_free(&stats);
	}
	mlyze_free(f);
	free(copy);
	*off = error.off;
	assert_true(error.rule == MLYZE_VALID || *error.text);
	return error.rule;
}

#define E(s) s, sizeof(s) - 1
#define ADDR "\1\2\3\4\5\6\7\x8"
#define GOOD_ALLOC "\0\5" ADDR "\x64\0\1\0"
/* 256 + metadata */
#define EVENTS_AT (MLYZE_HEADER_BYTES + sizeof(metadata) - 1)

static void test_rules(void **state)
{
	static const struct {
		const char *json, *events;
		size_t len;
		enum mlyze_rule rule;
		size_t off;
	} cases[] = {
		{ metadata, E(GOOD_ALLOC "\1\0" ADDR "\2\0\3\4\3\0\0"), MLYZE_VALID, 0 },
		{ metadata, E(""), MLYZE_VALID, 0 },
		{ "{}", E(""), MLYZE_VALID, 0 },
		{ "", E(""), MLYZE_RULE_METADATA, 256 },
		{ "{", E(""), MLYZE_RULE_METADATA, 257 },
		{ "[]", E(""), MLYZE_RULE_METADATA, 256 },
		{ "{} x", E(""), MLYZE_RULE_METADATA, 259 },
		{ "{\"files\":{\"a\":\"x\"}}", E(""), MLYZE_RULE_METADATA, 270 },
		{ "{\"files\":{\"00\":\"x\"}}", E(""), MLYZE_RULE_METADATA, 271 },
		{ "{\"files\":{\"0\":1}}", E(""), MLYZE_RULE_METADATA, 270 },
		{ "{\"files\":{\"0\":\"\",\"0\":\"\"}}", E(""), MLYZE_RULE_METADATA, 265 },
		{ "{\"files\":{},\"files\":{}}", E(""), MLYZE_RULE_METADATA, 276 },
		{ "{\"stack_traces\":{\"0\":[{}]}}", E(""), MLYZE_RULE_METADATA, 280 },
		{ "{\"stack_traces\":{\"0\":[{\"file_id\":0,\"func_id\":0}]}}", E(""),
		  MLYZE_RULE_REFERENCE, 279 },
		{ "{\"stack_traces\":{\"0\":[{\"file_id\":0,\"func_id\":1}]},"
		  "\"files\":{\"0\":\"\"},\"functions\":{\"0\":\"\"}}", E(""),
		  MLYZE_RULE_REFERENCE, 279 },
		{ metadata, E("\0\5" ADDR "\x64\1\1\0"), MLYZE_RULE_REFERENCE, EVENTS_AT + 11 },
		{ metadata, E("\3\0\1"), MLYZE_RULE_REFERENCE, EVENTS_AT + 2 },
		{ metadata, E(GOOD_ALLOC "\4\0"), MLYZE_RULE_EVENT_TYPE, EVENTS_AT + 14 },
		{ metadata, E("\xff"), MLYZE_RULE_EVENT_TYPE, EVENTS_AT },
		{ metadata, E("\2\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\0"), MLYZE_RULE_VARINT,
		  EVENTS_AT + 2 },
		{ metadata, E("\2\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"), MLYZE_RULE_VARINT,
		  EVENTS_AT + 1 },
		{ metadata, E(GOOD_ALLOC "\1\0\1\2\3"), MLYZE_RULE_SIZE, EVENTS_AT + 14 },
		{ metadata, E("\2\x80"), MLYZE_RULE_SIZE, EVENTS_AT },
		{ metadata, E("\3\1\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0"),
		  MLYZE_RULE_REFERENCE, EVENTS_AT + 2 },
		{ metadata, E("\3\1\0\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0"), MLYZE_RULE_TIME,
		  EVENTS_AT + 3 },
	};
	uint64_t off;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf b = make(cases[i].json, cases[i].events, cases[i].len);
		enum mlyze_rule rule = broken(&b, b.len, &off);

		if (rule != cases[i].rule || off != cases[i].off)
			fail_msg("case %zu: rule %s at %llu", i, mlyze_rule_name(rule),
				 (unsigned long long)off);
		buf_free(&b);
	}
}

static void test_header_rules(void **state)
{
	struct buf b = make(metadata, E(GOOD_ALLOC));
	uint64_t off;
	size_t i;

	for (i = 0; i < b.len; i++) {
		enum mlyze_rule rule = broken(&b, i, &off), want = MLYZE_RULE_SIZE;

		if (i < 4)
			want = MLYZE_RULE_MAGIC;
		/* A file that ends where its events begin is whole. */
		if (i == EVENTS_AT)
			want = MLYZE_VALID;
		if (rule != want)
			fail_msg("cut at %zu: rule %s", i, mlyze_rule_name(rule));
	}
	for (i = 0; i < 8; i++) {
		b.data[i] ^= 0x40;
		assert_int_equal(broken(&b, b.len, &off),
				 i < 4 ? MLYZE_RULE_MAGIC : MLYZE_RULE_VERSION);
		assert_int_equal(off, i < 4 ? 0 : 4);
		b.data[i] ^= 0x40;
	}
	/* More metadata than there is file; less than there is JSON. */
	b.data[18] = 1;
	assert_int_equal(broken(&b, b.len, &off), MLYZE_RULE_SIZE);
	b.data[18] = 0;
	b.data[16]--;
	assert_int_equal(broken(&b, b.len, &off), MLYZE_RULE_METADATA);
	b.data[16]++;
	/* Reserved bytes are not ours to judge. */
	b.data[255] = 1;
	assert_int_equal(broken(&b, b.len, &off), MLYZE_VALID);
	buf_free(&b);
}

/* ---- live blocks ---- */

static void test_live(void **state)
{
	static struct mlyze_block plain[4096];
	struct mlyze_live *live = mlyze_live_new();
	struct mlyze_block old;
	uint64_t seed = 99, i;

	for (i = 0; i < 200000; i++) {
		/* Mostly growing at first, so that the table does. */
		size_t at = rnd(&seed) % ARRAY_SIZE(plain);
		struct mlyze_block b = { .addr = at << 40, .size = i, .index = i };

		if (rnd(&seed) % (i < 20000 ? 5 : 2)) {
			int got = mlyze_live_add(live, &b, &old);

			assert_int_equal(got, plain[at].used);
			assert_true(!got || old.index == plain[at].index);
			plain[at] = b;
			plain[at].used = true;
		} else {
			bool got = mlyze_live_remove(live, b.addr, &old);

			assert_int_equal(got, plain[at].used);
			assert_true(!got || old.index == plain[at].index);
			plain[at].used = false;
		}
	}
	for (i = 0; i < ARRAY_SIZE(plain); i++)
		assert_int_equal(mlyze_live_find(live, i << 40) != NULL, plain[i].used);
	mlyze_live_free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_rules),
		cmocka_unit_test(test_header_rules), cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
