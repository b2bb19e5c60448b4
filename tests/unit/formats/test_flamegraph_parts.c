// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_flamegraph_parts.c - a page whose profiles were collected in parts is the page of one after
 * another, byte for byte; a part that does not fit is refused and changes nothing.
 */
#include "tests/unit/tach_test.h"

#include "formats/formats.h"
#include "formats/html/page_opcodes.h"

#define PROFILES 24
#define EVENTS 1000
#define DEPTH 30

/* What profiles are like. */
struct kind {
	bool utc, clocks_differ, intervals_differ, no_weight, opcodes;
	uint32_t frames;	/* in the table of each */
};

static struct intern *names_of(uint64_t *seed, const struct kind *k)
{
	struct intern *in = intern_new();
	char name[32];
	uint32_t i, id;

	/* Some names are in all profiles, with other ids. */
	for (i = 0; i < k->frames; i++) {
		struct frame f = { .line = 1 + (int32_t)(rnd(seed) % 40), .opcode = OPCODE_NONE,
				   .first_line = (int32_t)(rnd(seed) % 3) };

		snprintf(name, sizeof(name), "f%u.py", (uint32_t)(rnd(seed) % 30));
		assert_int_equal(intern_string(in, name, strlen(name), &f.file), 0);
		snprintf(name, sizeof(name), "g%u", (uint32_t)(rnd(seed) % 200));
		assert_int_equal(intern_string(in, name, strlen(name), &f.func), 0);
		if (k->opcodes && rnd(seed) % 2)
			f.opcode = (uint8_t)(rnd(seed) % 200);
		assert_int_equal(intern_frame(in, &f, &id), 0);
	}
	return in;
}

static struct profile_meta meta_of(uint64_t *seed, const struct kind *k, uint32_t i)
{
	struct profile_meta m = { .python_major = 3, .python_minor = (uint8_t)(10 + i % 4),
				  .tgid = 100 + i, .comm = "app", .interval_us = 1000,
				  .start_us = 1 + rnd(seed) % 5000000 };

	if (k->utc)
		m.start_utc_ns = 1700000000ULL * 1000000000 + m.start_us * 1000;
	if (k->clocks_differ && i == PROFILES / 2)
		m.start_utc_ns = m.start_utc_ns ? 0 : 5;
	if (k->intervals_differ)
		m.interval_us = i % 5 ? 1000 : 300;
	return m;
}

/* Give the sink profile i: the same each time. */
static void give(struct sink *s, const struct kind *k, uint32_t i)
{
	uint64_t seed = 7777 + i, time_us;
	struct intern *in = names_of(&seed, k);
	struct profile_meta meta = meta_of(&seed, k, i);
	struct profile_stats stats = { .known = true, .duration_s = i };
	uint32_t cnt = rnd(&seed) % 4 ? rnd(&seed) % EVENTS : 0, e, n, frames[DEPTH] = { 0 };
	uint32_t frame_cnt = intern_tables(in)->frame_cnt;

	time_us = meta.start_us;
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	for (e = 0; e < cnt; e++) {
		struct event ev = { .frames = frames, .weight = rnd(&seed) % 30 ? 1 : 700 };

		for (n = rnd(&seed) % 4; n > 0; n--)
			frames[rnd(&seed) % DEPTH] = (uint32_t)(rnd(&seed) % frame_cnt);
		ev.nframes = rnd(&seed) % 3 ? DEPTH / 2 : rnd(&seed) % DEPTH;
		time_us += rnd(&seed) % 100 ? rnd(&seed) % 1500 : rnd(&seed) % 900000;
		ev.time_us = time_us;
		ev.thread_id = rnd(&seed) % 6;
		ev.status = rnd(&seed) % 3;
		if (k->no_weight && i == PROFILES / 3 && e == cnt / 2)
			ev.weight = 0;
		assert_int_equal(s->ops->event(s, &ev), 0);
	}
	assert_int_equal(s->ops->end(s, &stats), 0);
	intern_free(in);
}

/* Two pages that must be the same: of one profile after another, and in parts. */
struct pages {
	char paths[2][PATH_BYTES];
	int fds[2];
	struct sink *sinks[2];
};

static struct pages pages_begin(void)
{
	struct pages p;
	int i;

	for (i = 0; i < 2; i++) {
		struct sink_args args = { .fd = memory_file(p.paths[i]), .many = true,
					  .title = "x" };

		p.fds[i] = args.fd;
		p.sinks[i] = sink_flamegraph.open(&args);
		assert_non_null(p.sinks[i]);
	}
	return p;
}

static void pages_end(struct pages *p)
{
	struct buf bytes[2];
	int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(p->sinks[i]->ops->close(p->sinks[i]), 0);
		bytes[i] = file_bytes(p->paths[i]);
	}
	assert_true(bytes[0].len > 1000 && bytes[0].len == bytes[1].len);
	assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].len);
	for (i = 0; i < 2; i++) {
		buf_free(&bytes[i]);
		close(p->fds[i]);
	}
}

/* Profiles first to first + cnt - 1 as a part. Returns whether it fitted. */
static bool give_part(struct sink *s, struct sink *like, const struct kind *k, uint32_t first,
		      uint32_t cnt)
{
	struct sink *part = sink_flamegraph.part(like);
	uint32_t i;
	int err;

	assert_non_null(part);
	for (i = first; i < first + cnt; i++)
		give(part, k, i);
	err = s->ops->join(s, part);
	assert_true(!err || err == 1);
	for (i = first; err && i < first + cnt; i++)
		give(s, k, i);
	assert_int_equal(part->ops->close(part), 0);
	return !err;
}

/* Returns how many parts did not fit. */
static uint32_t check(const struct kind *k, uint64_t seed)
{
	struct sink *like = sink_flamegraph.part(NULL);
	struct pages p = pages_begin();
	struct sink *s = p.sinks[1];
	uint32_t i, n, cnt, refused = 0;

	for (i = 0; i < PROFILES; i++)
		give(p.sinks[0], k, i);
	for (i = 0; i < PROFILES; i += cnt) {
		cnt = 1 + rnd(&seed) % 4;
		cnt = i + cnt <= PROFILES ? cnt : PROFILES - i;
		if (rnd(&seed) % 5)
			refused += !give_part(s, like, k, i, cnt);
		else
			for (n = i; n < i + cnt; n++)
				give(s, k, n);
	}
	assert_int_equal(like->ops->close(like), 0);
	pages_end(&p);
	return refused;
}

static void test_parts_that_fit(void **state)
{
	static const struct kind kinds[] = {
		{ .frames = 40 },
		{ .frames = 3, .utc = true },
		{ .frames = 400, .opcodes = true },
		{ .frames = 3000, .utc = true, .opcodes = true },
		{ .frames = 50, .clocks_differ = true },
		{ .frames = 50, .clocks_differ = true, .utc = true },
	};
	size_t i;

	for (i = 0; i < 3 * ARRAY_SIZE(kinds); i++)
		assert_int_equal(check(&kinds[i % ARRAY_SIZE(kinds)], 31 + i), 0);
}

static void test_parts_that_do_not_fit(void **state)
{
	static const struct kind kinds[] = {
		{ .frames = 40, .no_weight = true },
		{ .frames = 40, .intervals_differ = true },
		{ .frames = 40, .intervals_differ = true, .no_weight = true,
		  .clocks_differ = true },
	};
	size_t i, refused = 0;

	for (i = 0; i < 3 * ARRAY_SIZE(kinds); i++)
		refused += check(&kinds[i % ARRAY_SIZE(kinds)], 5 + i);
	assert_true(refused > 3);
}

/* A profile of as many lines as there is room for with each of two opcodes, and more. */
static void give_opcodes(struct sink *s, uint32_t first, uint32_t cnt)
{
	struct profile_meta meta = { .python_major = 3, .python_minor = 12 };
	struct intern *in = intern_new();
	uint32_t i, id;

	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	for (i = 0; i < cnt; i++) {
		struct frame f = { .line = (int32_t)(1 + first + i / 2),
				   .opcode = (uint8_t)(first % 7 + i % 2) };
		struct event ev = { .frames = &id, .nframes = 1, .weight = 1 + i % 5 };

		assert_int_equal(intern_string(in, "a.py", 4, &f.file), 0);
		assert_int_equal(intern_string(in, "f", 1, &f.func), 0);
		assert_int_equal(intern_frame(in, &f, &id), 0);
		assert_int_equal(s->ops->event(s, &ev), 0);
	}
	assert_int_equal(s->ops->end(s, NULL), 0);
	intern_free(in);
}

/* The whole has too many opcodes, and then a part has by itself. */
static void test_opcodes_that_are_left_out(void **state)
{
	static const uint32_t cnts[] = { 50000, 40000, PAGE_OPCODES_MAX + 10, 500 };
	struct pages p = pages_begin();
	struct sink *s = p.sinks[1];
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(cnts); i++) {
		struct sink *part = sink_flamegraph.part(NULL);
		int err;

		give_opcodes(p.sinks[0], i * 20001, cnts[i]);
		give_opcodes(part, i * 20001, cnts[i]);
		err = s->ops->join(s, part);
		assert_int_equal(err, i == 2);
		if (err)
			give_opcodes(s, i * 20001, cnts[i]);
		assert_int_equal(part->ops->close(part), 0);
	}
	pages_end(&p);
}

/* A part that is not complete is refused. */
static void test_bad_parts(void **state)
{
	struct sink_args args = { .fd = -1, .many = true };
	struct sink *s = sink_flamegraph.open(&args), *part = sink_flamegraph.part(NULL);
	const struct profile_meta meta = { .tgid = 1 };
	struct intern *in = intern_new();
	struct event ev = { .nframes = EVENT_MAX_FRAMES + 1 };

	assert_int_equal(s->ops->join(s, part), 0);
	assert_int_equal(part->ops->begin(part, &meta, intern_tables(in)), 0);
	assert_int_equal(s->ops->join(s, part), 1);
	assert_int_equal(part->ops->event(part, &ev), -EINVAL);
	assert_int_equal(s->ops->join(s, part), 1);
	assert_int_equal(part->ops->close(part), -EINVAL);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	part = sink_flamegraph.part(NULL);
	assert_int_equal(s->ops->join(s, part), 1);
	assert_int_equal(part->ops->close(part), 0);
	assert_int_equal(s->ops->close(s), 0);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_that_fit),
		cmocka_unit_test(test_parts_that_do_not_fit),
		cmocka_unit_test(test_opcodes_that_are_left_out),
		cmocka_unit_test(test_bad_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
