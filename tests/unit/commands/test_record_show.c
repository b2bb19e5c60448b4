// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_record_show.c - what is shown of a recording that has ended: of one that is too large to be
 * read at once, only how to read it. tests/e2e/capture/test_after_recording.py has the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

/* A file counts as 1,000 events, and cpu_raw.bin has 467. */
#define HOT_EVENTS 1400
#include "user/commands/record_show.c"

static const char small[] = "tests/golden/tach/deep400.bin";
static const char large[] = "tests/golden/tach/cpu_raw.bin";

/* What record_show_hot() prints; valid until the next call. */
static const char *shown(const struct record_options *opts, const char *path)
{
	static char text[8192];
	struct recording_paths paths = { .paths = (char *[]){ (char *)path }, .cnt = 1 };
	int saved = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	ssize_t n;

	assert_true(saved >= 0 && fd >= 0);
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	record_show_hot(opts, &paths);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	close(saved);
	return text;
}

static void test_small(void **state)
{
	const char *text = shown(&(struct record_options){ 0 }, small);

	assert_non_null(strstr(text, "Hottest functions"));
	assert_non_null(strstr(text, "\n  tachbpf report tests/golden/tach/deep400.bin\n"));
	assert_non_null(strstr(text, " -o tests/golden/tach/deep400.bin.html\n"));
	assert_null(strstr(text, "Busiest processes"));
}

static void test_too_large(void **state)
{
	const char *text = shown(&(struct record_options){ .select.all = true }, large);

	assert_non_null(strstr(text, "too many samples"));
	assert_null(strstr(text, "Hottest functions"));
	assert_null(strstr(text, "Busiest processes"));
	assert_non_null(strstr(text, "\n  tachbpf report tests/golden/tach/cpu_raw.bin\n"));
}

static void test_nothing(void **state)
{
	assert_string_equal(shown(&(struct record_options){ 0 }, "/nonexistent/x.tach"), "");
	assert_string_equal(shown(&(struct record_options){ 0 }, "tests/golden/none.d"), "");
}

static void assert_quoted(const char *path, const char *want, const char *page)
{
	char *got = quoted_path(path);

	assert_string_equal(got, want);
	free(got);
	got = page_of(path);
	assert_string_equal(got, page);
	free(got);
}

static void test_words_for_a_shell(void **state)
{
	assert_quoted("rec", "rec", "rec.html");
	assert_quoted("a/rec.tach", "a/rec.tach", "a/rec.html");
	assert_quoted("a/rec.tach.d", "a/rec.tach.d", "a/rec.html");
	assert_quoted("rec.d", "rec.d", "rec.d.html");
	assert_quoted("rec//", "rec//", "rec.html");
	assert_quoted("/", "/", "/.html");
	assert_quoted("it's $HOME", "'it'\\''s $HOME'", "'it'\\''s $HOME.html'");
	assert_quoted("a\x1b[31m", "'a\\x1b[31m'", "'a\\x1b[31m.html'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small), cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_words_for_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
