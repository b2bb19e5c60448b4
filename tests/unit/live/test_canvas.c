// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_canvas.c - what is written to a terminal: only lines that have changed, cut to its width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "live/canvas.h"

static struct canvas *c;
static char drawn[4096];

/* Draw, and have what was written in drawn. */
static void draw(void)
{
	int ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(canvas_draw(c, ends[1]), 0);
	close(ends[1]);
	n = read(ends[0], drawn, sizeof(drawn) - 1);
	assert_true(n >= 0);
	drawn[n] = '\0';
	close(ends[0]);
}

static void begin(size_t rows, size_t columns)
{
	assert_int_equal(canvas_begin(c, rows, columns), 0);
}

static void test_only_changes(void **state)
{
	c = canvas_new();
	begin(2, 10);
	canvas_add(c, 0, CANVAS_PLAIN, "one");
	canvas_add(c, 1, CANVAS_BOLD, "two");
	draw();
	assert_string_equal(drawn,
			    "\033[H\033[2J\033[1;1Hone\033[K\033[2;1H\033[1mtwo\033[0m\033[K");
	begin(2, 10);
	canvas_add(c, 0, CANVAS_PLAIN, "one");
	canvas_add(c, 1, CANVAS_BOLD, "2");
	draw();
	assert_string_equal(drawn, "\033[2;1H\033[1m2\033[0m\033[K");
	begin(2, 10);
	canvas_add(c, 0, CANVAS_PLAIN, "one");
	canvas_add(c, 1, CANVAS_BOLD, "2");
	draw();
	assert_string_equal(drawn, "");
	begin(2, 10);
	canvas_add(c, 0, CANVAS_PLAIN, "one");
	draw();
	assert_string_equal(drawn, "\033[2;1H\033[K");
	canvas_free(c);
}

static void test_cut_to_the_width(void **state)
{
	c = canvas_new();
	begin(1, 4);
	canvas_add(c, 0, CANVAS_PLAIN, "é");
	canvas_add(c, 0, CANVAS_PLAIN, "bcdef");
	canvas_add(c, 0, CANVAS_PLAIN, "more");
	canvas_add(c, 7, CANVAS_PLAIN, "no such line");
	draw();
	/* Erasing the rest would take the d. */
	assert_string_equal(drawn, "\033[H\033[2J\033[1;1Hébcd");
	canvas_free(c);
}

static void test_fill(void **state)
{
	c = canvas_new();
	begin(1, 70);
	canvas_add(c, 0, CANVAS_REVERSE, "x");
	canvas_fill(c, 0, CANVAS_REVERSE);
	draw();
	assert_non_null(strstr(drawn, "\033[7m"));
	assert_int_equal(strspn(strstr(drawn, "m ") + 1, " "), 63);
	begin(1, 0);
	canvas_add(c, 0, CANVAS_PLAIN, "x");
	canvas_fill(c, 0, CANVAS_PLAIN);
	draw();
	assert_null(strchr(drawn, 'x'));
	canvas_free(c);
}

/* After another size all lines are drawn, and none of the old ones counts. */
static void test_another_size(void **state)
{
	c = canvas_new();
	begin(3, 10);
	canvas_add(c, 0, CANVAS_PLAIN, "one");
	draw();
	begin(2, 10);
	canvas_add(c, 0, CANVAS_PLAIN, "one");
	draw();
	assert_string_equal(drawn, "\033[H\033[2J\033[1;1Hone\033[K\033[2;1H\033[K");
	canvas_free(c);
	canvas_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_changes), cmocka_unit_test(test_cut_to_the_width),
		cmocka_unit_test(test_fill), cmocka_unit_test(test_another_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
