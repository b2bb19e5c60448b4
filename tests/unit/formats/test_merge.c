// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_merge.c - random profiles dealt out to several files in every way, and
 * joined again: the same samples, each thread's in order of time.
 */
#include "tests/unit/tach_test.h"

#include "formats/formats.h"
#include "formats/tach/merge.h"

#define FILES 4
#define THREADS 6
#define START_US 5000

struct part {
	int fd;
	char path[PATH_BYTES];
	struct intern *in;
	struct sink *sink;
	struct tach_reader *r;
};

/* Frames have other numbers in every file. */
static void part_open(struct part *p, uint32_t number, uint64_t start_us, struct compressor *c)
{
	const struct profile_meta meta = { .start_us = start_us, .interval_us = 10,
					   .mode = MODE_CPU };
	struct sink_args args = { .compressor = c };
	uint32_t i, id;
	char name[32];

	args.fd = p->fd = memory_file(p->path);
	p->in = intern_new();
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "f%u", (i * (2 * number + 1)) % 20);
		assert_int_equal(intern_synthetic(p->in, FRAME_SYNTHETIC, name, &id), 0);
	}
	p->sink = sink_tach.open(&args);
	assert_non_null(p->sink);
	assert_int_equal(p->sink->ops->begin(p->sink, &meta, intern_tables(p->in)), 0);
}

static void part_finish(struct part *p)
{
	assert_int_equal(p->sink->ops->end(p->sink, NULL), 0);
	assert_int_equal(p->sink->ops->close(p->sink), 0);
	p->r = open_ok(p->path);
}

static void part_free(struct part *p)
{
	tach_reader_free(p->r);
	intern_free(p->in);
	close(p->fd);
}

/* How samples are dealt: to files in turn, by time, by thread, at random. */
enum deal { TURNS, TIMES, THREADWISE, RANDOM, DEALS };

static uint32_t deal(enum deal how, uint32_t i, uint32_t total, uint64_t thread, uint64_t *seed)
{
	switch (how) {
	case TURNS:
		return i % FILES;
	case TIMES:
		return i * FILES / total;
	case THREADWISE:
		return thread % FILES;
	default:
		return rnd(seed) % FILES;
	}
}

struct got {
	struct events events;
	const struct intern *in;
	char names[200000][4];
};

static int take(void *ctx, const struct event *ev)
{
	struct got *g = ctx;
	const struct profile_tables *t = intern_tables(g->in);
	const struct string_ref *s = &t->strings[t->frames[ev->frames[0]].func];

	assert_in_range(s->len, 2, 3);
	memset(g->names[g->events.cnt], 0, 4);
	memcpy(g->names[g->events.cnt], s->data, s->len);
	return keep_event(&g->events, ev);
}

static void check(struct got *g, const struct events *want)
{
	uint64_t last[THREADS] = { 0 };
	size_t i, next[THREADS] = { 0 };

	assert_int_equal(g->events.cnt, want->cnt);
	for (i = 0; i < want->cnt; i++) {
		const struct kept *k = &g->events.list[i];
		size_t *at = &next[k->thread_id];
		char name[16];

		assert_true(k->time_us >= last[k->thread_id]);
		last[k->thread_id] = k->time_us;
		/* Times are unique: the thread's next one in time is the one that was written. */
		while (want->list[*at].thread_id != k->thread_id)
			++*at;
		assert_true(want->list[*at].time_us == k->time_us);
		assert_int_equal(want->list[*at].status, k->status);
		assert_int_equal(want->list[*at].nframes, k->nframes);
		snprintf(name, sizeof(name), "f%u", want->frames[want->list[*at].first]);
		assert_string_equal(g->names[i], name);
		++*at;
	}
}

/* The frame with the name of number `frame` in part p. */
static uint32_t frame_of(const struct part *p, uint32_t frame)
{
	char name[16];
	uint32_t id;

	snprintf(name, sizeof(name), "f%u", frame);
	assert_int_equal(intern_synthetic(p->in, FRAME_SYNTHETIC, name, &id), 0);
	return id;
}

static void deal_and_join(enum deal how, uint32_t total, uint64_t seed, struct compressor *c)
{
	static struct got g;
	struct part parts[FILES];
	struct events want = { 0 };
	const struct sample_filter_options everything = { 0 };
	struct intern *in = intern_new();
	struct merge *m;
	char why[256];
	uint32_t i;

	for (i = 0; i < FILES; i++)
		part_open(&parts[i], i, START_US - i * 7, c);
	for (i = 0; i < total; i++) {
		uint32_t stack[3], theirs[3], j;
		struct event ev = { .time_us = START_US + i * 3, .thread_id = rnd(&seed) % THREADS,
				    .nframes = 1 + rnd(&seed) % 3, .frames = stack,
				    .status = i & 63, .weight = 1 };
		struct part *p = &parts[deal(how, i, total, ev.thread_id, &seed)];

		for (j = 0; j < ev.nframes; j++) {
			stack[j] = rnd(&seed) % 4 ? 5 : rnd(&seed) % 20;
			theirs[j] = frame_of(p, stack[j]);
		}
		keep_event(&want, &ev);
		ev.frames = theirs;
		assert_int_equal(p->sink->ops->event(p->sink, &ev), 0);
	}
	m = merge_new(&everything, in);
	assert_non_null(m);
	for (i = 0; i < FILES; i++) {
		part_finish(&parts[i]);
		assert_int_equal(merge_add(m, parts[i].r, why, sizeof(why)), 0);
	}
	g.in = in;
	g.events.cnt = g.events.frame_cnt = 0;
	assert_int_equal(merge_samples(m, take, &g), 0);
	check(&g, &want);
	merge_free(m);
	events_free(&want);
	events_free(&g.events);
	for (i = 0; i < FILES; i++)
		part_free(&parts[i]);
	intern_free(in);
}

static void test_deals(void **state)
{
	struct compressor *c = compressor_new(3);
	enum deal how;

	for (how = 0; how < DEALS; how++) {
		deal_and_join(how, 0, 1 + how, c);
		deal_and_join(how, 1, 2 + how, NULL);
		deal_and_join(how, 5000, 3 + how, c);
		deal_and_join(how, 60000, 4 + how, NULL);
	}
	compressor_free(c);
}

static void join_two(const struct profile_meta *a, const struct profile_meta *b,
		     const struct profile_stats *stats_a, const struct profile_stats *stats_b,
		     struct profile_meta *meta, struct profile_stats *stats, const char **warn)
{
	const struct profile_meta *metas[] = { a, b };
	const struct profile_stats *both[] = { stats_a, stats_b };
	const struct sample_filter_options everything = { 0 };
	struct intern *in = intern_new();
	struct merge *m = merge_new(&everything, in);
	struct tach_reader *readers[2];
	char path[PATH_BYTES], why[256];
	int i, fds[2];

	for (i = 0; i < 2; i++) {
		struct sink_args args = { .fd = fds[i] = memory_file(path) };
		struct sink *s = sink_tach.open(&args);

		assert_int_equal(s->ops->begin(s, metas[i], intern_tables(in)), 0);
		assert_int_equal(s->ops->end(s, both[i]), 0);
		assert_int_equal(s->ops->close(s), 0);
		readers[i] = open_ok(path);
		assert_int_equal(merge_add(m, readers[i], why, sizeof(why)), 0);
	}
	merge_meta(m, meta, warn);
	merge_stats(m, stats);
	merge_free(m);
	for (i = 0; i < 2; i++) {
		tach_reader_free(readers[i]);
		close(fds[i]);
	}
	intern_free(in);
}

static void test_meta_and_stats(void **state)
{
	const struct profile_meta a = { .python_major = 3, .python_minor = 12,
					.start_us = 2000000, .interval_us = 10, .mode = MODE_CPU,
					.features_known = true, .features = FEATURE_GC };
	struct profile_meta b = a, meta;
	struct profile_stats one = { .known = true, .duration_s = 1, .sample_rate = 100,
				     .error_known = true, .error_pct = 4 };
	struct profile_stats three = { .known = true, .duration_s = 3, .sample_rate = 200,
				       .error_known = true, .error_pct = 8 }, stats;
	const char *warn;

	b.start_us = 1000000;
	b.features = FEATURE_OPCODES;
	join_two(&a, &b, &one, &three, &meta, &stats, &warn);
	assert_null(warn);
	assert_int_equal(meta.start_us, 1000000);
	assert_int_equal(meta.features, FEATURE_GC | FEATURE_OPCODES);
	assert_int_equal(meta.mode, MODE_CPU);
	/* From 1 s to 4 s; a quarter of the time at 100, the rest at 200. */
	assert_true(stats.known && stats.duration_s == 3 && stats.sample_rate == 175);
	assert_true(stats.error_known && stats.error_pct == 7 && !stats.missed_known);
	/* One that does not say its mode contradicts nobody. */
	b.mode = MODE_UNKNOWN;
	join_two(&b, &a, &one, &three, &meta, &stats, &warn);
	assert_null(warn);
	assert_int_equal(meta.mode, MODE_CPU);
	b.mode = MODE_WALL;
	join_two(&a, &b, &one, NULL, &meta, &stats, &warn);
	assert_non_null(warn);
	assert_int_equal(meta.mode, MODE_UNKNOWN);
	assert_false(stats.known);
}

/* One of the files is damaged: what came before the damage is joined. */
static void test_damage(void **state)
{
	const struct sample_filter_options everything = { 0 };
	struct intern *in = intern_new();
	struct merge *m = merge_new(&everything, in);
	char whole_path[512], path[PATH_BYTES], why[256];
	struct buf b = file_bytes(golden_path("cpu_raw.bin", whole_path));
	struct events got = { 0 };
	struct tach_reader *r[2];
	int fd = memory_file(path);

	memset(b.data + b.len / 3, 0xff, 40);
	set_file(fd, b.data, b.len);
	r[0] = open_ok(whole_path);
	r[1] = open_ok(path);
	assert_int_equal(merge_add(m, r[0], why, sizeof(why)), 0);
	assert_int_equal(merge_add(m, r[1], why, sizeof(why)), -EBADMSG);
	assert_true(*why);
	assert_int_equal(merge_samples(m, keep_event, &got), 0);
	assert_in_range(got.cnt, 467 + 50, 467 * 2 - 50);
	events_free(&got);
	merge_free(m);
	tach_reader_free(r[0]);
	tach_reader_free(r[1]);
	buf_free(&b);
	intern_free(in);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deals),
		cmocka_unit_test(test_meta_and_stats),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
