// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_library_search.c - the paths at which a library is looked for, and their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "elf/library_search.h"

static char tried[4096];
static const char *there;	/* this path exists */

static int try_path(void *ctx, const char *path)
{
	size_t len = strlen(tried);

	assert_ptr_equal(ctx, tried);
	snprintf(tried + len, sizeof(tried) - len, "%s ", path);
	return there && !strcmp(path, there) ? 7 : -1;
}

static int search(const char *runpath, const char *path)
{
	tried[0] = '\0';
	return library_search(runpath, path, "libx.so", try_path, tried);
}

static void assert_begins(const char *text)
{
	char begin[256];

	snprintf(begin, sizeof(begin), "%.*s", (int)strlen(text), tried);
	assert_string_equal(begin, text);
}

static void test_the_order(void **state)
{
	there = NULL;
	assert_true(search("/a:$ORIGIN/b:${ORIGIN}:/c", "/opt/bin/prog") < 0);
	assert_begins("/a/libx.so /opt/bin/b/libx.so /opt/bin/libx.so /c/libx.so "
		      "/opt/bin/../lib/libx.so ");
	assert_string_equal(tried + strlen(tried) - 14, " /lib/libx.so ");
}

static void test_it_ends_at_the_first(void **state)
{
	there = "/c/libx.so";
	assert_int_equal(search("/a:/c:/d", "/opt/bin/prog"), 7);
	assert_string_equal(tried, "/a/libx.so /c/libx.so ");
}

static void test_what_is_no_directory(void **state)
{
	char longer[PATH_MAX + 2] = "";

	there = NULL;
	search("::relative:$ORIGIN/x", "prog");
	assert_begins("/x/libx.so /../lib/libx.so ");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	search(longer, "/opt/bin/prog");
	assert_begins("/opt/bin/../lib/libx.so ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_order),
		cmocka_unit_test(test_it_ends_at_the_first),
		cmocka_unit_test(test_what_is_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
