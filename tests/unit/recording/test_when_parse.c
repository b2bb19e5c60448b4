// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_when_parse.c - the grammar of --when, and where its errors point to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recording/when.h"

static void good(const char *text, enum when_metric metric, double over, uint32_t seconds)
{
	const char *why = NULL;
	struct when w;
	size_t at;

	assert_int_equal(when_parse(text, &w, &at, &why), 0);
	assert_int_equal(at, strlen(text));
	assert_int_equal(w.metric, metric);
	assert_true(w.over == over);
	assert_int_equal(w.seconds, seconds);
	assert_ptr_equal(w.text, text);
}

static void test_good(void **state)
{
	good("cpu>90% for 5s", WHEN_CPU, 90, 5);
	good("cpu > 150%", WHEN_CPU, 150, 1);
	good("  cpu>90  for  5  ", WHEN_CPU, 90, 5);
	good("gil>80%", WHEN_GIL, 80, 1);
	good("gc>20% for 1m", WHEN_GC, 20, 60);
	good("threads>200 for 1h", WHEN_THREADS, 200, 3600);
	good("rss>1.5G for 1.2s", WHEN_RSS, 1.5 * (1 << 30), 2);
	good("rss>512MiB", WHEN_RSS, 512.0 * (1 << 20), 1);
}

/* rest: what of text is wrong. */
static void bad(const char *text, const char *rest, const char *word)
{
	const char *why = NULL;
	struct when w;
	size_t at;

	assert_int_equal(when_parse(text, &w, &at, &why), -EINVAL);
	assert_in_range(at, 0, strlen(text));
	assert_string_equal(text + at, rest);
	assert_non_null(why);
	assert_non_null(strstr(why, word));
}

static void test_bad(void **state)
{
	bad("", "", "cpu, gil, gc, threads or rss");
	bad("load>3", "load>3", "cpu, gil");
	bad("cpux>3", "cpux>3", "cpu, gil");
	bad("CPU>3", "CPU>3", "cpu, gil");
	bad("cpu", "", "expected >");
	bad("cpu=90%", "=90%", "expected >");
	bad("cpu>=90%", ">=90%", "expected >");
	bad("cpu<90%", "<90%", "expected >");
	bad("cpu>", "", "percent of one CPU");
	bad("cpu>x% for 5s", "x% for 5s", "percent of one CPU");
	bad("cpu>-1%", "-1%", "percent");
	bad("cpu>inf", "inf", "percent");
	bad("cpu>1e9", "1e9", "percent");
	bad("cpu>1000000%", "1000000%", "percent");
	bad("gil>100%", "100%", "less than 100");
	bad("gil>80G", "80G", "less than 100");
	bad("threads>5%", "5%", "number of threads");
	bad("threads>20000000", "20000000", "number of threads");
	bad("rss>500", "500", "with a unit");
	bad("rss>1T", "1T", "with a unit");
	bad("cpu>90% 5s", "5s", "for DURATION");
	bad("cpu>90% fort 5s", "fort 5s", "for DURATION");
	bad("cpu>90% for", "", "1s to 1h");
	bad("cpu>90% for 0.5s", "0.5s", "1s to 1h");
	bad("cpu>90% for 61m", "61m", "1s to 1h");
	bad("cpu>90% for ever", "ever", "1s to 1h");
	bad("cpu>90% for 5s more", "more", "unexpected text");
	bad("cpu>00000000000000000000000000000000000000000000000000000000000",
	    "00000000000000000000000000000000000000000000000000000000000", "percent");
}

static void test_names(void **state)
{
	assert_string_equal(when_metric_name(WHEN_CPU), "cpu");
	assert_string_equal(when_metric_name(WHEN_RSS), "rss");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
