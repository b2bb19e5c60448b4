// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_recover.c - a writer that dies at any byte of any of its writes leaves
 * files of which everything that was flushed can be had; whatever else happens
 * to file and journal, what is recovered is a beginning of what was written.
 */
#include "tests/unit/tach_test.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "formats/formats.h"
#include "formats/tach/recover.h"
#include "formats/tach/tach_join.h"
#include "formats/tach/tach_write.h"
#include "model/native_library.h"
#include "formats/tach/tach_journal.h"

#define THREADS 5
#define STEPS 400
/* Samples before compression that exceed one join of TACH_JOIN_BYTES, and following frames. */
#define STEPS_JOINED 64000

/* ---- what the writer wrote, write by write ---- */

struct written {
	int fd;
	off_t off;
	size_t len;
	uint8_t *data;
	uint64_t flushed;	/* samples that an earlier flush() promised to keep */
};

static struct written *writes;
static size_t write_cnt;
static bool recording;
static uint64_t flushed;

static pthread_t writer;	/* whose writes succeed */
static unsigned int fails;	/* which write of another thread does not; 0: none */

/* Ours instead of the C library's: it takes notes, and may fail. */
ssize_t pwrite(int fd, const void *buf, size_t n, off_t off);
ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
	struct written *w;

	if (fails && !pthread_equal(pthread_self(), writer) && !--fails) {
		errno = EIO;
		return -1;
	}
	if (recording) {
		writes = realloc(writes, (write_cnt + 1) * sizeof(*writes));
		assert_non_null(writes);
		w = &writes[write_cnt++];
		*w = (struct written){ fd, off, n, malloc(n + 1), flushed };
		assert_non_null(w->data);
		memcpy(w->data, buf, n);
	}
	return syscall(SYS_pwrite64, fd, buf, n, off);
}

static void forget_writes(void)
{
	size_t i;

	for (i = 0; i < write_cnt; i++)
		free(writes[i].data);
	free(writes);
	writes = NULL;
	write_cnt = 0;
	flushed = 0;
}

/* A file under construction and its journal; and, to play with, copies of them. */
struct files {
	int file, journal;
	char file_path[PATH_BYTES], journal_path[PATH_BYTES];
};

static void files_make(struct files *f)
{
	f->file = memory_file(f->file_path);
	f->journal = memory_file(f->journal_path);
}

static void files_close(struct files *f)
{
	close(f->file);
	close(f->journal);
}

static void files_empty(struct files *f)
{
	assert_int_equal(ftruncate(f->file, 0), 0);
	assert_int_equal(ftruncate(f->journal, 0), 0);
}

/* ---- a profile whose tables grow while it is written ---- */

struct source {
	struct intern *in;
	struct events all;	/* in the order of event() */
	uint64_t seed;
};

static uint32_t random_frame(struct source *s)
{
	char name[32];
	struct frame f = { .end_line = 0, .opcode = (uint8_t)rnd(&s->seed) };
	uint32_t id;

	snprintf(name, sizeof(name), "function_%u", (unsigned int)(rnd(&s->seed) % 60));
	assert_int_equal(intern_string(s->in, name, strlen(name), &f.func), 0);
	snprintf(name, sizeof(name), "/f%u.py", (unsigned int)(rnd(&s->seed) % 9));
	assert_int_equal(intern_string(s->in, name, strlen(name), &f.file), 0);
	f.line = f.end_line = 1 + (int32_t)(rnd(&s->seed) % 5);
	f.first_line = f.opcode % 3;
	assert_int_equal(intern_frame(s->in, &f, &id), 0);
	return id;
}

static void one_event(struct source *s, struct sink *sink, uint64_t step)
{
	uint32_t stack[16], i, n = 1 + rnd(&s->seed) % 16;
	struct event ev = {
		.time_us = 1000 + step * 10,
		.thread_id = 1 + rnd(&s->seed) % THREADS,
		.nframes = n,
		.frames = stack,
		.weight = 1,
		.status = (uint8_t)(rnd(&s->seed) % 64),
	};

	for (i = 0; i < n; i++)
		stack[i] = random_frame(s);
	assert_int_equal(sink->ops->event(sink, &ev), 0);
	keep_event(&s->all, &ev);
	if (rnd(&s->seed) % 3 == 0) {	/* repeats wait in the thread */
		ev.time_us += 5;
		assert_int_equal(sink->ops->event(sink, &ev), 0);
		keep_event(&s->all, &ev);
	}
}

/* How it is written: with samples that are flushed one time in so many. */
struct how {
	enum profile_layout layout;
	struct compressor *c;
	bool live;		/* as a recording: frames are joined */
	struct job_thread *joins;	/* by this thread; NULL: at once */
	uint64_t steps, flush_one_in;
};

/* Write it all, taking notes; finish: to the end. */
static void record_as(struct source *s, struct files *f, const struct how *how)
{
	const struct sink_args args = { .fd = f->file, .layout = how->layout, .live = how->live,
					.compressor = how->c, .joins = how->joins,
					.journal_fd = f->journal };
	const struct profile_meta meta = { .python_major = 3, .python_minor = 14,
					   .start_us = 1000, .interval_us = 10, .mode = MODE_CPU };
	struct sink *sink;
	uint64_t i;

	forget_writes();
	files_empty(f);
	recording = true;
	sink = sink_tach.open(&args);
	assert_non_null(sink);
	assert_int_equal(sink->ops->begin(sink, &meta, intern_tables(s->in)), 0);
	for (i = 0; i < how->steps; i++) {
		one_event(s, sink, i);
		if (rnd(&s->seed) % how->flush_one_in == 0) {
			assert_int_equal(sink->ops->flush(sink), 0);
			flushed = s->all.cnt;
		}
	}
	assert_int_equal(sink->ops->end(sink, NULL), 0);
	assert_int_equal(sink->ops->close(sink), 0);
	recording = false;
}

static void record(struct source *s, struct files *f, enum profile_layout layout,
		   struct compressor *c)
{
	record_as(s, f, &(struct how){ .layout = layout, .c = c, .steps = STEPS,
				       .flush_one_in = 25 });
}

static void source_start(struct source *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->in = intern_new();
	s->seed = seed;
	assert_non_null(s->in);
}

static void source_free(struct source *s)
{
	intern_free(s->in);
	events_free(&s->all);
}

/* ---- */

static bool same_name(const struct profile_tables *a, uint32_t x, const struct profile_tables *b,
		      uint32_t y)
{
	return a->strings[x].len == b->strings[y].len &&
	       !memcmp(a->strings[x].data, b->strings[y].data, a->strings[x].len);
}

static void assert_same_stack(const struct source *s, const struct kept *want,
			      const struct profile_tables *t, const struct events *got,
			      const struct kept *is)
{
	const struct profile_tables *ours = intern_tables(s->in);
	uint32_t i;

	assert_int_equal(want->nframes, is->nframes);
	for (i = 0; i < is->nframes; i++) {
		uint32_t x = s->all.frames[want->first + i], y = got->frames[is->first + i];

		assert_true(y < t->frame_cnt);
		assert_true(same_name(ours, ours->frames[x].func, t, t->frames[y].func) &&
			    same_name(ours, ours->frames[x].file, t, t->frames[y].file) &&
			    ours->frames[x].line == t->frames[y].line &&
			    ours->frames[x].first_line == t->frames[y].first_line);
	}
}

/* What was got is, thread by thread, a beginning of what was written. */
static void assert_beginning(const struct source *s, const struct profile_tables *t,
			     const struct events *got)
{
	size_t next[THREADS + 1] = { 0 }, i;

	for (i = 0; i < got->cnt; i++) {
		const struct kept *is = &got->list[i];
		size_t *at = &next[is->thread_id];

		assert_in_range(is->thread_id, 1, THREADS);
		while (*at < s->all.cnt && s->all.list[*at].thread_id != is->thread_id)
			++*at;
		assert_true(*at < s->all.cnt);
		assert_true(s->all.list[*at].time_us == is->time_us &&
			    s->all.list[*at].status == is->status);
		assert_same_stack(s, &s->all.list[*at], t, got, is);
		++*at;
	}
}

/* How many samples can be recovered; -1: none, with a reason. */
static int64_t recovered(const struct source *s, const struct files *f, char why[256])
{
	struct recovery *r = recover_open(f->file_path, f->journal_path, why, 256);
	struct events got = { 0 };
	int64_t cnt;

	if (!r) {
		assert_true(*why && !strchr(why, '\n'));
		return -1;
	}
	assert_int_equal(recover_samples(r, keep_event, &got, why, 256), 0);
	if (s)
		assert_beginning(s, recover_tables(r), &got);
	cnt = (int64_t)got.cnt;
	events_free(&got);
	recover_free(r);
	return cnt;
}

static void replay_write(const struct files *from, struct files *to, const struct written *w,
			 size_t len)
{
	int fd = w->fd == from->file ? to->file : to->journal;

	assert_int_equal(syscall(SYS_pwrite64, fd, w->data, len, w->off), len);
}

/* Returns whether a write tells the journal of a join. */
static bool is_join(const struct files *f, const struct written *w)
{
	uint32_t magic = 0;

	memcpy(&magic, w->data, w->len < sizeof(magic) ? 0 : sizeof(magic));
	return w->fd == f->journal && magic == TACH_JOURNAL_JOIN_MAGIC;
}

/* How many joins the journal tells of. */
static int joins_told(const struct files *f)
{
	size_t i;
	int n = 0;

	for (i = 0; i < write_cnt; i++)
		n += is_join(f, &writes[i]);
	return n;
}

/* Kills it at each EVERY-th write, and at each that tells of a join. */
static void kill_everywhere(const struct how *how, uint64_t seed, size_t every)
{
	struct files live, dead;
	struct source s;
	char why[256];
	size_t i, j;

	files_make(&live);
	files_make(&dead);
	source_start(&s, seed);
	record_as(&s, &live, how);
	assert_true(write_cnt > 20);
	files_empty(&dead);
	for (i = 0; i < write_cnt; i++) {
		const struct written *w = &writes[i];
		const size_t cuts[] = { 0, 1, w->len / 3, w->len / 2, w->len - 1, w->len };

		if (i % every && !is_join(&live, w)) {
			replay_write(&live, &dead, w, w->len);
			continue;
		}
		for (j = 0; j < ARRAY_SIZE(cuts); j++) {
			int64_t cnt;

			replay_write(&live, &dead, w, cuts[j]);
			cnt = recovered(&s, &dead, why);
			/* Before the journal's beginning is there, nothing was promised. */
			if (cnt < (int64_t)w->flushed && (cnt >= 0 || w->flushed))
				fail_msg("write %zu cut at %zu of %zu: %lld of %llu: %s", i,
					 cuts[j], w->len, (long long)cnt,
					 (unsigned long long)w->flushed, why);
		}
	}
	assert_int_equal(recovered(&s, &dead, why), s.all.cnt);
	source_free(&s);
	files_close(&live);
	files_close(&dead);
}

static void test_killed(void **state)
{
	struct compressor *c = compressor_new(3);
	const struct how how[] = {
		{ LAYOUT_RELEASE, c, false, NULL, STEPS, 25 },
		{ LAYOUT_RELEASE, NULL, false, NULL, STEPS, 25 },
		{ LAYOUT_DRAFT1, c, false, NULL, STEPS, 25 },
		{ LAYOUT_DRAFT2, NULL, false, NULL, STEPS, 25 },
		{ LAYOUT_RELEASE, c, true, NULL, STEPS, 25 },
		{ LAYOUT_DRAFT2, NULL, true, NULL, STEPS, 25 },
	};
	uint64_t seed;
	size_t i;

	for (seed = 1; seed < 4; seed++)
		for (i = 0; i < ARRAY_SIZE(how); i++)
			kill_everywhere(&how[i], seed * 77 + i, 1);
	compressor_free(c);
}

/* The same while frames are joined in the middle of a recording, and at its end. */
static void test_killed_while_joining(void **state)
{
	struct compressor *c = compressor_new(3);
	const struct how how = { LAYOUT_RELEASE, c, true, NULL, STEPS_JOINED, 8000 };

	kill_everywhere(&how, 5, 29);
	compressor_free(c);
}

/* Joined frames are the same samples in fewer bytes; the fewest if all joins are thorough. */
static void test_joined(void **state)
{
	struct compressor *c = compressor_new(3), *quick = compressor_new(3);
	const struct how apart = { LAYOUT_RELEASE, c, false, NULL, STEPS_JOINED, 8000 };
	const struct how joined = { LAYOUT_RELEASE, c, true, NULL, STEPS_JOINED, 8000 };
	const struct how quickly = { LAYOUT_RELEASE, quick, true, NULL, STEPS_JOINED, 8000 };
	const struct how *all[] = { &apart, &joined, &quickly };
	const int joins[] = { 0, 2, 2 };
	size_t size[ARRAY_SIZE(all)], i;
	struct source s;
	struct files f;
	char why[256];

	files_make(&f);
	compressor_limit_thorough(quick, 1);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		struct buf b;

		source_start(&s, 8);
		record_as(&s, &f, all[i]);
		assert_int_equal(joins_told(&f), joins[i]);
		assert_int_equal(recovered(&s, &f, why), s.all.cnt);
		b = file_bytes(f.file_path);
		size[i] = b.len;
		buf_free(&b);
		source_free(&s);
	}
	assert_true(size[1] < size[2] && size[2] < size[0]);
	files_close(&f);
	compressor_free(c);
	compressor_free(quick);
}

/* A thread that joins makes the same writes in the same order: who dies leaves the same. */
static void test_joined_by_a_thread(void **state)
{
	struct compressor *c = compressor_new(3);
	struct how how = { LAYOUT_RELEASE, c, true, NULL, STEPS_JOINED, 8000 };
	XXH64_hash_t sums[2] = { 0 };
	struct source s;
	struct files f;
	char why[256];
	size_t i, j;

	files_make(&f);
	for (i = 0; i < ARRAY_SIZE(sums); i++) {
		how.joins = i ? job_thread_new() : NULL;
		source_start(&s, 8);
		record_as(&s, &f, &how);
		job_thread_free(how.joins);
		assert_int_equal(joins_told(&f), 2);
		for (j = 0; j < write_cnt; j++)		/* the journal's id is random */
			sums[i] = XXH3_64bits_withSeed(writes[j].data,
						       writes[j].fd == f.file ? writes[j].len : 0,
						       sums[i] + (uint64_t)writes[j].off);
		assert_int_equal(recovered(&s, &f, why), s.all.cnt);
		source_free(&s);
	}
	assert_true(sums[0] == sums[1]);
	files_close(&f);
	compressor_free(c);
}

/* Whichever write of the first join fails, all samples stay. */
static void test_a_thread_that_cannot_write(void **state)
{
	struct compressor *c = compressor_new(3);
	struct how how = { LAYOUT_RELEASE, c, true, NULL, STEPS_JOINED, 8000 };
	unsigned int failing;
	struct source s;
	struct files f;
	char why[256];

	writer = pthread_self();
	files_make(&f);
	for (failing = 1; failing <= 3; failing++) {	/* behind the frames, journal, in place */
		fails = failing;
		how.joins = job_thread_new();
		source_start(&s, 8);
		record_as(&s, &f, &how);
		job_thread_free(how.joins);
		assert_int_equal(fails, 0);
		assert_int_equal(recovered(&s, &f, why), s.all.cnt);
		source_free(&s);
	}
	files_close(&f);
	compressor_free(c);
}

/* In front of what a flush stores: the beginning of a zstd frame and of its block. */
#define STORED_HEAD_BYTES 9

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(struct job *job)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

/*
 * While a join waits for its turn, the writer goes on, and one that dies leaves what was flushed;
 * who gives the file up waits for the join.
 */
static void test_join_waits(void **state)
{
	const struct profile_meta meta = { .start_us = 1000, .interval_us = 10 };
	struct job_thread *joins = job_thread_new();
	struct compressor *c = compressor_new(3);
	struct job before = { .run = wait_at_gate };
	struct files f, dead;
	struct sink *sink;
	struct source s;
	size_t raw = 0, seen = 0, i;
	char why[256];
	int64_t cnt;

	files_make(&f);
	files_make(&dead);
	source_start(&s, 8);
	forget_writes();
	pthread_mutex_lock(&gate);
	job_put(joins, &before);
	recording = true;
	sink = sink_tach.open(&(struct sink_args){ .fd = f.file, .live = true, .compressor = c,
						   .joins = joins, .journal_fd = f.journal });
	assert_int_equal(sink->ops->begin(sink, &meta, intern_tables(s.in)), 0);
	for (i = 0; raw < TACH_JOIN_BYTES; i++) {	/* the next write would wait */
		one_event(&s, sink, i);
		for (; seen < write_cnt; seen++)
			raw += writes[seen].fd == f.file && writes[seen].off ?
			       writes[seen].len - STORED_HEAD_BYTES : 0;
	}
	assert_int_equal(joins_told(&f), 0);
	assert_true(tach_bytes(sink) > TACH_JOIN_BYTES);
	for (i = 0; i < write_cnt; i++)
		replay_write(&f, &dead, &writes[i], writes[i].len);
	cnt = recovered(&s, &dead, why);
	assert_true(cnt > 0);
	pthread_mutex_unlock(&gate);
	assert_int_equal(sink->ops->close(sink), 0);
	recording = false;
	assert_int_equal(joins_told(&f), 1);
	assert_int_equal(recovered(&s, &f, why), cnt);
	source_free(&s);
	files_close(&f);
	files_close(&dead);
	job_thread_free(joins);
	compressor_free(c);
}

/* Who owns the file writes to it, too: frames that are not what was written are not joined. */
static void test_changed_meanwhile(void **state)
{
	struct compressor *c = compressor_new(3);
	const struct profile_meta meta = { .start_us = 1000, .interval_us = 10 };
	struct source s;
	struct files f;
	struct sink *sink;
	uint64_t i;

	files_make(&f);
	source_start(&s, 3);
	sink = sink_tach.open(&(struct sink_args){ .fd = f.file, .live = true, .compressor = c,
						   .journal_fd = f.journal });
	assert_non_null(sink);
	assert_int_equal(sink->ops->begin(sink, &meta, intern_tables(s.in)), 0);
	forget_writes();
	recording = true;
	for (i = 0; i < STEPS; i++) {
		one_event(&s, sink, i);
		if (i % 100 == 99)
			assert_int_equal(sink->ops->flush(sink), 0);
		if (i == 250)
			assert_int_equal(syscall(SYS_pwrite64, f.file, "x", 1, 100), 1);
	}
	assert_int_equal(sink->ops->end(sink, NULL), 0);
	assert_int_equal(sink->ops->close(sink), 0);
	recording = false;
	assert_int_equal(joins_told(&f), 0);
	source_free(&s);
	files_close(&f);
	compressor_free(c);
}

/* A machine that loses power: any write may be missing, of the file or of the journal. */
static void test_lost_writes(void **state)
{
	struct compressor *c = compressor_new(3);
	struct files live, dead;
	struct source s;
	size_t i, missing, got_some = 0;
	char why[256];

	files_make(&live);
	files_make(&dead);
	source_start(&s, 9);
	record(&s, &live, LAYOUT_RELEASE, c);
	for (missing = 0; missing < write_cnt - 1; missing++) {
		files_empty(&dead);
		/* Without the last one, the header. */
		for (i = 0; i < write_cnt - 1; i++)
			if (i != missing)
				replay_write(&live, &dead, &writes[i], writes[i].len);
		got_some += recovered(&s, &dead, why) > 0;
	}
	assert_true(got_some > write_cnt / 2);
	source_free(&s);
	files_close(&live);
	files_close(&dead);
	compressor_free(c);
}

/* No byte of the journal is believed. */
static void test_damaged_journal(void **state)
{
	struct files live, dead;
	struct buf journal, file;
	struct source s;
	char why[256];
	size_t i;
	int64_t cnt;

	files_make(&live);
	files_make(&dead);
	source_start(&s, 4);
	record(&s, &live, LAYOUT_RELEASE, NULL);
	journal = file_bytes(live.journal_path);
	file = file_bytes(live.file_path);
	memset(file.data, 0, TACH_HEADER_BYTES);
	set_file(dead.file, file.data, file.len);
	for (i = 0; i < journal.len; i += 1 + i / 64) {
		journal.data[i] ^= 1 << (i & 7);
		set_file(dead.journal, journal.data, journal.len);
		cnt = recovered(&s, &dead, why);
		if (i < sizeof(struct tach_journal_head))
			assert_int_equal(cnt, -1);
		else
			assert_true(cnt >= 0 && cnt < (int64_t)s.all.cnt);
		journal.data[i] ^= 1 << (i & 7);
	}
	/* Nor that it belongs to this file. */
	for (i = TACH_HEADER_BYTES; i < file.len; i += 1 + i / 64) {
		file.data[i] ^= 1 << (i & 7);
		set_file(dead.file, file.data, file.len);
		set_file(dead.journal, journal.data, journal.len);
		assert_true(recovered(&s, &dead, why) >= 0);
		file.data[i] ^= 1 << (i & 7);
	}
	buf_free(&journal);
	buf_free(&file);
	source_free(&s);
	files_close(&live);
	files_close(&dead);
}

/* What an entry costs does not grow with the tables. */
static void test_cost(void **state)
{
	struct intern *in = intern_new();
	struct files f;
	struct sink_args args;
	const struct profile_meta meta = { .start_us = 1, .interval_us = 1 };
	struct sink *sink;
	uint32_t i, id, biggest = 0;
	char name[32];

	files_make(&f);
	args = (struct sink_args){ .fd = f.file, .journal_fd = f.journal };
	forget_writes();
	recording = true;
	sink = sink_tach.open(&args);
	assert_non_null(sink);
	assert_int_equal(sink->ops->begin(sink, &meta, intern_tables(in)), 0);
	for (i = 0; i < 20000; i++) {
		const struct event ev = { .time_us = i, .thread_id = 1, .nframes = 1,
					  .frames = &id, .weight = 1 };

		snprintf(name, sizeof(name), "name%u", i);
		assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, name, &id), 0);
		assert_int_equal(sink->ops->event(sink, &ev), 0);
		if (i % 100 == 99)
			assert_int_equal(sink->ops->flush(sink), 0);
	}
	recording = false;
	for (i = 0; i < write_cnt; i++)
		if (writes[i].fd == f.journal && writes[i].len > biggest)
			biggest = (uint32_t)writes[i].len;
	assert_in_range(biggest, 1000, 100 * 30);
	assert_int_equal(sink->ops->end(sink, NULL), 0);
	sink->ops->close(sink);
	intern_free(in);
	files_close(&f);
}

/* What is known of libraries is in the journal, too. */
static void test_libraries(void **state)
{
	static const uint8_t build_id[] = { 0xab };
	const struct profile_meta meta = { .start_us = 1000, .interval_us = 10 };
	struct intern *in = intern_new();
	struct native_library *list;
	struct sink_args args;
	struct recovery *r;
	struct sink *sink;
	struct files f;
	char why[256];
	uint32_t id;

	files_make(&f);
	args = (struct sink_args){ .fd = f.file, .journal_fd = f.journal };
	sink = sink_tach.open(&args);
	assert_int_equal(sink->ops->begin(sink, &meta, intern_tables(in)), 0);
	assert_int_equal(native_library_add(in, "libfoo.so", "/lib/libfoo.so", build_id, 1), 0);
	assert_int_equal(intern_native(in, "libfoo.so", NULL, "foo", 0, &id), 0);
	assert_int_equal(sink->ops->event(sink, &(struct event){ .time_us = 2000, .thread_id = 1,
				.nframes = 1, .frames = &id, .weight = 1 }), 0);
	assert_int_equal(sink->ops->flush(sink), 0);
	r = recover_open(f.file_path, f.journal_path, why, sizeof(why));
	assert_non_null(r);
	assert_int_equal(recover_tables(r)->frames[id].kind, FRAME_NATIVE);
	assert_int_equal(native_libraries(recover_tables(r), &list), 1);
	assert_int_equal(list[0].build_id_bytes, 1);
	assert_int_equal(list[0].build_id[0], 0xab);
	free(list);
	recover_free(r);
	assert_int_equal(sink->ops->end(sink, NULL), 0);
	sink->ops->close(sink);
	intern_free(in);
	files_close(&f);
}

/* A journal on a full disk is no error, and goes on when there is room again. */
static void test_journal_that_fails(void **state)
{
	struct files f;
	struct source s;
	struct sink_args args;
	const struct profile_meta meta = { .start_us = 1000, .interval_us = 10 };
	int full = open("/dev/full", O_WRONLY), keep;
	struct sink *sink;
	char why[256];
	uint64_t i;

	files_make(&f);
	source_start(&s, 3);
	args = (struct sink_args){ .fd = f.file, .journal_fd = f.journal };
	sink = sink_tach.open(&args);
	keep = dup(f.journal);
	assert_true(dup2(full, f.journal) >= 0);
	assert_int_equal(sink->ops->begin(sink, &meta, intern_tables(s.in)), 0);
	for (i = 0; i < 200; i++) {
		if (i == 100)
			assert_true(dup2(keep, f.journal) >= 0);
		one_event(&s, sink, i);
		assert_int_equal(sink->ops->flush(sink), 0);
	}
	assert_int_equal(recovered(&s, &f, why), s.all.cnt);
	assert_int_equal(sink->ops->end(sink, NULL), 0);
	assert_int_equal(sink->ops->close(sink), 0);
	source_free(&s);
	files_close(&f);
	close(keep);
	close(full);
}

/* ---- without a journal ---- */

static int64_t recovered_alone(const void *data, size_t len, struct files *f, char why[256])
{
	set_file(f->file, data, len);
	return recovered(NULL, f, why);
}

/* Captures by CPython, cut at every byte: where the tables survive, all samples do. */
static void test_cut(void **state)
{
	static const char *const names[] = { "cpu_raw.bin", "wall_zstd.bin", "cpu_raw.draft1.bin",
					     "wall_zstd.draft1.swapped.bin", "cpu_raw.draft2.bin" };
	char path[512], why[256];
	struct files f;
	size_t i, len;

	files_make(&f);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct buf b = file_bytes(golden_path(names[i], path));
		struct tach_reader *r = open_ok(path);
		int64_t all = (int64_t)tach_reader_info(r)->sample_cnt, cnt;
		bool lost = false;

		tach_reader_free(r);
		for (len = b.len; len; len--) {
			cnt = recovered_alone(b.data, len, &f, why);
			if (cnt < 0) {
				lost = true;
				continue;
			}
			/* Once the tables are gone nothing comes back; before, everything does. */
			assert_false(lost);
			assert_int_equal(cnt, all);
		}
		assert_true(lost);
		buf_free(&b);
	}
	files_close(&f);
}

/* Any byte changed: no crash, and as many samples as the damage is far from the beginning. */
static void test_flipped(void **state)
{
	static const char *const names[] = { "cpu_raw.bin", "wall_zstd.bin", "cpu_raw.draft2.bin" };
	char path[512], why[256];
	struct files f;
	size_t i, at;

	files_make(&f);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct buf b = file_bytes(golden_path(names[i], path));
		uint64_t strings = 0;

		memcpy(&strings, b.data + (i == 2 ? 32 : 40), 8);
		for (at = 0; at < b.len; at += 3) {
			b.data[at] ^= 0xff;
			recovered_alone(b.data, b.len, &f, why);
			b.data[at] ^= 0xff;
		}
		/* The middle of the samples: about half of them. */
		if (i == 0) {
			memset(b.data + strings / 2, 0xff, 16);
			assert_in_range(recovered_alone(b.data, b.len, &f, why), 100, 400);
			assert_non_null(strstr(why, "damaged"));
		}
		buf_free(&b);
	}
	files_close(&f);
}

static void test_reasons(void **state)
{
	static const uint8_t zeros[200];
	struct files f;
	char why[256];

	files_make(&f);
	assert_int_equal(recovered_alone("ELF", 3, &f, why), -1);
	assert_non_null(strstr(why, "journal"));
	set_file(f.journal, "rubbish", 7);
	assert_int_equal(recovered_alone(zeros, sizeof(zeros), &f, why), -1);
	assert_non_null(strstr(why, "journal has 7 bytes"));
	close(f.journal);
	f.journal = -1;
	assert_int_equal(recovered_alone(zeros, sizeof(zeros), &f, why), -1);
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(why, "is missing"));
	assert_int_equal(recovered_alone("#!/bin/sh\n", 10, &f, why), -1);
	assert_non_null(strstr(why, "not a TACH file"));
	close(f.file);
}


int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_while_joining),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_joined_by_a_thread),
		cmocka_unit_test(test_a_thread_that_cannot_write),
		cmocka_unit_test(test_join_waits),
		cmocka_unit_test(test_changed_meanwhile),
		cmocka_unit_test(test_lost_writes),
		cmocka_unit_test(test_damaged_journal),
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_journal_that_fails),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_reasons),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	forget_writes();
	return failed;
}
