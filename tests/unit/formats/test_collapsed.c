// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_collapsed.c - the collapsed sink against CPython's own replay, byte by
 * byte, and the lines that CPython's fixtures do not have.
 */
#include "formats/formats.h"
#include "formats/sinks.h"
#include "tests/unit/tach_test.h"

/* What the sink writes for a file. */
static struct buf collapse(const char *name)
{
	char path[PATH_BYTES], from[512];
	int fd = memory_file(path);
	const struct sink_args args = { .fd = fd };
	struct buf b;

	convert(golden_path(name, from), &sink_collapsed, &args);
	b = file_bytes(path);
	close(fd);
	return b;
}

static void assert_same(const char *bin, const char *answer)
{
	char path[512];
	struct buf got = collapse(bin), want = file_bytes(golden_path(answer, path));

	if (got.len != want.len || memcmp(got.data, want.data, got.len))
		fail_msg("%s differs from %s:\n%.500s", bin, answer, got.data);
	buf_free(&got);
	buf_free(&want);
}

static void test_as_cpython(void **state)
{
	static const char *const names[] = { "cpu_raw", "deep400", "native_opcodes", "wall_zstd" };
	static const char *const variants[] = { "draft1", "draft1.swapped", "draft2",
						"draft2.swapped", "release.swapped" };
	char bin[64], answer[64];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(bin, sizeof(bin), "%s.bin", names[i]);
		snprintf(answer, sizeof(answer), "%s.collapsed", names[i]);
		assert_same(bin, answer);
		for (j = 0; j < ARRAY_SIZE(variants); j++) {
			char path[512];

			snprintf(bin, sizeof(bin), "%s.%s.bin", names[i], variants[j]);
			if (!access(golden_path(bin, path), R_OK))
				assert_same(bin, answer);
		}
	}
}

static uint32_t add_frame(struct intern *in, const char *file, const char *func, int32_t line,
			  int32_t column)
{
	struct frame f = { .line = line, .end_line = line, .column = column };
	uint32_t id;

	assert_int_equal(intern_string(in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(in, &f, &id), 0);
	return id;
}

static void put_event(struct sink *s, uint64_t tid, uint32_t n, const uint32_t *frames)
{
	struct event ev = { .thread_id = tid, .nframes = n, .frames = frames, .weight = 1 };

	assert_int_equal(s->ops->event(s, &ev), 0);
}

static void assert_text(const char *path, const char *want)
{
	struct buf b = file_bytes(path);

	assert_string_equal((const char *)b.data, want);
	buf_free(&b);
}

static void test_lines(void **state)
{
	char path[PATH_BYTES];
	struct sink_args args = { .fd = memory_file(path) };
	struct intern *in = intern_new();
	struct profile_meta meta = { 0 };
	struct sink *s = sink_collapsed.open(&args);
	uint32_t a = add_frame(in, "/x/a.py", "f", 3, 1), b = add_frame(in, "/x/a.py", "f", 3, 2);
	uint32_t other = add_frame(in, "/y/a.py", "f", 3, 1), gc, i;
	uint32_t own = add_frame(in, "/p/_sync_coordinator.py", "main", 1, 1);
	uint32_t odd = add_frame(in, "b;c.py", "new\nline", LINE_NONE, -1);

	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	/* Columns do not matter, paths do, the profiler's own frames vanish. */
	put_event(s, 7, 1, &a);
	put_event(s, 7, 2, (uint32_t[]){ b, own });
	put_event(s, 7, 1, &other);
	put_event(s, 7, 1, &own);
	put_event(s, 7, 0, NULL);
	for (i = 0; i < 3; i++)
		put_event(s, 8, 3, (uint32_t[]){ gc, odd, a });
	assert_int_equal(s->ops->end(s, NULL), 0);
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), -EINVAL);
	assert_int_equal(s->ops->close(s), 0);
	assert_text(path, "tid:8;a.py:f:3;b:c.py:new\\x0aline:0;<GC> 3\n"
			  "tid:7;a.py:f:3 2\n"
			  "tid:7;a.py:f:3 1\n");
	intern_free(in);
	close(args.fd);
}

static void test_many(void **state)
{
	char path[PATH_BYTES];
	struct sink_args args = { .fd = memory_file(path), .many = true };
	struct intern *in = intern_new();
	struct profile_meta meta = { .tgid = 12, .comm = "a;b\n" };
	struct sink *s = sink_collapsed.open(&args);
	uint32_t a = add_frame(in, "a.py", "f", 3, 1);

	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	put_event(s, 12, 1, &a);
	assert_int_equal(s->ops->end(s, NULL), 0);
	meta.tgid = 13;
	meta.comm = NULL;
	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	put_event(s, 13, 1, &a);
	assert_int_equal(s->ops->end(s, NULL), 0);
	assert_int_equal(s->ops->close(s), 0);
	assert_text(path, "process:12 a:b\\x0a;tid:12;a.py:f:3 1\n"
			  "process:13;tid:13;a.py:f:3 1\n");
	intern_free(in);
	close(args.fd);
}

static void test_write_error(void **state)
{
	struct sink_args args = { .fd = open("/dev/full", O_WRONLY) };
	struct intern *in = intern_new();
	struct profile_meta meta = { 0 };
	struct sink *s = sink_collapsed.open(&args);
	uint32_t a = add_frame(in, "a.py", "f", 3, 1);
	struct event ev = { .nframes = 1, .frames = &a, .weight = 1 };

	assert_int_equal(s->ops->begin(s, &meta, intern_tables(in)), 0);
	assert_int_equal(s->ops->event(s, &ev), 0);
	assert_int_equal(s->ops->end(s, NULL), -ENOSPC);
	assert_int_equal(s->ops->event(s, &ev), -ENOSPC);
	assert_int_equal(s->ops->close(s), -ENOSPC);
	intern_free(in);
	close(args.fd);
}

static void test_table(void **state)
{
	assert_ptr_equal(sink_find("tach"), &sink_tach);
	assert_ptr_equal(sink_find("collapsed"), &sink_collapsed);
	assert_null(sink_find("nothing"));
	assert_ptr_equal(sink_at(0), &sink_tach);
	assert_null(sink_at(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_cpython), cmocka_unit_test(test_lines),
		cmocka_unit_test(test_many),	   cmocka_unit_test(test_write_error),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
