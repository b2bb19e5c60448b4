// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_mlyze_stream.c - what is streamed is a .mlyze file when it is joined; of files that were cut
 * anywhere, or changed, a valid beginning is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <signal.h>

#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_join.h"
#include "formats/mlyze/mlyze_stream.h"
#include "model/intern.h"
#include "tests/unit/tach_test.h"

#define NAME "7-app.mlyze"
#define START_US 1700000000000000ull

static char dir[64];
static int dirfd_;
static struct intern *in;
static uint32_t frames[6], later;

static uint32_t python_frame(const char *file, const char *func, int32_t line)
{
	struct frame f = { .line = line, .end_line = line, .column = COLUMN_NONE,
			   .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .kind = FRAME_PYTHON };
	uint32_t id;

	assert_int_equal(intern_string(in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

static int setup(void **state)
{
	uint32_t unresolved;

	snprintf(dir, sizeof(dir), "/tmp/test_mlyze_stream.XXXXXX");
	assert_non_null(mkdtemp(dir));
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dirfd_ >= 0);
	in = intern_new();
	frames[0] = python_frame("/a.py", "main", 3);
	frames[1] = python_frame("/a.py", "load", 14);
	frames[2] = python_frame("/b \"\\\n.py", "parse", LINE_NONE);
	frames[3] = python_frame("/a.py", "load", 15);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<GC>", &frames[4]), 0);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<unresolved>", &unresolved), 0);
	assert_int_equal(intern_later(in, unresolved, &later), 0);
	return 0;
}

static int teardown(void **state)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)))
		unlinkat(dirfd_, e->d_name, 0);
	closedir(d);
	close(dirfd_);
	rmdir(dir);
	intern_free(in);
	return 0;
}

static void mark(struct mlyze_stream *s, uint64_t time_us, enum mlyze_mark_word word)
{
	struct mlyze_mark_text t;

	mlyze_mark_begin(&t, word);
	mlyze_mark_put_number(&t, "n", time_us - START_US);
	assert_int_equal(mlyze_stream_mark(s, time_us, &t), 0);
}

/* Events of all kinds, stacks in any order of their numbers. flush: after each. */
static void write_events(struct mlyze_stream *s, bool flush)
{
	const uint32_t deep[] = { frames[2], frames[1], frames[0] }, one[] = { frames[0] };
	const uint32_t unknown[] = { later, frames[3], frames[0] };
	uint64_t t = START_US;
	int i;

	mark(s, t, MARK_RECORDING);
	for (i = 0; i < 3; i++) {
		assert_int_equal(mlyze_stream_alloc(s, t += 1000, 0x1000, 65536, 9, deep, 3, 0), 0);
		if (flush)
			assert_int_equal(mlyze_stream_flush(s), 0);
		assert_int_equal(mlyze_stream_alloc(s, t += 300, 0x7fff12345000, 1, 2, one, 1, 1),
				 0);
		assert_int_equal(mlyze_stream_alloc(s, t, 0x3000, 4096, 5, unknown, 3, 65535), 0);
		assert_int_equal(mlyze_stream_freed(s, t += 20, 0x1000), 0);
		if (flush)
			assert_int_equal(mlyze_stream_flush(s), 0);
		mark(s, t, MARK_CHECK);
		assert_int_equal(mlyze_stream_gc(s, t - 5000, 12), 0);
	}
	mark(s, t, MARK_END);
	assert_int_equal(mlyze_stream_flush(s), 0);
}

struct file {
	uint8_t *data;
	size_t size;
};

static struct file read_all(const char *name)
{
	struct file f = { 0 };
	struct buf b = { 0 };
	int fd = openat(dirfd_, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(buf_add_file(&b, fd, SIZE_MAX), 0);
	close(fd);
	f.data = b.data;
	f.size = b.len;
	return f;
}

static uint64_t size_of(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dirfd_, name, &st, 0), 0);
	return (uint64_t)st.st_size;
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, data, size), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	return !faccessat(dirfd_, name, F_OK, 0);
}

/* Returns the number of events; each byte of the file is part of one. */
static uint64_t count_events(const struct file *f)
{
	struct mlyze_error error;
	struct mlyze_file *m = mlyze_open(f->data, f->size, &error);
	struct mlyze_cursor c;
	struct mlyze_event ev;
	int more;

	assert_non_null(m);
	assert_int_equal(mlyze_start_us(m), START_US);
	assert_true(mlyze_reserved_clear(m));
	mlyze_rewind(&c, m);
	while ((more = mlyze_next(&c, &ev, &error)) > 0)
		;
	assert_int_equal(more, 0);
	mlyze_free(m);
	return c.index;
}

static void join(struct mlyze_joined *joined)
{
	char why[256] = "";
	int err = mlyze_join(dirfd_, NAME, joined, why, sizeof(why));

	if (err)
		fail_msg("%d: %s", err, why);
}

static void name_of(char out[64], const struct mlyze_file *m, uint32_t string)
{
	const struct string_ref *s = &mlyze_tables(m)->strings[string];

	snprintf(out, 64, "%.*s", (int)s->len, s->data);
}

static void check_stack(const struct mlyze_file *m, uint32_t index, const char *expected)
{
	struct mlyze_stack s = mlyze_stack(m, index);
	char text[512] = "", file[64], func[64];
	size_t i;

	for (i = 0; i < s.frame_cnt; i++) {
		const struct frame *f = &mlyze_tables(m)->frames[s.frames[i]];

		name_of(file, m, f->file);
		name_of(func, m, f->func);
		sprintf(text + strlen(text), "%s:%s:%d ", file, func, f->line);
	}
	assert_string_equal(text, expected);
}

static void test_join(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	static const enum mlyze_type types[] = { MLYZE_MARKER, MLYZE_ALLOC, MLYZE_ALLOC,
						 MLYZE_ALLOC, MLYZE_FREE, MLYZE_MARKER, MLYZE_GC };
	struct mlyze_joined joined;
	struct mlyze_error error;
	struct mlyze_file *m;
	struct mlyze_cursor c;
	struct mlyze_event ev;
	struct file f;
	size_t i;

	assert_non_null(s);
	write_events(s, false);
	assert_true(is_there(NAME ".events") && is_there(NAME ".names") && !is_there(NAME));
	assert_int_equal(mlyze_stream_bytes(s), size_of(NAME ".events") + size_of(NAME ".names"));
	mlyze_stream_free(s);
	join(&joined);
	assert_true(is_there(NAME) && !is_there(NAME ".events") && !is_there(NAME ".names"));
	assert_int_equal(joined.events, 20);
	assert_int_equal(joined.dropped, 0);
	assert_true(joined.ended);
	f = read_all(NAME);
	assert_int_equal(count_events(&f), 20);
	m = mlyze_open(f.data, f.size, &error);
	check_stack(m, 0, "/b \"\\\n.py:parse:-1 /a.py:load:14 /a.py:main:3 ");
	check_stack(m, 1, "/a.py:main:3 ");
	check_stack(m, 2, "~:<unresolved>:-1 /a.py:load:15 /a.py:main:3 ");
	mlyze_rewind(&c, m);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		assert_int_equal(mlyze_next(&c, &ev, &error), 1);
		assert_int_equal(ev.type, types[i]);
		if (i == 3)
			assert_true(ev.time_us == START_US + 1300 && ev.addr == 0x3000 &&
				    ev.size == 4096 && ev.stack == 2 && ev.thread == 65535);
		if (i == 6)	/* it came too late */
			assert_true(ev.time_us == START_US + 1320 && ev.objects == 12);
	}
	mlyze_free(m);
	free(f.data);
}

/* A frame whose name is known later has it, also in stacks from before. */
static void test_a_name_that_comes_later(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	const uint32_t stack[] = { later, frames[0] };
	struct mlyze_joined joined;
	struct mlyze_error error;
	struct mlyze_file *m;
	struct file f;

	assert_int_equal(mlyze_stream_alloc(s, START_US, 1, 1, 0, stack, 2, 0), 0);
	assert_int_equal(mlyze_stream_flush(s), 0);
	intern_name_later(in, later, python_frame("/late.py", "known", 8));
	assert_int_equal(mlyze_stream_flush(s), 0);
	mlyze_stream_free(s);
	join(&joined);
	assert_false(joined.ended);
	f = read_all(NAME);
	m = mlyze_open(f.data, f.size, &error);
	assert_non_null(m);
	check_stack(m, 0, "/late.py:known:8 /a.py:main:3 ");
	mlyze_free(m);
	free(f.data);
}

/* The joined file, of these bytes of both; its size. 0: there is none. */
static uint64_t join_cut(const struct file *events, size_t events_len, const struct file *names,
			 size_t names_len, struct mlyze_joined *joined)
{
	char why[256] = "";
	struct file f;
	uint64_t cnt;
	int err;

	write_file(NAME ".events", events->data, events_len);
	write_file(NAME ".names", names->data, names_len);
	err = mlyze_join(dirfd_, NAME, joined, why, sizeof(why));
	if (err) {
		assert_int_equal(err, -EBADMSG);
		assert_true(why[0]);
		assert_true(is_there(NAME ".events") && !is_there(NAME));
		return 0;
	}
	f = read_all(NAME);
	cnt = count_events(&f);
	assert_int_equal(cnt, joined->events);
	free(f.data);
	unlinkat(dirfd_, NAME, 0);
	return cnt;
}

/* Killed while it wrote: one of the files ends anywhere. More bytes never mean fewer events. */
static void test_cut_at_every_byte(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	struct file events, names;
	struct mlyze_joined joined;
	uint64_t before = 0, cnt;
	size_t i;

	write_events(s, true);
	mlyze_stream_free(s);
	events = read_all(NAME ".events");
	names = read_all(NAME ".names");
	for (i = 0; i <= events.size; i++) {
		cnt = join_cut(&events, i, &names, names.size, &joined);
		assert_true(cnt == before || cnt == before + 1);
		assert_true(joined.dropped < 32);
		assert_int_equal(joined.ended, i == events.size);
		before = cnt;
	}
	assert_int_equal(before, 20);
	for (before = 0, i = 0; i <= names.size; i++) {
		cnt = join_cut(&events, events.size, &names, i, &joined);
		assert_true(cnt >= before);
		before = cnt;
	}
	assert_int_equal(before, 20);
	free(events.data);
	free(names.data);
}

/* Whoever owns the files may write into them: what comes out is valid all the same. */
static void test_changed_bytes(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	struct mlyze_joined joined;
	struct file events, names;
	uint64_t seed = 7;
	uint8_t *where, was;
	int round;

	write_events(s, true);
	mlyze_stream_free(s);
	events = read_all(NAME ".events");
	names = read_all(NAME ".names");
	for (round = 0; round < 500; round++) {
		if (rnd(&seed) % 2)
			where = events.data + rnd(&seed) % events.size;
		else
			where = names.data + 16 + rnd(&seed) % (names.size - 16);
		was = *where;
		*where = rnd(&seed) % 3 ? (uint8_t)rnd(&seed) : 0xff;
		join_cut(&events, events.size, &names, names.size, &joined);
		*where = was;
	}
	free(events.data);
	free(names.data);
}

/* A machine crashed: the file system knew the size, and the bytes are zeros. */
static void test_zeros_at_the_end(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	struct mlyze_joined joined;
	struct file events, names;

	write_events(s, true);
	mlyze_stream_free(s);
	events = read_all(NAME ".events");
	names = read_all(NAME ".names");
	events.data = realloc(events.data, events.size + 100);
	memset(events.data + events.size, 0, 100);
	assert_int_equal(join_cut(&events, events.size + 100, &names, names.size, &joined), 20);
	assert_int_equal(joined.dropped, 100);
	free(events.data);
	free(names.data);
}

static void test_files_that_are_not_there(void **state)
{
	struct mlyze_joined joined;
	char why[256] = "";

	assert_int_equal(mlyze_join(dirfd_, NAME, &joined, why, sizeof(why)), -ENOENT);
	write_file(NAME ".names", (const uint8_t *)"MLYNAMES12345678", 16);
	assert_int_equal(mlyze_join(dirfd_, NAME, &joined, why, sizeof(why)), -ENOENT);
	assert_true(is_there(NAME ".names") && !is_there(NAME));
	assert_int_equal(mkfifoat(dirfd_, NAME ".events", 0600), 0);
	assert_int_equal(mlyze_join(dirfd_, NAME, &joined, why, sizeof(why)), -EINVAL);
}

/* The files stay as they are; another name in the way is not written into. */
static void test_files_that_were_moved(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));

	assert_int_equal(mlyze_stream_flush(s), 0);
	assert_int_equal(renameat(dirfd_, NAME ".events", dirfd_, "moved"), 0);
	write_file(NAME ".events", (const uint8_t *)"mine", 4);
	assert_int_equal(mlyze_stream_gc(s, START_US, 1), 0);
	assert_int_equal(mlyze_stream_flush(s), -ESTALE);
	assert_int_equal(mlyze_stream_gc(s, START_US, 1), -ESTALE);
	assert_int_equal(size_of(NAME ".events"), 4);
	mlyze_stream_free(s);
}

/* What was written before the error is there, in whole records. */
static void test_a_full_disk(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	struct rlimit was, small = { 1000, RLIM_INFINITY };
	struct mlyze_joined joined;
	uint64_t i, flushed = 0;
	int err = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	for (i = 0; !err; i++) {
		const uint32_t one[] = { frames[i % 2] };

		assert_int_equal(mlyze_stream_alloc(s, START_US + i, i, 5, i % 2, one, 1, 0), 0);
		err = mlyze_stream_flush(s);
		flushed += !err;
	}
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(err, -EFBIG);
	mlyze_stream_free(s);
	join(&joined);
	assert_int_equal(joined.events, flushed);
	assert_true(flushed > 40 && joined.dropped > 0);
}

static void test_is_live(void **state)
{
	struct mlyze_stream *s = mlyze_stream_new(dirfd_, NAME, START_US, intern_tables(in));
	int fd = openat(dirfd_, NAME ".names", O_RDONLY | O_CLOEXEC);

	assert_false(mlyze_is_live(dirfd_, NAME));
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_true(mlyze_is_live(dirfd_, NAME));
	close(fd);
	assert_false(mlyze_is_live(dirfd_, NAME));
	assert_false(mlyze_is_live(dirfd_, "other.mlyze"));
	mlyze_stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_join, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_that_comes_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_at_every_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_zeros_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_that_are_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_that_were_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_is_live, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
