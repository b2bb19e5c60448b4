// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_parquet.c - which rows the sink makes, and what it does when Python fails. A shell script
 * takes Python's place here and returns the rows as they are; tests/warehouse has the real one.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/formats.h"
#include "formats/parquet/parquet_rows.h"
#include "tests/unit/export_test.h"

#define HOUR_NS 3600000000000ull
#define AT_NS (490000 * HOUR_NS)	/* the begin of an hour in 2025 */
#define SERIES_MAX 8
#define ROWS_MAX 16

static char python[] = "/tmp/tachbpf-python-XXXXXX";

/* Makes a script that stands in for Python. */
static void set_python(const char *script)
{
	int fd;

	strcpy(strrchr(python, '-') + 1, "XXXXXX");
	fd = mkstemp(python);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, "#!/bin/sh\n", 10), 0);
	assert_int_equal(write_all(fd, script, strlen(script)), 0);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	setenv("TACHBPF_PYTHON", python, 1);
}

static int remove_python(void **state)
{
	unlink(python);
	return 0;
}

/* ---- reading rows ---- */

struct rows {
	const uint8_t *at;
	const char *strings[64];
	int32_t functions[16], files[16], lines[16];
	int64_t series_cnt, begin_us[SERIES_MAX], duration_ns[SERIES_MAX];
	int32_t text[SERIES_TEXTS][SERIES_MAX];
	int64_t row_cnt, value[ROWS_MAX], samples[ROWS_MAX];
	int32_t series[ROWS_MAX], leaf[ROWS_MAX];
	int32_t ends[ROWS_MAX + 1], frames[64];
};

static void take(struct rows *r, void *out, size_t len)
{
	memcpy(out, r->at, len);
	r->at += len;
}

static int64_t take_count(struct rows *r, int64_t max)
{
	int64_t cnt;

	take(r, &cnt, sizeof(cnt));
	assert_in_range(cnt, 0, max);
	return cnt;
}

static void take_strings(struct rows *r)
{
	int64_t i, cnt = take_count(r, 64);
	int32_t ends[65];
	char *text;

	take(r, ends, (size_t)(cnt + 1) * sizeof(*ends));
	for (i = 0; i < cnt; i++) {
		text = calloc(1, (size_t)(ends[i + 1] - ends[i]) + 1);
		assert_non_null(text);
		take(r, text, (size_t)(ends[i + 1] - ends[i]));
		r->strings[i] = text;
	}
}

static void take_tables(struct rows *r)
{
	int64_t cnt;
	int i;

	assert_memory_equal(r->at, "tachrow1", 8);
	r->at += 8;
	take_strings(r);
	cnt = take_count(r, 16);
	take(r, r->functions, (size_t)cnt * 4);
	take(r, r->files, (size_t)cnt * 4);
	take(r, r->lines, (size_t)cnt * 4);
	r->series_cnt = take_count(r, SERIES_MAX);
	take(r, r->begin_us, (size_t)r->series_cnt * 8);
	take(r, r->duration_ns, (size_t)r->series_cnt * 8);
	for (i = 0; i < SERIES_TEXTS; i++)
		take(r, r->text[i], (size_t)r->series_cnt * 4);
}

static void take_batch(struct rows *r)
{
	int64_t depth;

	r->row_cnt = take_count(r, ROWS_MAX);
	depth = take_count(r, 64);
	take(r, r->series, (size_t)r->row_cnt * 4);
	take(r, r->value, (size_t)r->row_cnt * 8);
	take(r, r->samples, (size_t)r->row_cnt * 8);
	take(r, r->leaf, (size_t)r->row_cnt * 4);
	take(r, r->ends, (size_t)(r->row_cnt + 1) * 4);
	take(r, r->frames, (size_t)depth * 4);
	assert_int_equal(r->ends[r->row_cnt], depth);
}

static void free_rows(struct rows *r)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(r->strings); i++)
		free((char *)r->strings[i]);
}

/* Checks a text of a row's series; NULL: unknown. */
static void assert_text(const struct rows *r, int row, int which, const char *text)
{
	int32_t id = r->text[which][r->series[row]];

	if (!text)
		assert_int_equal(id, -1);
	else
		assert_string_equal(r->strings[id], text);
}

/* ---- tests ---- */

static void test_calls(void **state)
{
	set_python("cat || exit 28\n");
	check_calls(&sink_parquet);
}

static void add_profile(struct export_test *t, const char *version, uint64_t begin_ns, uint32_t f,
			uint64_t weight)
{
	const struct profile_service service = { { [SERVICE_NAME] = "shop", [SERVICE_TEAM] = "a",
						   [SERVICE_VERSION] = version } };
	const struct profile_stats stats = { .known = true, .duration_s = 15 };

	t->meta.service = &service;
	t->meta.start_utc_ns = begin_ns;
	export_begin(t);
	export_event(t, 7, 1, weight, 1, &f);
	assert_int_equal(t->s->ops->end(t->s, &stats), 0);
}

static struct buf close_rows(struct export_test *t)
{
	struct buf b;

	assert_int_equal(t->s->ops->close(t->s), 0);
	b = file_bytes(t->path);
	close(t->args.fd);
	intern_free(t->in);
	return b;
}

/* Windows of an hour are added up; those of another version or hour are not. */
static void test_windows(void **state)
{
	struct export_test t = { .args.many = true,
				 .meta = { .interval_us = 1000, .mode = MODE_CPU } };
	struct rows r = { 0 };
	struct buf b;
	uint32_t f;

	set_python("cat\n");
	export_open(&t, &sink_parquet);
	f = export_frame(&t, "/x/m.py", "f", 3);
	add_profile(&t, "1", AT_NS + 30000000000ull, f, 2);
	add_profile(&t, "2", AT_NS, f, 5);
	add_profile(&t, "1", AT_NS, f, 7);
	add_profile(&t, "1", AT_NS + HOUR_NS, f, 1);
	b = close_rows(&t);
	r.at = b.data;
	take_tables(&r);
	take_batch(&r);
	assert_int_equal(r.row_cnt, 3);
	assert_int_equal(r.value[0], 9 * 1000000);
	assert_int_equal(r.samples[0], 9);
	assert_text(&r, 0, SERVICE_NAME, "shop");
	assert_text(&r, 0, SERVICE_VERSION, "1");
	assert_text(&r, 0, SERVICE_TEAM, "a");
	assert_text(&r, 0, SERVICE_HOST, NULL);
	assert_text(&r, 0, SERIES_TYPE, "cpu");
	assert_text(&r, 0, SERIES_UNIT, "nanoseconds");
	assert_int_equal(r.begin_us[r.series[0]], AT_NS / 1000);
	assert_int_equal(r.duration_ns[r.series[0]], 45000000000);
	assert_text(&r, 1, SERVICE_VERSION, "2");
	assert_int_equal(r.value[1], 5 * 1000000);
	assert_int_equal(r.begin_us[r.series[2]], (AT_NS + HOUR_NS) / 1000);
	assert_string_equal(r.strings[r.functions[r.leaf[0]]], "f");
	assert_string_equal(r.strings[r.files[r.leaf[0]]], "/x/m.py");
	assert_int_equal(r.lines[r.leaf[0]], 3);
	free_rows(&r);
	buf_free(&b);
}

/* The leaf is the function that reports give the self to; the stack has all frames. */
static void test_leaf(void **state)
{
	struct export_test t = { .meta = { .comm = "app", .interval_us = 1000,
					   .mode = MODE_WALL } };
	struct rows r = { 0 };
	uint32_t f, gc;
	struct buf b;

	set_python("cat\n");
	export_open(&t, &sink_parquet);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 2, (uint32_t[]){ gc, f });
	export_event(&t, 7, 2, 4, 0, NULL);
	b = export_close(&t);
	r.at = b.data;
	take_tables(&r);
	take_batch(&r);
	assert_int_equal(r.row_cnt, 2);
	assert_text(&r, 0, SERVICE_NAME, "app");
	assert_text(&r, 0, SERIES_TYPE, "wall");
	assert_int_equal(r.begin_us[r.series[0]], -1);
	assert_int_equal(r.ends[1], 2);
	assert_int_equal(r.leaf[0], r.frames[1]);
	assert_string_equal(r.strings[r.functions[r.frames[0]]], "<GC>");
	assert_int_equal(r.lines[r.frames[0]], -1);
	assert_non_null(strstr(r.strings[r.functions[r.leaf[0]]], "\\x1b[31m;\\xff"));
	assert_int_equal(r.leaf[1], -1);
	assert_int_equal(r.ends[2], 2);
	free_rows(&r);
	buf_free(&b);
}

/* Bytes that are still held are a type of their own, and part of those allocated. */
static void test_memory(void **state)
{
	struct export_test t = { .meta = { .unit = UNIT_BYTES, .held_apart = true } };
	struct rows r = { 0 };
	struct buf b;
	uint32_t f;

	set_python("cat\n");
	export_open(&t, &sink_parquet);
	f = export_frame(&t, "/x/m.py", "f", 3);
	export_begin(&t);
	export_event(&t, 7, 1, 100, 1, &f);
	t.status = STATUS_HELD;
	export_event(&t, 7, 2, 20, 1, &f);
	b = export_close(&t);
	r.at = b.data;
	take_tables(&r);
	take_batch(&r);
	assert_int_equal(r.row_cnt, 2);
	assert_int_equal(r.value[0], 120);
	assert_text(&r, 0, SERIES_TYPE, "alloc_space");
	assert_text(&r, 0, SERIES_UNIT, "bytes");
	assert_int_equal(r.value[1], 20);
	assert_text(&r, 1, SERIES_TYPE, "inuse_space");
	assert_int_equal(r.samples[0], -1);
	free_rows(&r);
	buf_free(&b);
}

/* A directory is divided into batches of a day and service; without a time there is no day. */
static void test_directory(void **state)
{
	struct export_test t = { .args = { .fd = -1, .many = true },
				 .meta = { .interval_us = 1000, .mode = MODE_CPU } };
	char dir[] = "/tmp/tachbpf-parquet-XXXXXX", path[64];
	struct rows r = { 0 };
	struct buf b;
	uint32_t f;

	set_python("cat >rows\n");
	assert_non_null(mkdtemp(dir));
	t.args.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t.in = intern_new();
	t.s = sink_new(&sink_parquet, &t.args);
	assert_non_null(t.s);
	f = export_frame(&t, "/x/m.py", "f", 3);
	add_profile(&t, "1", AT_NS, f, 2);
	add_profile(&t, "1", AT_NS + 24 * HOUR_NS, f, 3);
	assert_int_equal(t.s->ops->close(t.s), 0);
	snprintf(path, sizeof(path), "%s/rows", dir);
	b = file_bytes(path);
	r.at = b.data;
	take_tables(&r);
	take_batch(&r);
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(r.value[0], 2000000);
	take_batch(&r);
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(r.value[0], 3000000);
	assert_int_equal(take_count(&r, 0), 0);
	free_rows(&r);
	buf_free(&b);

	t.s = sink_new(&sink_parquet, &t.args);
	t.meta = (struct profile_meta){ .interval_us = 1000 };
	assert_int_equal(t.s->ops->begin(t.s, &t.meta, intern_tables(t.in)), SINK_REPORTED);
	assert_int_equal(t.s->ops->close(t.s), SINK_REPORTED);
	unlink(path);
	rmdir(dir);
	close(t.args.dirfd);
	intern_free(t.in);
}

/*
 * What Python's end means, whether or not it read the rows, which are more than a pipe holds.
 * SIGPIPE is as before.
 */
static void test_failures(void **state)
{
	static const struct { const char *script; int err; } ends[] = {
		{ "exit 28\n", -ENOSPC }, { "cat >/dev/null; exit 28\n", -ENOSPC },
		{ "exit 200\n", SINK_REPORTED }, { "kill -9 $$\n", SINK_REPORTED },
		{ "exit 201\n", SINK_REPORTED },
	};
	static char name[200000];
	struct sigaction is;
	uint32_t f;
	size_t i;

	signal(SIGPIPE, SIG_DFL);
	memset(name, 'x', sizeof(name) - 1);
	for (i = 0; i <= ARRAY_SIZE(ends); i++) {
		struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU } };

		if (i < ARRAY_SIZE(ends))
			set_python(ends[i].script);
		else
			setenv("TACHBPF_PYTHON", "/nothing/here", 1);
		export_open(&t, &sink_parquet);
		f = export_frame(&t, "/x/m.py", name, 3);
		export_begin(&t);
		export_event(&t, 7, 1, 1, 1, &f);
		assert_int_equal(t.s->ops->end(t.s, NULL), 0);
		assert_int_equal(t.s->ops->close(t.s),
				 i < ARRAY_SIZE(ends) ? ends[i].err : SINK_REPORTED);
		unlink(python);
		close(t.args.fd);
		intern_free(t.in);
	}
	sigaction(SIGPIPE, NULL, &is);
	assert_ptr_equal(is.sa_handler, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_calls, remove_python),
		cmocka_unit_test_teardown(test_windows, remove_python),
		cmocka_unit_test_teardown(test_leaf, remove_python),
		cmocka_unit_test_teardown(test_memory, remove_python),
		cmocka_unit_test_teardown(test_directory, remove_python),
		cmocka_unit_test_teardown(test_failures, remove_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
