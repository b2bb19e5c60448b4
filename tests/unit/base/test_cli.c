// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cli.c - which name was meant by a word that is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cli.h"

static const char *const names[] = { "duration", "rate", "report", "replay", "record", "ps",
				     "no-sample-limit", "no-source", "all", NULL };

static const char *at(const void *ctx, size_t i)
{
	return ((const char *const *)ctx)[i];
}

static void assert_near(const char *word, const char *want)
{
	const char *got = cli_nearest(word, strlen(word), at, names);

	if (want)
		assert_string_equal(got ? got : "(none)", want);
	else
		assert_null(got);
}

static void test_one_mistake(void **state)
{
	assert_near("duratoin", "duration");	/* exchanged */
	assert_near("durration", "duration");	/* inserted */
	assert_near("dration", "duration");	/* left out */
	assert_near("durazion", "duration");	/* replaced */
	assert_near("rat", "rate");
	assert_near("reprot", "report");
	assert_near("sp", "ps");
	assert_near("duration", "duration");
}

static void test_as_many_as_the_word_bears(void **state)
{
	assert_near("no-smaple-limt", "no-sample-limit");
	assert_near("no_sample_limit", "no-sample-limit");
	assert_near("rrrr", NULL);
	assert_near("al", "all");
	assert_near("xy", NULL);
	assert_near("frobnicate", NULL);
}

static void test_the_beginning_of_a_name(void **state)
{
	assert_near("dur", "duration");
	assert_near("no-s", "no-sample-limit");
	assert_near("rep", "report");
	assert_near("du", NULL);
}

static void test_words_of_any_length(void **state)
{
	char word[4096];
	size_t len;

	memset(word, 'a', sizeof(word));
	for (len = 0; len <= sizeof(word); len += len < 64 ? 1 : 997)
		assert_true(len == 2 || len == 3 || len == 4 || !cli_nearest(word, len, at, names));
	assert_null(cli_nearest("", 0, at, names));
	assert_null(cli_nearest("a", 1, at, names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_mistake),
		cmocka_unit_test(test_as_many_as_the_word_bears),
		cmocka_unit_test(test_the_beginning_of_a_name),
		cmocka_unit_test(test_words_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
