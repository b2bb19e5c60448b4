// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_thread_names.c - names come, change, go, and are shown; and what speedscope's reader makes
 * of a label.
 */
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/reader.h"
#include "model/thread_names.h"
#include "tests/unit/export_test.h"

static void test_set_and_find(void **state)
{
	struct thread_names *t = thread_names_new();
	size_t cnt;

	assert_null(thread_names_find(NULL, 1));
	assert_null(thread_names_list(NULL, &cnt));
	assert_int_equal(cnt, 0);
	assert_null(thread_names_keep(NULL));
	thread_names_drop(NULL);
	assert_int_equal(thread_names_set(t, 0, ""), 0);
	thread_names_list(t, &cnt);
	assert_int_equal(cnt, 0);
	assert_int_equal(thread_names_set(t, 0, "zero"), 0);
	assert_int_equal(thread_names_set(t, UINT64_MAX, "last"), 0);
	assert_string_equal(thread_names_find(t, 0), "zero");
	assert_int_equal(thread_names_set(t, 0, "other"), 0);
	assert_string_equal(thread_names_find(t, 0), "other");
	assert_string_equal(thread_names_find(t, UINT64_MAX), "last");
	assert_null(thread_names_find(t, 1));
	assert_int_equal(thread_names_set(t, 0, ""), 0);
	assert_null(thread_names_find(t, 0));
	thread_names_list(t, &cnt);
	assert_int_equal(cnt, 2);
	/* as long as somebody keeps them */
	assert_ptr_equal(thread_names_keep(t), t);
	thread_names_drop(t);
	assert_string_equal(thread_names_find(t, UINT64_MAX), "last");
	thread_names_drop(t);
}

static void test_bounds(void **state)
{
	struct thread_names *t = thread_names_new();
	char name[200];
	uint64_t i;
	size_t cnt;

	for (i = 0; i < THREAD_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "worker-%llu", (unsigned long long)i);
		assert_int_equal(thread_names_set(t, 3 * i, name), 0);
	}
	assert_int_equal(thread_names_set(t, 1, "one more"), -ENOSPC);
	assert_null(thread_names_find(t, 1));
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(thread_names_set(t, 3, name), 0);	/* who has one can get another */
	assert_int_equal(strlen(thread_names_find(t, 3)), THREAD_NAME_BYTES - 1);
	assert_string_equal(thread_names_find(t, 3 * 4095), "worker-4095");
	thread_names_list(t, &cnt);
	assert_int_equal(cnt, THREAD_NAMES_MAX);
	thread_names_drop(t);
}

static void test_label(void **state)
{
	struct thread_names *t = thread_names_new();
	char out[THREAD_LABEL_BYTES], hostile[THREAD_NAME_BYTES];

	assert_string_equal(thread_label(NULL, 12, "thread ", out), "thread 12");
	assert_string_equal(thread_label(t, UINT64_MAX, "Thread-", out),
			    "Thread-18446744073709551615");
	thread_names_set(t, 12, "worker-1");
	assert_string_equal(thread_label(t, 12, "thread ", out), "worker-1 (tid 12)");
	thread_names_set(t, 12, "a\"\n\x1b\xff<b>");
	assert_string_equal(thread_label(t, 12, "", out), "a\"\\x0a\\x1b\\xff<b> (tid 12)");
	memset(hostile, 1, sizeof(hostile));
	hostile[sizeof(hostile) - 1] = '\0';
	thread_names_set(t, UINT64_MAX, hostile);
	thread_label(t, UINT64_MAX, "", out);
	assert_non_null(strstr(out, "\\x01 (tid 18446744073709551615)"));
	thread_names_drop(t);
}

/* One thread with a name and one without, through a format: its text. */
static struct buf exported(const struct sink_ops *ops, const char *name, uint32_t tgid)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU, .tgid = tgid,
					   .comm = "app" },
				 .args = { .group = GROUP_THREAD } };
	struct thread_names *names = thread_names_new();
	uint32_t f;

	thread_names_set(names, 7, name);
	t.meta.thread_names = names;
	export_open(&t, ops);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	thread_names_drop(names);	/* the sink keeps what it needs */
	export_event(&t, 7, 1000, 1, 1, &f);
	export_event(&t, 8, 2000, 1, 1, &f);
	return export_close(&t);
}

static struct json_doc *exported_json(const struct sink_ops *ops, const char *name)
{
	struct buf b = exported(ops, name, 0);
	struct json_doc *o;

	assert_printable(&b);
	o = parse_json(&b);
	buf_free(&b);
	return o;
}

static bool found(const struct buf *b, const char *text)
{
	return memmem(b->data, b->len, text, strlen(text));
}

static void test_exports(void **state)
{
	struct json_doc *o = exported_json(&sink_speedscope, "worker-1");
	struct buf b;

	assert_json(o, "profiles.0.name", "\"worker-1 (tid 7)\"");
	assert_json(o, "profiles.1.name", "\"thread 8\"");
	free(o);
	o = exported_json(&sink_gecko, "worker-1");
	assert_json(o, "threads.0.name", "\"worker-1 (tid 7)\"");
	assert_json(o, "threads.0.tid", "7");
	assert_json(o, "threads.1.name", "\"Thread-8\"");
	free(o);
	b = exported(&sink_gperftools, "worker-1", 12);
	assert_true(found(&b, " process 12 app worker-1_(tid 7)\n"));
	assert_true(found(&b, " process 12 app thread 8\n"));
	buf_free(&b);
	/* stays as CPython writes it */
	b = exported(&sink_collapsed, "worker-1", 0);
	assert_true(found(&b, "tid:7;"));
	assert_false(found(&b, "worker"));
	buf_free(&b);
}

static void test_hostile_exports(void **state)
{
	free(exported_json(&sink_speedscope, HOSTILE));
	free(exported_json(&sink_gecko, HOSTILE));
}

static int take_thread(void *ctx, const struct event *ev)
{
	*(uint64_t *)ctx = ev->thread_id;
	return 1;
}

static uint64_t thread_read(const char *name)
{
	char path[PATH_BYTES], why[256] = "", text[512];
	int fd = memory_file(path);
	uint64_t tid = 0;
	struct reader *r;

	snprintf(text, sizeof(text),
		 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
		 "\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"profiles\":[{\"type\":\"sampled\","
		 "\"name\":\"%s\",\"unit\":\"microseconds\",\"startValue\":0,\"endValue\":1,"
		 "\"samples\":[[0]],\"weights\":[1]}]}", name);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	r = reader_open(path, NULL, why, sizeof(why));
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(reader_run(r, take_thread, &tid, why, sizeof(why)), 1);
	reader_free(r);
	close(fd);
	return tid;
}

/* Our own labels are read back, whatever a thread calls itself. */
static void test_read_back(void **state)
{
	static const struct {
		const char *name;
		uint64_t tid;
	} cases[] = {
		{ "worker-1 (tid 1234)", 1234 },
		{ "thread 99 (tid 1234)", 1234 },
		{ "(tid 99) (tid 1234)", 1234 },
		{ "process 12 app x (tid 18446744073709551615)", UINT64_MAX },
		{ "thread 99", 99 },
		{ "thread 99 (tid x)", 99 },
		{ "thread 99 (tid 5) more", 99 },
		{ "thread 99 (tid )", 99 },
		{ "thread 99 (tid -5)", 99 },
		{ "thread 99 (tid 18446744073709551616)", 99 },
		{ "Thread 0x10 \\\"w\\\"", 16 },
		{ "tid: 17", 17 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (thread_read(cases[i].name) != cases[i].tid)
			fail_msg("%s", cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_and_find),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_label),
		cmocka_unit_test(test_exports),
		cmocka_unit_test(test_hostile_exports),
		cmocka_unit_test(test_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
