// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_tach.c - what the writer writes is what CPython would write, and what
 * goes in comes out again: all layouts, plain and compressed, on full disks too.
 */
#include "formats/formats.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_write.h"
#include "tests/unit/tach_test.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <xxhash.h>

#define START_US 1000000u

static const struct profile_meta meta = {
	.python_major = 3,
	.python_minor = 12,
	.python_micro = 1,
	.start_us = START_US,
	.interval_us = 10000,
	.mode = MODE_CPU,
	.features_known = true,
	.features = FEATURE_ALL_THREADS | FEATURE_GC,
};

static const struct profile_stats stats = {
	.known = true,
	.duration_s = 1.5,
	.sample_rate = 99.25,
	.error_known = true,
	.error_pct = 0.5,
};

/* A profile with cnt frames whose names are name_len long. */
static struct intern *make_tables(uint32_t cnt, size_t name_len)
{
	struct intern *in = intern_new();
	char name[256];
	uint32_t i, id;

	assert_non_null(in);
	for (i = 0; i < cnt; i++) {
		struct frame f = { .line = (int32_t)i, .end_line = (int32_t)i + (i & 1),
				   .column = 4, .end_column = 20 - (int32_t)(i & 31),
				   .opcode = (uint8_t)i,
				   .first_line = i % 5 ? (int32_t)(i * 37 % 3000) : 0 };

		if (i % 7 == 0)
			f.line = f.end_line = f.column = f.end_column = -1;
		if (f.end_column < 0)
			f.end_column = COLUMN_NONE;
		memset(name, 'x', sizeof(name));
		snprintf(name, sizeof(name), "f%u", i);
		name[strlen(name)] = 'x';
		assert_int_equal(intern_string(in, name, name_len, &f.func), 0);
		assert_int_equal(intern_string(in, "/usr/lib/a.py", 13, &f.file), 0);
		assert_int_equal(intern_frame(in, &f, &id), 0);
		assert_int_equal(id, i);
	}
	return in;
}

static struct sink *start_as(int fd, enum profile_layout layout, struct compressor *c,
			     const struct intern *in, bool live)
{
	const struct sink_args args = { .fd = fd, .layout = layout, .compressor = c,
					.live = live };
	struct sink *s = sink_tach.open(&args);

	assert_non_null(s);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	return s;
}

static struct sink *start(int fd, enum profile_layout layout, struct compressor *c,
			  const struct intern *in)
{
	return start_as(fd, layout, c, in, false);
}

static void finish(struct sink *s)
{
	assert_int_equal(s->ops->end(s, &stats), 0);
	assert_int_equal(s->ops->close(s), 0);
}

static int put(struct sink *s, uint64_t time_us, uint64_t tid, uint8_t status, uint32_t n,
	       const uint32_t *frames)
{
	const struct event ev = { .time_us = time_us, .thread_id = tid, .interp_id = 2,
				  .nframes = n, .frames = frames, .weight = 1, .status = status };

	return s->ops->event(s, &ev);
}

/* Every choice that CPython's writer makes, byte by byte. */
static void test_records(void **state)
{
	static const uint8_t want[] = {
#define T 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0
		T, 0, 1, 5, 1,			/* nothing yet, nothing now: REPEAT */
		T, 1, 5, 1, 3, 1, 2, 3,		/* FULL */
		T, 0, 2, 1, 3, 0, 2,		/* REPEAT twice; time does not go back */
		T, 2, 199, 1, 1, 3, 1, 4,	/* SUFFIX: 3 shared, 1 new */
		T, 3, 1, 1, 2, 1, 5,		/* POP_PUSH: 2 off, 1 on */
		T, 1, 1, 1, 6, 9, 8, 7, 6, 2, 3,	/* 2 shared < 6 / 2: FULL */
		T, 3, 1, 1, 4, 1, 7,		/* 2 shared >= 3 / 2: POP_PUSH */
		T, 3, 1, 1, 1, 0,		/* POP_PUSH: 1 off */
		T, 1, 1, 1, 0,			/* FULL without frames */
#undef T
	};
	struct intern *in = make_tables(16, 12);
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start(fd, LAYOUT_RELEASE, NULL, in);
	struct buf b;
	uint64_t t = START_US;

	assert_int_equal(put(s, t += 5, 9, 1, 0, NULL), 0);
	assert_int_equal(put(s, t += 5, 9, 1, 3, (uint32_t[]){ 1, 2, 3 }), 0);
	assert_int_equal(put(s, t += 1, 9, 3, 3, (uint32_t[]){ 1, 2, 3 }), 0);
	assert_int_equal(put(s, t - 1, 9, 2, 3, (uint32_t[]){ 1, 2, 3 }), 0);
	assert_int_equal(put(s, t += 199, 9, 1, 4, (uint32_t[]){ 4, 1, 2, 3 }), 0);
	assert_int_equal(put(s, t += 1, 9, 1, 3, (uint32_t[]){ 5, 2, 3 }), 0);
	assert_int_equal(put(s, t += 1, 9, 1, 6, (uint32_t[]){ 9, 8, 7, 6, 2, 3 }), 0);
	assert_int_equal(put(s, t += 1, 9, 1, 3, (uint32_t[]){ 7, 2, 3 }), 0);
	assert_int_equal(put(s, t += 1, 9, 1, 2, (uint32_t[]){ 2, 3 }), 0);
	assert_int_equal(put(s, t += 1, 9, 1, 0, NULL), 0);
	assert_int_equal(tach_sample_cnt(s), 10);
	finish(s);
	b = file_bytes(path);
	assert_memory_equal(b.data + 64, want, sizeof(want));
	buf_free(&b);
	intern_free(in);
	close(fd);
}

/* A capture by CPython, decoded and encoded again, is the same file with a checksum. */
static void test_same_as_cpython(void **state)
{
	static const char *const files[] = { "cpu_raw.bin", "deep400.bin" };
	char path[PATH_BYTES], name[512];
	struct sink_args args = { .fd = memory_file(path) };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		struct buf got, want = file_bytes(golden_path(files[i], name));

		assert_int_equal(ftruncate(args.fd, 0), 0);
		convert(golden_path(files[i], name), &sink_tach, &args);
		got = file_bytes(path);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len - 16);
		assert_memory_not_equal(got.data + got.len - 16, want.data + want.len - 16, 16);
		buf_free(&got);
		buf_free(&want);
	}
	close(args.fd);
}

static void assert_same_events(struct events *a, struct events *b)
{
	size_t i;

	sort_by_thread(a);
	sort_by_thread(b);
	assert_int_equal(a->cnt, b->cnt);
	for (i = 0; i < a->cnt; i++) {
		const struct kept *x = &a->list[i], *y = &b->list[i];

		assert_true(x->thread_id == y->thread_id && x->interp_id == y->interp_id);
		assert_true(x->time_us == y->time_us && x->status == y->status);
		assert_int_equal(x->nframes, y->nframes);
		assert_memory_equal(a->frames + x->first, b->frames + y->first,
				    x->nframes * sizeof(*a->frames));
	}
}

/* A thread as a program would have it: calls, returns, stays. */
struct walk {
	uint32_t depth, stack[EVENT_MAX_FRAMES];
	uint64_t time_us;
};

static void step(struct walk *w, uint64_t *seed, uint32_t frame_cnt)
{
	uint32_t off, on, i;

	switch (rnd(seed) % 8) {
	case 0:
		off = rnd(seed) % (w->depth + 1);
		on = rnd(seed) % (EVENT_MAX_FRAMES + 1 - (w->depth - off));
		break;
	case 1:
		off = w->depth < 3 ? w->depth : 3;
		on = rnd(seed) % 4;
		break;
	case 2:
		off = 0;
		on = w->depth < EVENT_MAX_FRAMES;
		break;
	default:
		return;
	}
	if (w->depth - off + on > EVENT_MAX_FRAMES)
		return;
	memmove(w->stack + on, w->stack + off, (w->depth - off) * sizeof(*w->stack));
	w->depth = w->depth - off + on;
	for (i = 0; i < on; i++)
		w->stack[i] = (uint32_t)(rnd(seed) % frame_cnt);
}

#define WALKS 12

/* One random sample of a random thread to the sink; what should come back to want. */
static int random_event(struct sink *s, struct walk *walks, uint64_t *seed, uint32_t frame_cnt,
			struct events *want)
{
	uint32_t i = rnd(seed) % WALKS;
	struct walk *w = &walks[i];
	uint64_t now = w->time_us + rnd(seed) % (rnd(seed) % 16 ? 200 : 1ULL << 40);
	struct event ev = { .weight = 1, .thread_id = 1ULL << (i * 5), .interp_id = i & 1,
			    .frames = w->stack, .status = rnd(seed) & 63 };
	int err;

	step(w, seed, frame_cnt);
	if (rnd(seed) % 32 == 0)
		now = w->time_us - rnd(seed) % 1000;
	ev.nframes = w->depth;
	ev.time_us = now;
	err = s->ops->event(s, &ev);
	if (err)
		return err;
	if (now > w->time_us)
		w->time_us = now;
	ev.time_us = w->time_us;
	return keep_event(want, &ev);
}

static void start_walks(struct walk *walks)
{
	int i;

	memset(walks, 0, WALKS * sizeof(*walks));
	for (i = 0; i < WALKS; i++)
		walks[i].time_us = START_US;
}

static void assert_tables(const struct profile_tables *a, const struct profile_tables *b,
			  enum profile_layout layout)
{
	uint32_t i;

	assert_int_equal(a->frame_cnt, b->frame_cnt);
	assert_int_equal(a->string_cnt, b->string_cnt);
	for (i = 0; i < a->string_cnt; i++) {
		assert_int_equal(a->strings[i].len, b->strings[i].len);
		assert_memory_equal(a->strings[i].data, b->strings[i].data, a->strings[i].len);
	}
	for (i = 0; i < a->frame_cnt; i++) {
		struct frame f = a->frames[i], g = b->frames[i];

		assert_true(f.file == g.file && f.func == g.func && f.line == g.line);
		assert_int_equal(f.first_line, g.first_line);
		if (layout == LAYOUT_DRAFT2) {
			assert_true(g.column == COLUMN_NONE && g.opcode == OPCODE_NONE);
			continue;
		}
		/* An end that is not known reads as the start. */
		if (f.end_column == COLUMN_NONE)
			f.end_column = f.column;
		assert_true(f.end_line == g.end_line && f.column == g.column &&
			    f.end_column == g.end_column && f.opcode == g.opcode);
	}
}

static void assert_meta(const struct tach_info *i, enum profile_layout layout, uint64_t samples)
{
	assert_int_equal(i->layout, layout);
	assert_false(i->swapped);
	assert_int_equal(i->sample_cnt, samples);
	assert_int_equal(i->meta.start_us, meta.start_us);
	assert_int_equal(i->meta.interval_us, meta.interval_us);
	if (layout != LAYOUT_DRAFT2) {
		assert_int_equal(i->meta.python_major, 3);
		assert_int_equal(i->meta.python_minor, 12);
		assert_int_equal(i->meta.python_micro, 1);
	}
	assert_int_equal(i->stats.known, layout == LAYOUT_RELEASE);
	assert_int_equal(i->meta.mode, layout == LAYOUT_RELEASE ? MODE_CPU : MODE_UNKNOWN);
	if (layout == LAYOUT_RELEASE) {
		assert_int_equal(i->meta.features, meta.features);
		assert_true(i->stats.duration_s == 1.5 && i->stats.sample_rate == 99.25);
		assert_true(i->stats.error_known && i->stats.error_pct == 0.5);
		assert_false(i->stats.missed_known);
	}
}

static void round_trip(enum profile_layout layout, struct compressor *c, uint64_t seed,
		       size_t samples)
{
	struct intern *in = make_tables(1 + rnd(&seed) % 20000, 16);
	struct events want = { 0 }, got = { 0 };
	struct walk walks[WALKS];
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start(fd, layout, c, in);
	struct tach_reader *r;
	size_t i;

	start_walks(walks);
	for (i = 0; i < samples; i++) {
		assert_int_equal(random_event(s, walks, &seed, intern_tables(in)->frame_cnt,
					      &want), 0);
		if (rnd(&seed) % 5000 == 0)
			assert_int_equal(s->ops->flush(s), 0);
	}
	assert_int_equal(tach_sample_cnt(s), samples);
	finish(s);
	r = open_ok(path);
	assert_meta(tach_reader_info(r), layout, samples);
	assert_int_equal(tach_reader_info(r)->compression, c && samples ? 1 : 0);
	assert_tables(intern_tables(in), tach_reader_tables(r), layout);
	assert_int_equal(tach_reader_checksum(r), TACH_CHECKSUM_RIGHT);
	run_ok(r, &got);
	assert_same_events(&want, &got);
	tach_reader_free(r);
	events_free(&want);
	events_free(&got);
	intern_free(in);
	close(fd);
}

/* A file with the given frames and a sample of the first. */
static void write_frames(int fd, const struct intern *in)
{
	const uint32_t first = 0;
	struct sink *s = start(fd, LAYOUT_RELEASE, NULL, in);

	assert_int_equal(put(s, 1, 9, 1, 1, &first), 0);
	finish(s);
}

/* The first lines of functions, as far as they are known; they are no string of the profile. */
static void test_first_lines(void **state)
{
	static const int32_t lines[][2] = {
		{ 7, 7 }, { 7, 0 }, { 8, 7 }, { 7, 8 }, { LINE_NONE, 5 }, { INT32_MAX, 1 },
		{ 1, INT32_MAX }, { LINE_NONE, INT32_MAX }, { 40, 8 }, { 4711, 12 },
	};
	static const uint8_t damage[] = {
		0xff, TACH_FIRST_LINE_ZERO + TACH_FIRST_LINE_MORE,	/* joins two numbers */
	};
	struct intern *in = intern_new();
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct tach_reader *r;
	struct buf b;
	uint8_t *at;
	uint32_t i, id;
	size_t n;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		struct frame f = { .line = lines[i][0], .end_line = lines[i][0],
				   .column = COLUMN_NONE, .end_column = COLUMN_NONE,
				   .opcode = OPCODE_NONE, .first_line = lines[i][1] };

		assert_int_equal(intern_string(in, "f", 1, &f.func), 0);
		assert_int_equal(intern_string(in, "a.py", 4, &f.file), 0);
		assert_int_equal(intern_frame(in, &f, &id), 0);
	}
	write_frames(fd, in);
	r = open_ok(path);
	assert_tables(intern_tables(in), tach_reader_tables(r), LAYOUT_RELEASE);
	assert_int_equal(tach_reader_info(r)->string_cnt, 2);
	tach_reader_free(r);

	/* Damaged, or of other frames: the file is good, and none is known. */
	b = file_bytes(path);
	at = memmem(b.data, b.len, TACH_FIRST_LINES, strlen(TACH_FIRST_LINES));
	assert_non_null(at);
	for (n = 0; n < ARRAY_SIZE(damage); n++) {
		at[strlen(TACH_FIRST_LINES) + 2] = damage[n];
		set_file(fd, b.data, b.len);
		r = open_ok(path);
		for (i = 0; i < ARRAY_SIZE(lines); i++)
			assert_int_equal(tach_reader_tables(r)->frames[i].first_line, 0);
		tach_reader_free(r);
	}
	buf_free(&b);
	intern_free(in);
	close(fd);
}

/* A program calls a function as if it were the first lines: it is a name. */
static void test_name_like_first_lines(void **state)
{
	static const char name[] = TACH_FIRST_LINES "1";
	struct intern *in = intern_new();
	struct frame f = { .line = 3, .end_line = 3, .opcode = OPCODE_NONE };
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct tach_reader *r;
	uint32_t id;

	assert_int_equal(intern_string(in, "a.py", 4, &f.file), 0);
	assert_int_equal(intern_string(in, name, strlen(name), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	write_frames(fd, in);
	r = open_ok(path);
	assert_tables(intern_tables(in), tach_reader_tables(r), LAYOUT_RELEASE);
	tach_reader_free(r);
	intern_free(in);
	close(fd);
}

static void test_round_trips(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 50, 3000, 40000 };
	/* One compressor for all of them, as in a session of many processes. */
	struct compressor *c = compressor_new(3);
	enum profile_layout layout;
	size_t i;

	for (layout = 0; layout < 3; layout++) {
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			round_trip(layout, NULL, 88172645463325252ULL + i, sizes[i]);
			round_trip(layout, c, 1181783497276652981ULL + i, sizes[i]);
		}
	}
	compressor_free(c);
}

/* A run of repeats that is longer than the writer's buffer and the reader's window. */
static void test_long_run(void **state)
{
	struct compressor *c = compressor_new(3);
	struct intern *in = make_tables(4, 8);
	const uint32_t frames[] = { 1, 2 };
	struct events got = { 0 };
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start(fd, LAYOUT_RELEASE, c, in);
	struct tach_reader *r;
	uint64_t i, n = 1000000;

	for (i = 0; i < n; i++)
		assert_int_equal(put(s, START_US + i * 300, i & 1, i % 3, 2, frames), 0);
	finish(s);
	r = open_ok(path);
	run_ok(r, &got);
	assert_int_equal(got.cnt, n);
	sort_by_thread(&got);
	for (i = 0; i < n; i++) {
		uint64_t at = i < n / 2 ? i * 2 : (i - n / 2) * 2 + 1;

		if (got.list[i].time_us != START_US + at * 300 || got.list[i].status != at % 3)
			fail_msg("sample %llu", (unsigned long long)i);
	}
	tach_reader_free(r);
	events_free(&got);
	compressor_free(c);
	intern_free(in);
	close(fd);
}

/* Threads without end: a flush frees the stacks of those that are quiet; none is wrong after it. */
static void test_quiet_threads(void **state)
{
	enum { THREADS = 20000, DEPTH = 200 };
	struct intern *in = make_tables(4, 8);
	uint32_t frames[DEPTH], i;
	struct events got = { 0 };
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start_as(fd, LAYOUT_RELEASE, NULL, in, true);
	size_t before = mallinfo2().uordblks;
	struct tach_reader *r;

	for (i = 0; i < DEPTH; i++)
		frames[i] = i % 4;
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(put(s, START_US + i, i, 1, DEPTH, frames), 0);
		if (i % 100 == 0)
			assert_int_equal(s->ops->flush(s), 0);
	}
	/* 1 KiB each would be 20 MiB; so much is left without stacks. */
	assert_in_range(mallinfo2().uordblks - before, 0, 6 << 20);
	/* the same stack, none, and half of it, of threads that were quiet */
	assert_int_equal(put(s, START_US + THREADS, 5, 1, DEPTH, frames), 0);
	assert_int_equal(put(s, START_US + THREADS, 6, 1, 0, NULL), 0);
	assert_int_equal(put(s, START_US + THREADS, 7, 1, DEPTH / 2, frames + DEPTH / 2), 0);
	finish(s);
	r = open_ok(path);
	run_ok(r, &got);
	assert_int_equal(got.cnt, THREADS + 3);
	for (i = 0; i < got.cnt; i++) {
		struct event ev = kept_event(&got, i);
		uint32_t depth = ev.time_us < START_US + THREADS || ev.thread_id == 5 ? DEPTH :
				 ev.thread_id == 6 ? 0 : DEPTH / 2;

		assert_int_equal(ev.nframes, depth);
		assert_true(!depth || !memcmp(ev.frames, frames + DEPTH - depth, 4 * depth));
	}
	tach_reader_free(r);
	events_free(&got);
	intern_free(in);
	close(fd);
}

static void test_refusals(void **state)
{
	struct intern *in = make_tables(4, 8);
	uint32_t frames[EVENT_MAX_FRAMES + 1] = { 0 }, alien = 4;
	char path[PATH_BYTES];
	int fd = memory_file(path), append;
	struct sink_args args = { .fd = fd, .layout = 7 };
	struct events got = { 0 };
	struct sink *s;
	struct tach_reader *r;

	assert_null(sink_tach.open(&args));
	args.layout = LAYOUT_RELEASE;
	args.fd = append = open("/dev/null", O_WRONLY | O_APPEND);
	assert_null(sink_tach.open(&args));
	close(append);
	args.fd = fd;
	s = sink_tach.open(&args);
	assert_int_equal(put(s, START_US, 1, 0, 1, frames), -EINVAL);
	assert_int_equal(s->ops->end(s, NULL), -EINVAL);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), -EINVAL);
	assert_int_equal(put(s, START_US, 1, 0, EVENT_MAX_FRAMES, frames), 0);
	/* A frame that is not in the table: an error for good, but the file is kept. */
	assert_int_equal(put(s, START_US, 1, 0, 1, &alien), -EINVAL);
	assert_int_equal(put(s, START_US, 1, 0, 1, frames), -EINVAL);
	assert_int_equal(s->ops->end(s, &stats), -EINVAL);
	assert_int_equal(s->ops->end(s, &stats), -EINVAL);
	assert_int_equal(s->ops->close(s), -EINVAL);
	r = open_ok(path);
	run_ok(r, &got);
	assert_int_equal(got.cnt, 1);
	assert_int_equal(got.list[0].nframes, EVENT_MAX_FRAMES);
	tach_reader_free(r);
	events_free(&got);
	s = start(fd, LAYOUT_RELEASE, NULL, in);
	assert_int_equal(put(s, START_US, 1, 0, EVENT_MAX_FRAMES + 1, frames), -EINVAL);
	s->ops->close(s);
	intern_free(in);
	close(fd);
}

/* CPython would refuse the whole file for one such number. */
static void test_odd_stats(void **state)
{
	struct intern *in = make_tables(4, 8);
	struct profile_stats odd = stats;
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start(fd, LAYOUT_RELEASE, NULL, in);
	struct tach_reader *r;

	odd.sample_rate = 1.0 / 0.0;
	assert_int_equal(s->ops->end(s, &odd), 0);
	s->ops->close(s);
	r = open_ok(path);
	assert_false(tach_reader_info(r)->stats.known);
	tach_reader_free(r);
	assert_int_equal(ftruncate(fd, 0), 0);
	s = start(fd, LAYOUT_RELEASE, NULL, in);
	odd = stats;
	odd.error_pct = -1;
	assert_int_equal(s->ops->end(s, &odd), 0);
	s->ops->close(s);
	r = open_ok(path);
	assert_true(tach_reader_info(r)->stats.known);
	assert_false(tach_reader_info(r)->stats.error_known);
	tach_reader_free(r);
	intern_free(in);
	close(fd);
}

static void test_no_space(void **state)
{
	struct intern *in = make_tables(4, 8);
	struct sink_args args = { .fd = open("/dev/full", O_WRONLY) };
	struct sink *s = sink_tach.open(&args);

	assert_non_null(s);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), -ENOSPC);
	assert_int_equal(put(s, START_US, 1, 0, 0, NULL), -ENOSPC);
	assert_int_equal(s->ops->flush(s), -ENOSPC);
	assert_int_equal(s->ops->end(s, &stats), -ENOSPC);
	assert_int_equal(s->ops->close(s), -ENOSPC);
	close(args.fd);
	args.fd = -1;
	assert_null(sink_tach.open(&args));
	assert_int_equal(errno, EBADF);
	intern_free(in);
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &lim), 0);
	lim.rlim_cur = bytes == RLIM_INFINITY ? lim.rlim_max : bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

/*
 * Write until the disk is full; what is readable then must be what was written. live: of a
 * recording, which flushes; then all that was flushed must be readable.
 * Answers how many samples were kept, -1: the file is not readable.
 */
static int64_t fill_as(rlim_t limit, uint32_t frames, size_t name_len, struct compressor *c,
		       bool live)
{
	struct intern *in = make_tables(frames, name_len);
	struct events want = { 0 }, got = { 0 };
	struct walk walks[WALKS];
	uint64_t seed = 5, kept;
	char path[PATH_BYTES], why[256];
	int fd = memory_file(path), err = 0;
	struct sink *s = start_as(fd, LAYOUT_RELEASE, c, in, live);
	struct tach_reader *r;
	size_t i, flushed = 0;

	start_walks(walks);
	limit_file_size(limit);
	while (!err && want.cnt < 1000000) {
		err = random_event(s, walks, &seed, frames, &want);
		if (err || !live || want.cnt % 50)
			continue;
		err = s->ops->flush(s);
		flushed = err ? flushed : want.cnt;
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(s->ops->end(s, &stats), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	kept = tach_sample_cnt(s);
	assert_true(kept >= flushed);
	assert_int_equal(s->ops->close(s), -EFBIG);
	r = tach_reader_open(path, why, sizeof(why));
	if (r) {
		assert_int_equal(tach_reader_info(r)->sample_cnt, kept);
		/* The cut file can be read back for its checksum. */
		assert_int_equal(tach_reader_checksum(r), TACH_CHECKSUM_RIGHT);
		run_ok(r, &got);
		assert_int_equal(got.cnt, kept);
		/* Of every thread the first so many. */
		sort_by_thread(&got);
		sort_by_thread(&want);
		for (i = 0, want.cnt = 0; i < got.cnt; i++) {
			while (want.list[want.cnt].thread_id != got.list[i].thread_id)
				want.cnt++;
			assert_int_equal(want.list[want.cnt].time_us, got.list[i].time_us);
			assert_int_equal(want.list[want.cnt++].nframes, got.list[i].nframes);
		}
	}
	tach_reader_free(r);
	events_free(&want);
	events_free(&got);
	intern_free(in);
	close(fd);
	return r ? (int64_t)kept : -1;
}

static int64_t fill(rlim_t limit, uint32_t frames, size_t name_len, struct compressor *c)
{
	return fill_as(limit, frames, name_len, c, false);
}

/* A recording's file has room for its tables before it has samples. */
static void test_full_disk_live(void **state)
{
	struct compressor *c = compressor_new(3);
	rlim_t limit;

	signal(SIGXFSZ, SIG_IGN);
	for (limit = 1024; limit < 300 * 1024; limit += limit / 7) {
		assert_true(fill_as(limit, 100, 16, NULL, true) >= 0);
		assert_true(fill_as(limit, 100, 16, c, true) >= 0);
		assert_true(fill_as(limit, 1100, 70, c, true) >= 0);
	}
	assert_true(fill_as(300 * 1024, 1100, 70, NULL, true) > 0);
	compressor_free(c);
}

static void test_full_disk(void **state)
{
	struct compressor *c = compressor_new(3);
	int64_t kept;

	signal(SIGXFSZ, SIG_IGN);
	/* Small tables fit where the samples that did not were. */
	kept = fill(700 * 1024, 100, 16, NULL);
	assert_true(kept > 4000);
	assert_true(fill(700 * 1024, 100, 16, c) > kept);
	/* Tables of about 400 KiB: earlier samples must go. */
	assert_in_range(fill(700 * 1024, 5000, 80, NULL), 1000, kept - 1);
	/* Just the tables fit. */
	assert_int_equal(fill(100 * 1024, 1100, 70, NULL), 0);
	/* Not even they: without samples no table is needed. */
	assert_int_equal(fill(100 * 1024, 5000, 80, NULL), 0);
	/* Only the header fits. */
	assert_int_equal(fill(100, 100, 16, NULL), -1);
	compressor_free(c);
}

/* Whatever byte changes, structure or checksum tells. */
static void test_checksum(void **state)
{
	struct intern *in = make_tables(20, 8);
	char path[PATH_BYTES], why[256];
	int fd = memory_file(path);
	struct sink *s = start(fd, LAYOUT_RELEASE, NULL, in);
	struct tach_reader *r;
	struct buf b;
	uint32_t i;
	size_t at;

	for (i = 0; i < 20; i++)
		assert_int_equal(put(s, START_US + i, i % 3, 1, 1, &i), 0);
	finish(s);
	b = file_bytes(path);
	for (at = 0; at < b.len; at++) {
		b.data[at] ^= 0x10;
		set_file(fd, b.data, b.len);
		r = tach_reader_open(path, why, sizeof(why));
		if (r)
			assert_int_equal(tach_reader_checksum(r), TACH_CHECKSUM_WRONG);
		tach_reader_free(r);
		b.data[at] ^= 0x10;
	}
	/* Zeros: CPython's files have none. */
	memset(b.data + b.len - 16, 0, 16);
	set_file(fd, b.data, b.len);
	r = open_ok(path);
	assert_int_equal(tach_reader_checksum(r), TACH_CHECKSUM_NONE);
	tach_reader_free(r);
	buf_free(&b);
	intern_free(in);
	close(fd);
}

/* The value another program would compute from docs/tach.md. */
static void test_checksum_value(void **state)
{
	struct intern *in = make_tables(1, 4);
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct sink *s = start(fd, LAYOUT_RELEASE, NULL, in);
	XXH128_canonical_t want;
	struct buf b, turned = { 0 };

	finish(s);
	b = file_bytes(path);
	assert_int_equal(buf_add(&turned, b.data + 64, b.len - 64 - 16), 0);
	assert_int_equal(buf_add(&turned, b.data, 64), 0);
	XXH128_canonicalFromHash(&want, XXH3_128bits(turned.data, turned.len));
	assert_memory_equal(want.digest, b.data + b.len - 16, 16);
	buf_free(&b);
	buf_free(&turned);
	intern_free(in);
	close(fd);
}

/* One event for many samples is the file that so many events make, read back. */
static void test_weights(void **state)
{
	static const uint64_t weights[] = { 1, 2, 63, 64, 65, 1000, 70000, 3, 200000 };
	struct intern *in = make_tables(16, 12);
	const uint32_t frames[] = { 1, 2, 3 };
	uint64_t t = START_US, total = 0, i;
	struct event ev = { .nframes = 3, .frames = frames, .thread_id = 9, .interp_id = 2 };
	char path[PATH_BYTES];
	int fd = memory_file(path);
	const struct sink_args args = { .fd = fd, .live = true };
	struct sink *s = sink_tach.open(&args);
	struct events got = { 0 };
	struct tach_reader *r;
	size_t k, at = 0;

	assert_non_null(s);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	for (k = 0; k < ARRAY_SIZE(weights); k++) {
		ev.time_us = t += 7;
		ev.weight = weights[k];
		ev.status = k;
		assert_int_equal(s->ops->event(s, &ev), 0);
		t += (weights[k] - 1) * meta.interval_us;
		total += weights[k];
	}
	assert_int_equal(tach_sample_cnt(s), total);
	finish(s);
	r = open_ok(path);
	run_ok(r, &got);
	assert_int_equal(got.cnt, total);
	for (k = 0, t = START_US; k < ARRAY_SIZE(weights); k++) {
		t += 7;
		for (i = 0; i < weights[k]; i++, at++) {
			const struct kept *one = &got.list[at];

			if (one->time_us != t + i * meta.interval_us || one->status != k ||
			    one->nframes != 3)
				fail_msg("sample %zu", at);
		}
		t += (weights[k] - 1) * meta.interval_us;
	}
	tach_reader_free(r);
	events_free(&got);
	intern_free(in);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),	    cmocka_unit_test(test_same_as_cpython),
		cmocka_unit_test(test_round_trips), cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_quiet_threads),
		cmocka_unit_test(test_first_lines), cmocka_unit_test(test_name_like_first_lines),
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_odd_stats),
		cmocka_unit_test(test_no_space),    cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_full_disk_live),
		cmocka_unit_test(test_checksum),    cmocka_unit_test(test_checksum_value),
		cmocka_unit_test(test_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
