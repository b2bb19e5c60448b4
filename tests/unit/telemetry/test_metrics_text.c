// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_metrics_text.c - metrics as text: both forms, labels that are hostile, bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "telemetry/metrics_text.h"

#define ROOM 65536

static struct metrics_text t;

static void has(const char *want)
{
	assert_int_equal(buf_add(&t.out, "", 1), 0);
	assert_string_equal((char *)t.out.data, want);
	metrics_text_free(&t);
}

static void write_some(void)
{
	static const struct metric_label two[] = { { "a", "1" }, { "b", "x" } };

	metrics_family(&t, "x_seconds", METRIC_COUNTER, "Time.");
	metrics_ns(&t, NULL, 0, 1500000000);
	metrics_ns(&t, two, 2, 3000000000);
	metrics_ns(&t, two + 1, 1, UINT64_MAX);
	metrics_family(&t, "nobody", METRIC_GAUGE, "Is not there.");
	metrics_family(&t, "y", METRIC_GAUGE, "A number.");
	metrics_real(&t, NULL, 0, 0.25);
	metrics_family(&t, "z", METRIC_INFO, "A fact.");
	metrics_count(&t, two, 1, 1);
	assert_int_equal(metrics_text_end(&t), 0);
	assert_int_equal(t.left_out, 0);
}

static void test_prometheus(void **state)
{
	metrics_text_begin(&t, METRICS_PROMETHEUS, ROOM);
	write_some();
	has("# HELP x_seconds_total Time.\n# TYPE x_seconds_total counter\nx_seconds_total 1.5\n"
	    "x_seconds_total{a=\"1\",b=\"x\"} 3\nx_seconds_total{b=\"x\"} 18446744073.709551615\n"
	    "# HELP y A number.\n# TYPE y gauge\ny 0.25\n"
	    "# HELP z_info A fact.\n# TYPE z_info gauge\nz_info{a=\"1\"} 1\n");
}

static void test_openmetrics(void **state)
{
	metrics_text_begin(&t, METRICS_OPENMETRICS, ROOM);
	write_some();
	has("# HELP x_seconds Time.\n# TYPE x_seconds counter\nx_seconds_total 1.5\n"
	    "x_seconds_total{a=\"1\",b=\"x\"} 3\nx_seconds_total{b=\"x\"} 18446744073.709551615\n"
	    "# HELP y A number.\n# TYPE y gauge\ny 0.25\n"
	    "# HELP z A fact.\n# TYPE z info\nz_info{a=\"1\"} 1\n# EOF\n");
}

static void test_numbers(void **state)
{
	metrics_text_begin(&t, METRICS_PROMETHEUS, ROOM);
	metrics_family(&t, "x", METRIC_GAUGE, "H.");
	metrics_ns(&t, NULL, 0, 0);
	metrics_ns(&t, NULL, 0, 1);
	metrics_ns(&t, NULL, 0, 10000000000);
	metrics_count(&t, NULL, 0, UINT64_MAX);
	metrics_real(&t, NULL, 0, NAN);
	metrics_real(&t, NULL, 0, -INFINITY);
	metrics_real(&t, NULL, 0, 1e21);
	has("# HELP x H.\n# TYPE x gauge\nx 0\nx 0.000000001\nx 10\nx 18446744073709551615\n"
	    "x NaN\nx -Inf\nx 1e+21\n");
}

static void test_labels_are_escaped(void **state)
{
	const struct metric_label labels[] = {
		{ "a", "\\ \" \n \x1b[1m" }, { "b", NULL }, { "c", "\xff\xc3\xa4\xe2\x80\xae" },
		{ "d", "" },
	};

	metrics_text_begin(&t, METRICS_PROMETHEUS, ROOM);
	metrics_family(&t, "x", METRIC_GAUGE, "H.");
	metrics_count(&t, labels, 4, 1);
	has("# HELP x H.\n# TYPE x gauge\nx{a=\"\\\\ \\\" \xef\xbf\xbd \xef\xbf\xbd[1m\","
	    "c=\"\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\",d=\"\"} 1\n");
}

/* A long value is cut between two characters. */
static void test_labels_are_cut(void **state)
{
	char value[1000], clean[METRIC_LABEL_BYTES], again[METRIC_LABEL_BYTES];
	size_t i;

	for (i = 0; i + 2 < sizeof(value); i += 2)
		memcpy(value + i, "\xc3\xa4", 3);
	metrics_clean(value, clean);
	assert_int_equal(strlen(clean), METRIC_LABEL_BYTES - 2);
	metrics_clean(clean, again);
	assert_string_equal(clean, again);
	metrics_clean(value + 1, clean);
	assert_true(strlen(clean) < METRIC_LABEL_BYTES);
	metrics_clean(clean, again);
	assert_string_equal(clean, again);
}

static void test_no_family_twice(void **state)
{
	metrics_text_begin(&t, METRICS_PROMETHEUS, ROOM);
	metrics_family(&t, "x", METRIC_GAUGE, "H.");
	metrics_count(&t, NULL, 0, 1);
	metrics_family(&t, "x", METRIC_COUNTER, "H.");
	metrics_count(&t, NULL, 0, 2);
	assert_int_equal(metrics_text_end(&t), -EEXIST);
	assert_int_equal(t.left_out, 1);
	has("# HELP x H.\n# TYPE x gauge\nx 1\n");
}

static void test_too_many_families(void **state)
{
	static char names[METRICS_FAMILIES_MAX + 1][16];
	size_t i;

	metrics_text_begin(&t, METRICS_PROMETHEUS, ROOM);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(names[i], sizeof(names[i]), "x%zu", i);
		metrics_family(&t, names[i], METRIC_GAUGE, "H.");
		metrics_count(&t, NULL, 0, 1);
	}
	assert_int_equal(metrics_text_end(&t), -E2BIG);
	assert_int_equal(t.left_out, 1);
	metrics_text_free(&t);
}

/* Whatever the bound is, the text is whole lines, and no longer. */
static void test_the_text_is_bounded(void **state)
{
	struct metric_label label = { "a", "bcd" };
	size_t max, i, lines;

	for (max = 0; max < 400; max++) {
		metrics_text_begin(&t, METRICS_OPENMETRICS, max);
		metrics_family(&t, "x", METRIC_GAUGE, "H.");
		for (i = 0; i < 20; i++)
			metrics_count(&t, &label, 1, 1000000 + i);
		assert_int_equal(metrics_text_end(&t), 0);
		assert_true(t.out.len <= max || !strncmp((char *)t.out.data, "# EOF\n", t.out.len));
		assert_int_equal(buf_add(&t.out, "", 1), 0);
		assert_string_equal((char *)t.out.data + t.out.len - 7, "# EOF\n");
		for (i = lines = 0; i < t.out.len; i++)
			lines += t.out.data[i] == '\n';
		assert_int_equal(t.left_out, 20 - (lines > 3 ? lines - 3 : 0));
		metrics_text_free(&t);
	}
}

static void test_what_the_client_wants(void **state)
{
	assert_int_equal(metrics_form_of(NULL), METRICS_PROMETHEUS);
	assert_int_equal(metrics_form_of("*/*"), METRICS_PROMETHEUS);
	assert_int_equal(metrics_form_of("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
			 METRICS_PROMETHEUS);
	/* Prometheus 2.42 */
	assert_int_equal(metrics_form_of("application/openmetrics-text;version=1.0.0,"
					 "application/openmetrics-text;version=0.0.1;q=0.75,"
					 "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
			 METRICS_OPENMETRICS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prometheus),
		cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_labels_are_escaped),
		cmocka_unit_test(test_labels_are_cut),
		cmocka_unit_test(test_no_family_twice),
		cmocka_unit_test(test_too_many_families),
		cmocka_unit_test(test_the_text_is_bounded),
		cmocka_unit_test(test_what_the_client_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
