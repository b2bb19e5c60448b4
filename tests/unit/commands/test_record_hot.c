// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_record_hot.c - the answer after a recording, of files: what is shown, what of a recording
 * that is too large, and the next commands. Of real processes: e2e/capture/test_walk_through.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

/* A file counts as 1,000 events, and cpu_raw.bin has 467. */
#define HOT_EVENTS 1200
#include "user/commands/record_hot.c"
#include "user/commands/record_next.c"

static const char small[] = "tests/golden/tach/deep400.bin";
static const char large[] = "tests/golden/tach/cpu_raw.bin";

static const struct recording_result result = { .samples = 100, .elapsed_s = 2, .cpu_s = 1 };

/* What is printed of a recording; valid until the next call. */
static const char *shown(const struct record_options *opts, const char *path)
{
	static char text[8192];
	struct recording_paths paths = { .paths = (char *[]){ (char *)path }, .cnt = 1 };
	int saved = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	ssize_t n;

	assert_true(saved >= 0 && fd >= 0);
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	if (record_show_hot(opts, &paths, &result, false))
		record_show_next(opts, &paths);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	close(saved);
	return text;
}

static void test_lines_functions_next(void **state)
{
	const char *text = shown(&(struct record_options){ 0 }, small);

	assert_non_null(strstr(text, "CPU: 0.50 of "));
	assert_null(strstr(text, "mostly waits"));
	assert_non_null(strstr(text, "\nHottest lines (of all samples)\n"));
	assert_non_null(strstr(text, "\nHottest functions (self, at their hottest line)\n"));
	assert_non_null(strstr(text, "\n  tachbpf report --annotate tests/golden/tach/deep400.bin\n"
				     "  tachbpf open tests/golden/tach/deep400.bin\n"));
	assert_null(strstr(text, "Busiest processes"));
	assert_null(strstr(text, "too many"));
}

/* What fits is read, never nothing. */
static void test_too_large(void **state)
{
	const char *text = shown(&(struct record_options){ .select.all = true }, large);

	assert_non_null(strstr(text, "\nBusiest processes (of all samples)\n  100.00 %  "));
	assert_non_null(strstr(text, "\nHottest lines (of all samples)\n"));
	assert_non_null(strstr(text, "\nOf the first "));
	assert_non_null(strstr(text, "\n  tachbpf report --annotate "));
}

/* Little CPU time: the command that shows where it waits. */
static void test_it_mostly_waits(void **state)
{
	struct record_options pid = { .select = { .pids = (pid_t[]){ 12, 13 }, .pid_cnt = 2 } };
	struct record_options tasks = { .select = pid.select, .capture.async = true };
	struct record_options command = { .command = (char *[]){ "python3", "-c", "x y", NULL } };
	struct recording_paths paths = { .paths = (char *[]){ (char *)small }, .cnt = 1 };
	char *text = NULL;
	size_t len;
	FILE *saved = stderr, *f;

	f = open_memstream(&text, &len);
	assert_non_null(f);
	stderr = f;
	record_show_hot(&pid, &paths, &(struct recording_result){ .elapsed_s = 10, .cpu_s = 0.4,
								  .idle_pct = 90 }, false);
	record_show_hot(&command, &paths, &(struct recording_result){ .elapsed_s = 10 }, false);
	record_show_hot(&tasks, &paths, &(struct recording_result){ .elapsed_s = 10 }, false);
	stderr = saved;
	fclose(f);
	assert_non_null(strstr(text, "\n  tachbpf -m wall --async -p 12,13\n"));
	assert_non_null(strstr(text, "CPU: 0.04 of "));
	assert_non_null(strstr(text, ": it mostly waits; to see what for:\n"
					   "  tachbpf -m wall -p 12,13\n"));
	/* It may wait for a CPU. */
	assert_non_null(strstr(text, ": it mostly waits, and the host is busy; to see what for:\n"
					   "  tachbpf -m wall -- python3 -c 'x y'\n"));
	free(text);
}

static void test_nothing(void **state)
{
	assert_string_equal(shown(&(struct record_options){ 0 }, "/nonexistent/x.tach"), "");
	assert_string_equal(shown(&(struct record_options){ 0 }, "tests/golden/none.d"), "");
}

/* What the recording is of decides. */
static void test_next_fits(void **state)
{
	static const struct {
		struct record_options opts;
		const char *command;
	} table[] = {
		{ { .mode = RECORD_GIL }, "gil" }, { { .mode = RECORD_GIL, .native = 1 }, "gil" },
		{ { .mode = RECORD_WALL }, "report --detail" },
		{ { .mode = RECORD_OFFCPU }, "report --detail" },
		{ { .mode = RECORD_EXCEPTION }, "report --detail" },
		{ { .native = 1 }, "report --native" }, { { .mode = RECORD_MEM }, "mem" },
		{ { .event.kind = EVENT_HARDWARE }, "report --by line" },
		{ { .capture.async = true }, "report --mine --sort total" },
		{ { .capture.async = true, .native = 1 }, "report --native" },
		{ { .mode = RECORD_WALL, .capture.async = true }, "report --detail" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		assert_string_equal(first_command(&table[i].opts), table[i].command);
}

static void test_places(void **state)
{
	static const struct {
		const char *file, *place;
	} table[] = {
		{ "/srv/shop/app.py", "app.py:7 f" }, { "app.py", "app.py:7 f" },
		{ "/srv/shop/__init__.py", "shop/__init__.py:7 f" },
		{ "__init__.py", "__init__.py:7 f" }, { "/__init__.py", "/__init__.py:7 f" },
		{ "<string>", "<string>:7 f" },
		{ "/", "/:7 f" }, { "/a/\x1b.py", "\\x1b.py:7 f" },
	};
	struct string_ref f = { "f", 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct string_ref file = { table[i].file, strlen(table[i].file) };
		char *got = record_place(FRAME_PYTHON, file, f, 7);

		assert_string_equal(got, table[i].place);
		free(got);
	}
}

static void assert_quoted(const char *path, const char *want)
{
	char *got = quoted_path(path);

	assert_string_equal(got, want);
	free(got);
}

static void test_words_for_a_shell(void **state)
{
	assert_quoted("rec", "rec");
	assert_quoted("a/rec.tach.d", "a/rec.tach.d");
	assert_quoted("rec//", "rec//");
	assert_quoted("", "''");
	assert_quoted("it's $HOME", "'it'\\''s $HOME'");
	assert_quoted("a\x1b[31m", "'a\\x1b[31m'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_functions_next), cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_it_mostly_waits), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_next_fits), cmocka_unit_test(test_places),
		cmocka_unit_test(test_words_for_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
