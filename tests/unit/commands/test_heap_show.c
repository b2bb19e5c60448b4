// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_show.c - what tachbpf heap prints of a census, of growth, and of several processes. */
#include "tests/unit/commands/heap_test.h"

static struct printed printed;

/* 41 MiB, as of cases/leak.py. */
static struct heap_census *leaky(unsigned int errors)
{
	struct heap_census *c = make_census(41 * MIB);

	add_row(c, "bytearray", 500, 20 * MIB, errors);
	add_row(c, "str", 60000, 4 * MIB, errors);
	add_row(c, "dict", 3000, 2 * MIB, errors);
	add_row(c, "collections.OrderedDict", 10, MIB, errors);
	add_row(c, "__main__.Session", 500, 62 << 10, errors);
	add_row(c, "_frozen_importlib.ModuleSpec", 40, 1920, errors);
	c->untyped_blocks = 1000;
	c->untyped_bytes = MIB;
	c->free_bytes = 2 * MIB;
	return c;
}

static const char *census_text(const struct heap_census *c, size_t width, uint32_t limit,
			       enum heap_sort sort)
{
	struct heap_screen s = { .width = width, .limit = limit, .sort = sort, .next = true };
	struct heap_shown p = make_shown(c);

	print_begin(&printed);
	s.out = printed.out;
	assert_int_equal(heap_text_census(&s, &p), 0);
	return print_end(&printed);
}

static void test_exact(void **state)
{
	struct heap_census *c = leaky(0);
	const char *text = census_text(c, 80, 10, HEAP_SORT_BYTES);

	assert_has(text, "Process 1234 (app.py, Python 3.11.2) holds 41.0 MiB; Python objects "
		   "explain 27.1\nMiB (66 %).\n");
	assert_has(text, "Largest type that is not Python's own: __main__.Session, 500 objects, "
		   "62.0 KiB.\n");
	assert_has(text, "\nBesides: 1.0 MiB in blocks of no type, 2.0 MiB free, 10.9 MiB "
		   "elsewhere.\n");
	assert_has(text, "\n     objects       bytes   % RSS  type\n");
	assert_has(text, "\n         500    20.0 MiB    48.8  bytearray\n"
			 "      60,000     4.0 MiB     9.8  str\n");
	assert_has(text, "All 2,500 pools were read, in 0.12 s.\n");
	assert_has(text, "\nNext: sudo tachbpf heap 1234 --why __main__.Session   # who keeps them"
			 "\n      sudo tachbpf heap 1234 --since 30s   # which types grow\n");
	assert_has_not(text, "Left out");
	assert_has_not(text, "±");
	assert_has_not(text, "Largest objects");
	assert_has_not(text, "more;");
	assert_fits(text, 80, 25);
	free(c);
}

static void test_sample(void **state)
{
	struct heap_census *c = leaky(2);
	const char *text;

	c->pools_read = 400;
	c->bad_pools = 3;
	c->bad_types = 1;
	text = census_text(c, 80, 2, HEAP_SORT_BYTES);
	assert_has(text, "         500    20.0 MiB    48.8   ±2.0 %  bytearray\n");
	assert_has(text, "... and 4 more; --limit 0 shows all\n");
	assert_has(text, "A sample: 400 of 2,500 pools were read in 0.12 s (--exact: all).");
	assert_has(census_text(c, 0, 2, HEAP_SORT_BYTES), "missing. Left out: 3 pools that did not "
		   "fit together, 1 block without a valid type.\n");
	c->pool_bytes = 40 * MIB;
	assert_has(census_text(c, 0, 0, HEAP_SORT_BYTES), "a type of less than 307.2 KiB may be "
		   "missing.");
	c->limited = false;
	c->pools_read = 2497;
	assert_has(census_text(c, 0, 0, HEAP_SORT_BYTES), "A sample: all 2,500 pools, and a part "
		   "of the C library's memory, were read in 0.12 s");
	/* Found once by chance: it may as well be none, or twice as many. */
	c->rows[1].bytes_error = 5 * c->rows[1].bytes;
	assert_has(census_text(c, 80, 0, HEAP_SORT_BYTES), " >100 %  str\n");
	free(c);
}

static void test_pages(void **state)
{
	struct heap_census *c = leaky(0);

	c->pages = true;
	assert_has(census_text(c, 0, 2, HEAP_SORT_BYTES),
		   "All 2,500 mimalloc pages were read, in 0.12 s.\n");
	c->bad_pools = 1;
	c->unread = 2;
	c->pools_read = 400;
	assert_has(census_text(c, 0, 2, HEAP_SORT_BYTES),
		   "A sample: 400 of 2,500 mimalloc pages were read in 0.12 s (--exact: all).");
	assert_has(census_text(c, 0, 2, HEAP_SORT_BYTES), "Left out: 1 page that did not fit "
		   "together, 2 pages that could not be read.\n");
	assert_has_not(census_text(c, 0, 2, HEAP_SORT_BYTES), "pool");
	/* Other memory is not looked at. */
	c->pools_read = 2497;
	c->limited = true;
	assert_has_not(census_text(c, 0, 2, HEAP_SORT_BYTES), "C library");
	free(c);
}

static void test_order(void **state)
{
	struct heap_census *c = leaky(0);
	const char *text = census_text(c, 80, 0, HEAP_SORT_OBJECTS);

	assert_true(strstr(text, " str\n") < strstr(text, " dict\n"));
	assert_true(strstr(text, " dict\n") < strstr(text, " bytearray\n"));
	free(c);
}

static void test_large_objects(void **state)
{
	struct heap_census *c = leaky(0);
	const char *text;
	size_t i;

	for (i = 0; i < 5; i++)
		c->largest[i] = (struct heap_large){ .bytes = (8 - i) * MIB, .type = "dict",
						     .what = "12,000 items",
						     .where = "in app.CACHE" };
	c->largest[2] = (struct heap_large){ .bytes = 100, .type = "bytes" };
	c->large_cnt = 5;
	text = census_text(c, 80, 3, HEAP_SORT_BYTES);
	assert_has(text, "Largest objects:\n  8.0 MiB: dict, 12,000 items, in app.CACHE\n"
			 "  7.0 MiB: dict, 12,000 items, in app.CACHE\n");
	assert_has_not(text, "100 B");
	assert_has_not(text, "6.0 MiB");
	assert_fits(text, 80, 25);
	free(c);
}

/* Its own types are all of a longer name than the screen; nothing reaches the terminal as it is. */
static void test_hostile_names(void **state)
{
	struct heap_census *c = make_census(MIB);
	char name[HEAP_NAME_BYTES];
	const char *text;

	memset(name, 'x', sizeof(name));
	memcpy(name, "app.", 4);
	name[sizeof(name) - 1] = '\0';
	add_row(c, "evil.\x1b[31m\n\r\u202e", 1, MIB, 0);
	add_row(c, name, UINT64_MAX, UINT64_MAX, 0);
	add_row(c, "", 0, 0, 0);
	memset(&c->rows[3], 0xff, sizeof(c->rows[3]));
	c->row_cnt = 4;
	text = census_text(c, 80, 0, HEAP_SORT_OBJECTS);
	assert_has_not(text, "\x1b");
	assert_has_not(text, "\r");
	assert_has_not(text, "\u202e");
	assert_has(text, "evil.\\x1b[31m\\x0a\\x0d");
	assert_has(text, "That is more than is resident");
	/* It is no word for a shell. */
	assert_has(text, "heap 1234 --why TYPE ");
	assert_fits(text, 80, 25);
	free(c);
}

static void test_nothing_found(void **state)
{
	struct heap_census *c = make_census(0);
	const char *text = census_text(c, 80, 10, HEAP_SORT_BYTES);

	assert_has(text, "holds 0 B; Python objects explain 0 B (0");
	assert_has_not(text, "Python's own");
	free(c);
}

/* ---- growth ---- */

static const char *growth_text(const struct heap_growth *list, size_t cnt, size_t width)
{
	struct heap_census *before = make_census(20 * MIB), *after = leaky(0);
	struct heap_screen s = { .width = width, .limit = 10, .next = true };
	struct heap_shown p = make_shown(after);

	after->time_ns = before->time_ns + 30 * NS_PER_S;
	p.before = before;
	p.growth = list;
	p.growth_cnt = cnt;
	print_begin(&printed);
	s.out = printed.out;
	assert_int_equal(heap_text_growth(&s, &p), 0);
	free(before);
	free(after);
	return print_end(&printed);
}

static void test_the_own_type_leads(void **state)
{
	const struct heap_growth list[] = {
		make_growth("bytearray", 60, 1200000, 0, 0),
		make_growth("str", 3000, 150000, 0, 0),
		make_growth("__main__.Session", 60, 7200, 0, 0),
		make_growth("dict", 3, 400, 2, 4000),
		make_growth("int", 3, 84, 5, 100),
		make_growth("list", -20, -4096, 5, 100),
	};
	static const char first[] =
		"__main__.Session grew by 120 objects a minute (14.1 KiB), and bytearray by 2.3\n"
		"MiB a minute.\n";
	const char *text = growth_text(list, 6, 80);

	assert_int_equal(strncmp(text, first, strlen(first)), 0);
	assert_has(text, ") holds 41.0 MiB, +42.0 MiB a minute;");
	assert_has(text, "\n        +120    +2.3 MiB                       0  bytearray\n");
	assert_has(text, "        +120   +14.1 KiB");
	assert_has(text, "          +6      +800 B   ±7.8 KiB            0  dict\n");
	assert_has_not(text, "  int\n");
	assert_has_not(text, "  list\n");
	assert_has(text, "1 type has less now: -4.0 KiB in total.\n");
	assert_has(text, "1 type changed by less than the error of the sample, and is not "
			 "shown.\n");
	assert_fits(text, 80, 25);
}

/* A class that happens to have a few more does not stand for all that grows. */
static void test_others_lead(void **state)
{
	struct heap_growth list[] = {
		make_growth("str", 60000, 6 << 20, 100, 1000),
		make_growth("app.Rare", 1, 56, 0, 0),
	};

	assert_has(growth_text(list, 2, 0), "str grew by 120,000 objects a minute (12.0 MiB).\n");
	assert_has(growth_text(list, 2, 0), "objects now  bytes now  type\n");
	assert_has(growth_text(list + 1, 1, 0), "app.Rare grew by 2 objects a minute (112 B).\n");
	/* The same objects have become larger. */
	list[1] = make_growth("app.Rare", 0, 56, 0, 0);
	assert_has(growth_text(list + 1, 1, 0), "app.Rare grew by 112 B a minute.\n");
}

static void test_below_the_error(void **state)
{
	const struct heap_growth list[] = { make_growth("app.Maybe", 90, 9000, 100, 10000) };
	const char *text = growth_text(list, 1, 80);

	assert_has(text, "No type grew by more than the error of the sample.\n");
	assert_has_not(text, "app.Maybe");
	assert_has_not(text, "objects/min");
	assert_has(growth_text(NULL, 0, 80), "No type grew");
}

/* One of each for a request: the script's own type is more interesting than a package's. */
static void test_alike(void **state)
{
	struct heap_growth list[] = {
		make_growth("django.urls.resolvers.ResolverMatch", 1030, 103000, 0, 0),
		make_growth("__main__.Cart", 1000, 100000, 0, 0),
		make_growth("werkzeug.Headers", 1010, 100000, 0, 0),
	};
	const char *text = growth_text(list, 3, 80);

	assert_has(text, "__main__.Cart grew by 2,000 objects a minute (195.3 KiB), and");
	assert_has(text, "     0        0 B  ….urls.resolvers.ResolverMatch\n");
	list[1].objects = 300;
	text = growth_text(list, 3, 80);
	assert_has(text, "django.urls.resolvers.ResolverMatch grew by 2,060 objects");
	assert_has(text, "heap 1234 --why ResolverMatch   # who keeps them\n");
	assert_fits(text, 80, 25);
	assert_has(growth_text(list, 3, 0), "--why django.urls.resolvers.ResolverMatch   #");
}

/* Numbers that no process has, but a census of a hostile one may. */
static void test_growth_without_bounds(void **state)
{
	const struct heap_growth list[] = {
		make_growth("a.A", INT64_MAX, INT64_MAX, 0, 0),
		make_growth("a.B", INT64_MIN, INT64_MIN, 0, UINT64_MAX),
		make_growth("a.C", INT64_MIN, INT64_MIN, UINT64_MAX, 0),
		make_growth("a.D", -1, INT64_MIN, 1, 0),
	};

	assert_has(growth_text(list, 4, 80), "a.A grew by ");
	assert_has(growth_text(list, 4, 80), "3 types have less now");
}

/* ---- several processes ---- */

static void test_lines(void **state)
{
	struct heap_census *small = make_census(MIB), *big = leaky(0);
	struct heap_lines l = { .list = NULL };
	struct heap_screen s = { .width = 80, .next = true };
	struct heap_shown p = make_shown(small);
	const char *text;

	assert_int_equal(heap_lines_add(&l, &p), 0);
	p = make_shown(big);
	p.pid = 99;
	p.program = "gunicorn: worker [a very long name of an application:app]";
	assert_int_equal(heap_lines_add(&l, &p), 0);
	print_begin(&printed);
	s.out = printed.out;
	heap_lines_print(&s, &l);
	text = print_end(&printed);
	assert_has(text, "     pid      memory  program");
	assert_has(text, "      99    41.0 MiB  gunicorn: worker");
	assert_has(text, "bytearray 20.0 MiB, str 4.0 Mi");
	assert_true(strstr(text, "      99 ") < strstr(text, "    1234 "));
	assert_has(text, "heap PID");
	assert_fits(text, 80, 5);
	heap_lines_free(&l);
	free(small);
	free(big);
}

static void test_lines_of_growth(void **state)
{
	const struct heap_growth grown[] = {
		make_growth("bytearray", 60, 1200000, 0, 0),
		make_growth("app.Session", 60, 7200, 0, 0),
		make_growth("int", 3, 84, 5, 100),
	};
	struct heap_census *before = make_census(20 * MIB), *after = leaky(0);
	struct heap_lines l = { .list = NULL };
	struct heap_screen s = { .width = 100 };
	struct heap_shown p = make_shown(after);
	const char *text;

	after->time_ns = before->time_ns + 30 * NS_PER_S;
	p.before = before;
	p.growth = grown;
	p.growth_cnt = 3;
	assert_int_equal(heap_lines_add(&l, &p), 0);
	p.pid = 7;
	p.census = before;	/* no time has passed, and nothing has grown */
	p.growth_cnt = 0;
	assert_int_equal(heap_lines_add(&l, &p), 0);
	print_begin(&printed);
	s.out = printed.out;
	heap_lines_print(&s, &l);
	text = print_end(&printed);
	assert_has(text, "    1234    41.0 MiB    +42.0 MiB  app.py   bytearray +2.3 MiB, "
			 "app.Session +14.1 KiB\n");
	assert_has(text, "       7    20.0 MiB          0 B  app.py   nothing");
	heap_lines_free(&l);
	free(before);
	free(after);
}

static void test_numbers(void **state)
{
	static const struct {
		int64_t n;
		const char *count, *more;
	} all[] = {
		{ 0, "0", "0" }, { 7, "7", "+7" }, { 999, "999", "+999" },
		{ 1000, "1,000", "+1,000" }, { -1234567, "-1,234,567", "-1,234,567" },
		{ INT64_MIN, "-9,223,372,036,854,775,808", "-9,223,372,036,854,775,808" },
	};
	char out[HEAP_COUNT_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		assert_string_equal(heap_count_text(all[i].n, out), all[i].count);
		assert_string_equal(heap_more_text(all[i].n, out), all[i].more);
	}
	assert_int_equal(heap_per_minute(60, 0.5), 120);
	assert_int_equal(heap_per_minute(-1, 3), 0);
	assert_true(heap_per_minute(INT64_MAX, 1e-9) > 0);
	assert_true(heap_per_minute(INT64_MIN, 1e-9) < 0);
}

static int end(void **state)
{
	free(printed.text);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact), cmocka_unit_test(test_sample),
		cmocka_unit_test(test_pages), cmocka_unit_test(test_order),
		cmocka_unit_test(test_large_objects),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_nothing_found),
		cmocka_unit_test(test_the_own_type_leads), cmocka_unit_test(test_others_lead),
		cmocka_unit_test(test_below_the_error),
		cmocka_unit_test(test_growth_without_bounds), cmocka_unit_test(test_alike),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_of_growth), cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
