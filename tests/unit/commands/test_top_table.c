// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_top_table.c - which columns `tachbpf top` shows at which width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "commands/top_table.h"

static struct top_cells cells(const char *program, const char *where, bool placed,
			      const char *hottest)
{
	const char *const texts[TOP_CELLS] = {
		"31933", "198.3", "99.1", "0.0", "", "512M", "-", "2", "0", "3.11.7", program,
		where, hottest,
	};
	struct top_cells made = { .placed = placed };
	int i;

	for (i = 0; i < TOP_CELLS; i++)
		made.text[i] = strdup(texts[i]);
	return made;
}

/* The rows of a host with or without a container. */
static void make_rows(struct top_cells rows[2], bool placed)
{
	rows[0] = cells("gunicorn: worker [shop:app]", placed ? "checkout" : "root", placed,
			"shop.py:6 price, 95 %");
	rows[1] = cells("celery -A proj worker --loglevel=ERROR --concurrency 16", "root", false,
			"proj.py:11 crunch, 100 %");
}

static enum top_sort sort;

static char *line_at(struct top_cells rows[2], size_t columns, int which)
{
	struct top_layout layout;
	char *line;

	top_layout_make(&layout, rows, 2, columns, sort);
	line = top_layout_line(&layout, which < 0 ? NULL : &rows[which]);
	assert_non_null(line);
	return line;
}

static void assert_shown(struct top_cells rows[2], size_t columns, int which, const char *text)
{
	char *line = line_at(rows, columns, which);

	assert_true(text_widest(0, line) <= columns || !columns);
	if (!strstr(line, text))
		fail_msg("at %zu columns '%s' is not in: %s", columns, text, line);
	free(line);
}

static void free_rows(struct top_cells rows[2])
{
	top_cells_free(&rows[0]);
	top_cells_free(&rows[1]);
}

static void test_the_program_at_each_width(void **state)
{
	static const size_t widths[] = { 0, 40, 60, 80, 120, 200 };
	struct top_cells rows[2];
	size_t i;

	make_rows(rows, false);
	for (i = 0; i < 6; i++) {
		assert_shown(rows, widths[i], 0, widths[i] == 40 ? "gunicorn: worker [shop:a" :
							      "gunicorn: worker [shop:app]");
		assert_shown(rows, widths[i], 1, "celery -A proj worker");
		assert_shown(rows, widths[i], 0, "198.3");
		assert_shown(rows, widths[i], -1, "cpu %");
		if (widths[i] != 40)
			assert_shown(rows, widths[i], 0, "shop.py:6 pri");
	}
	assert_shown(rows, 80, 0, "shop.py:6 price, 95 %");
	assert_shown(rows, 80, 0, "512M");
	assert_shown(rows, 120, 0, "99.1");
	assert_shown(rows, 120, -1, "rss/min");
	assert_shown(rows, 120, -1, "threads");
	assert_shown(rows, 0, 1, "--loglevel=ERROR --concurrency 16  root");
	assert_shown(rows, 0, -1, "hottest line, % of process");
	free_rows(rows);
}

/* Only with --async; it stays longer than most numbers. */
static void test_the_lag_of_event_loops(void **state)
{
	struct top_cells rows[2];
	char *line;

	make_rows(rows, false);
	line = line_at(rows, 0, -1);
	assert_null(strstr(line, "loop lag"));
	free(line);
	free(rows[1].text[TOP_LAG]);
	rows[1].text[TOP_LAG] = strdup("0.84 s");
	assert_shown(rows, 80, -1, "loop lag");
	assert_shown(rows, 80, 1, "0.84 s");
	assert_shown(rows, 80, 1, "512M");
	assert_shown(rows, 0, 1, "0.84 s");
	free_rows(rows);
}

static void test_the_container_at_each_width(void **state)
{
	static const size_t widths[] = { 0, 40, 60, 80, 120, 200 };
	struct top_cells rows[2];
	size_t i;

	make_rows(rows, true);
	for (i = 0; i < 6; i++) {
		assert_shown(rows, widths[i], 0, "checkout");
		assert_shown(rows, widths[i], 0, "gunicorn: wo");
		if (widths[i] != 40)
			assert_shown(rows, widths[i], 0, "shop.py:6 pri");
	}
	assert_shown(rows, 80, 0, "512M");
	assert_shown(rows, 120, 0, "99.1");
	free_rows(rows);
}

/* Any size, also those that no terminal has. */
static void test_no_line_is_too_long(void **state)
{
	struct top_cells rows[2];
	size_t columns;
	int placed, i;

	for (placed = 0; placed < 2; placed++) {
		make_rows(rows, placed);
		for (sort = 0; sort < TOP_SORTS; sort++) {
			for (columns = 20; columns < 300; columns++)
				for (i = -1; i < 2; i++)
					assert_shown(rows, columns, i, "");
			for (columns = 1; columns < 20; columns++)
				free(line_at(rows, columns, 0));
		}
		free_rows(rows);
	}
	sort = TOP_SORT_CPU;
}

/* What rows are sorted by is shown, too, if another column has to go. */
static void test_the_column_of_the_sort_order(void **state)
{
	static const char *const headings[TOP_SORTS] = {
		"cpu %", "gil %", "gc %", "rss", "rss/min", "threads", "lost", "pid",
	};
	static const size_t widths[] = { 60, 80, 120 };
	struct top_cells rows[2];
	int placed;
	size_t i;

	for (placed = 0; placed < 2; placed++) {
		make_rows(rows, placed);
		for (sort = 0; sort < TOP_SORTS; sort++)
			for (i = 0; i < 3; i++)
				assert_shown(rows, widths[i], -1, headings[sort]);
		free_rows(rows);
	}
	sort = TOP_SORT_CPU;
}

/* Growth is marked where its column has no room. */
static void test_growth(void **state)
{
	struct top_cells rows[2];
	char *line;

	make_rows(rows, false);
	assert_shown(rows, 80, 1, " 512M  celery");
	free(rows[1].text[TOP_GROWTH]);
	rows[1].text[TOP_GROWTH] = strdup("+9.5M");
	assert_shown(rows, 80, 1, " 512M↑  celery");
	assert_shown(rows, 80, 0, " 512M  gunicorn");
	assert_shown(rows, 120, 1, " 512M    +9.5M");
	assert_shown(rows, 0, 1, " 512M    +9.5M");
	free(rows[1].text[TOP_GROWTH]);
	rows[1].text[TOP_GROWTH] = strdup("-9.5M");
	assert_shown(rows, 80, 1, " 512M  celery");
	line = line_at(rows, 60, 1);
	assert_null(strstr(line, "512M"));
	free(line);
	free_rows(rows);
}

static void test_bytes(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{ 0, "0K" }, { 4096, "4K" }, { 999 * 1024, "999K" }, { 999.6 * 1024, "1.0M" },
		{ 1048576, "1.0M" }, { 9.94 * 1048576, "9.9M" }, { 9.96 * 1048576, "10M" },
		{ 999.4 * 1048576, "999M" }, { 1073741824.0, "1.0G" }, { 0x1p44, "16T" },
		{ 0x1p60, "1024P" },
	};
	char out[16];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(top_bytes(cases[i].bytes, out), cases[i].text);
}

/* Losses have their column as soon as there are any. */
static void test_losses(void **state)
{
	struct top_cells rows[2];

	make_rows(rows, false);
	free(rows[1].text[TOP_LOST]);
	rows[1].text[TOP_LOST] = strdup("777");
	assert_shown(rows, 120, 1, "777");
	assert_shown(rows, 0, 1, "777");
	free_rows(rows);
}

static void test_parts_that_fit(void **state)
{
	static const struct top_part parts[] = {
		{ "", "Enter open", 2 }, { "  ", "s sort", 3 }, { "  ", "? help", 1 },
		{ "  ", "q quit", 0 },
	};
	char out[64];

	top_fit(out, sizeof(out), 80, parts, 4);
	assert_string_equal(out, "Enter open  s sort  ? help  q quit");
	top_fit(out, sizeof(out), 33, parts, 4);
	assert_string_equal(out, "Enter open  ? help  q quit");
	top_fit(out, sizeof(out), 20, parts, 4);
	assert_string_equal(out, "? help  q quit");
	top_fit(out, sizeof(out), 3, parts, 4);
	assert_string_equal(out, "q quit");
	top_fit(out, sizeof(out), 0, parts, 4);
	assert_string_equal(out, "Enter open  s sort  ? help  q quit");
	top_fit(out, 5, 80, parts, 4);
	assert_string_equal(out, "Ente");
}

/* Several CPUs are more than 100 %; a few samples too many of one busy thread are not. */
static void test_percent_of_one_cpu(void **state)
{
	const uint64_t s = 1000000000;

	assert_true(top_percent(s, 2 * s, 99) == 50);
	assert_true(top_percent(2 * s, 2 * s, 99) == 100);
	assert_true(top_percent(2 * s + s / 99, 2 * s, 99) == 100);
	assert_true(top_percent(4 * s, 2 * s, 99) == 200);
	assert_true(top_percent(3 * s, 2 * s, 99) == 150);
	assert_true(top_percent(0, 0, 99) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_program_at_each_width),
		cmocka_unit_test(test_the_lag_of_event_loops),
		cmocka_unit_test(test_the_container_at_each_width),
		cmocka_unit_test(test_no_line_is_too_long),
		cmocka_unit_test(test_the_column_of_the_sort_order),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_parts_that_fit),
		cmocka_unit_test(test_percent_of_one_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
