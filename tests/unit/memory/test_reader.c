// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_reader.c - a reader that lies about mappings, threads, files and processes. */
#include "tests/unit/tach_test.h"

#include "worker/worker.h"

/* They take the place of the worker: the answer is made here. */
static int fake_ready(struct worker *w, pid_t about);
static int fake_call(struct worker *w, unsigned int function, const int *fds, int timeout_ms);
#define worker_ready fake_ready
#define worker_call fake_call
#include "memory/reader.c"
#undef worker_ready
#undef worker_call

static struct reader_shared shared, answer;
static unsigned int asked;


static int fake_ready(struct worker *w, pid_t about)
{
	w->shared = &shared;
	return 0;
}

static int fake_call(struct worker *w, unsigned int function, const int *fds, int timeout_ms)
{
	asked = function;
	memcpy(&shared, &answer, sizeof(shared));
	return 0;
}

/* The answer is random but for its beginning. */
static void begin(uint32_t len, const void *bytes, size_t size)
{
	uint64_t seed = len + 1, word;
	size_t i;

	for (i = 0; i + 8 <= sizeof(answer.bytes); i += 8) {
		word = rnd(&seed);
		memcpy(answer.bytes + i, &word, 8);
	}
	answer.len = len;
	memcpy(answer.bytes, bytes, size);
}

static void test_mappings(void **state)
{
	static const uint32_t lies[] = { OTEL_MAPPINGS_MAX + 1, UINT32_MAX };
	static struct otel_mappings m;
	size_t i;

	m.cnt = OTEL_MAPPINGS_MAX;
	begin(0, &m, sizeof(m));
	assert_int_equal(reader_otel_mappings(7, false, &m), 0);
	assert_true(m.cnt == OTEL_MAPPINGS_MAX && asked == OTEL_MAPPINGS);
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		m.cnt = lies[i];
		begin(0, &m, sizeof(m));
		reader_otel_mappings(7, false, &m);
		assert_int_equal(m.cnt, 0);
	}
}

/* Names are random bytes: they become text. */
static void test_threads(void **state)
{
	static const struct python_threads_at at;
	const struct python_threads *found;
	uint32_t cnt = PYTHON_THREADS_MAX, i;
	char name[PYTHON_THREAD_BYTES];

	begin(0, "", 0);
	memcpy(answer.bytes + offsetof(struct python_threads, cnt), &cnt, sizeof(cnt));
	assert_int_equal(reader_python_threads(7, &at, false, &found), 0);
	memset(shared.bytes, 0xff, sizeof(shared.bytes));
	assert_true(found->cnt == PYTHON_THREADS_MAX && asked == PYTHON_THREADS);
	for (i = 0; i < found->cnt; i++) {
		memcpy(name, found->list[i].name, sizeof(name));
		utf8_repair(name, sizeof(name));
		assert_string_equal(found->list[i].name, name);
	}
	for (cnt++; cnt; cnt = cnt == UINT32_MAX ? 0 : UINT32_MAX) {
		memcpy(answer.bytes + offsetof(struct python_threads, cnt), &cnt, sizeof(cnt));
		assert_int_equal(reader_python_threads(7, &at, false, &found), -EBADMSG);
	}
}

/* It claims another length than was asked for. */
static void test_files(void **state)
{
	char out[17];

	memset(out, 'x', sizeof(out));
	begin(5, "12345", 5);
	assert_int_equal(ask_for_file(READ_TEXT, 7, "maps", out, 16), 5);
	assert_string_equal(out, "12345");
	begin(READER_BYTES_MAX, "1234567890abcdefghi", 19);
	assert_int_equal(ask_for_file(READ_TEXT, 7, "maps", out, 16), 15);
	assert_string_equal(out, "1234567890abcde");
	begin(READER_BYTES_MAX + 1, "12345", 5);
	assert_int_equal(ask_for_file(READ_TEXT, 7, "maps", out, 16), 0);
	assert_string_equal(out, "");
	begin(UINT32_MAX, "12345", 5);
	assert_int_equal(ask_for_file(READ_TEXT, 7, "maps", out, 16), 0);
	assert_int_equal(out[16], 'x');
}

static int count_pid(void *ctx, pid_t pid)
{
	*(uint32_t *)ctx += 1;
	return 0;
}

static void test_processes(void **state)
{
	const pid_t pids[] = { 1, 2 };
	uint32_t cnt = 0;

	hidden = true;
	begin(sizeof(pids) + 3, pids, sizeof(pids));
	assert_int_equal(each_by_reader(0, count_pid, &cnt), 0);
	assert_int_equal(cnt, 2);
	begin(READER_BYTES_MAX + 4, pids, sizeof(pids));
	assert_int_equal(each_by_reader(0, count_pid, &cnt), -E2BIG);
	begin(UINT32_MAX, pids, sizeof(pids));
	assert_int_equal(each_by_reader(0, count_pid, &cnt), -E2BIG);
	assert_int_equal(cnt, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_files), cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
