// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_type_growth.c - which types grew between two censuses, and what is said first. */
#include "formats/mlyze/type_growth.h"
#include "tests/unit/tach_test.h"

#define ROWS(...) ((const struct mlyze_type_row[]){ __VA_ARGS__ })

static struct mlyze_notes notes;
static struct type_growths growths;

/* Rows, of which the last one has no name. */
static void add_census(uint64_t time_us, const struct mlyze_type_row *rows)
{
	struct mlyze_types *t = &notes.types;
	struct mlyze_census c = {
		.time_us = time_us,
		.first = (uint32_t)(t->rows.len / sizeof(struct mlyze_type_row)),
	};

	do {
		assert_int_equal(buf_add(&t->rows, &rows[c.cnt], sizeof(*rows)), 0);
	} while (rows[c.cnt++].name[0]);
	assert_int_equal(buf_add(&t->censuses, &c, sizeof(c)), 0);
}

static void read_growths(uint64_t from_us, uint64_t to_us)
{
	type_growths_free(&growths);
	assert_int_equal(type_growths_read(&notes, from_us, to_us, &growths), 0);
}

static const struct type_growth *growth_of(const char *name)
{
	size_t i;

	for (i = 0; i < growths.cnt; i++)
		if (!strcmp(growths.list[i].name, name))
			return &growths.list[i];
	fail_msg("no type %s", name);
	return NULL;
}

static void check_leaders(const char *own, const char *most)
{
	const struct type_growth *a, *b;

	type_growths_leaders(&growths, &a, &b);
	assert_string_equal(a ? a->name : "", own);
	assert_string_equal(b ? b->name : "", most);
}

static int teardown(void **state)
{
	(void)state;
	type_growths_free(&growths);
	mlyze_notes_free(&notes);
	return 0;
}

/* What leak.py does: most bytes are in bytearrays, and the class is what they belong to. */
static void test_a_leak(void **state)
{
	(void)state;
	add_census(1000000, ROWS({ "dict", 900, 0, 90000, 0 }, { "str", 5000, 10, 400000, 100 },
				 { "", 0, 0, 0, 0 }));
	add_census(3000000, ROWS({ "dict", 950, 0, 91000, 0 }, { "", 0, 0, 0, 0 }));
	add_census(7000000, ROWS({ "str", 30000, 10, 1900000, 100 },
				 { "bytearray", 500, 0, 10028500, 0 },
				 { "dict", 1000, 0, 92000, 0 },
				 { "__main__.Session", 500, 0, 52000, 0 }, { "", 0, 0, 0, 0 }));
	read_growths(0, UINT64_MAX);
	assert_int_equal(growths.cnt, 4);
	assert_true(type_growths_seconds(&growths) == 6);
	assert_string_equal(growths.list[0].name, "bytearray");
	assert_int_equal(growth_of("str")->more_objects, 25000);
	assert_int_equal(growth_of("str")->objects_error, 20);
	assert_int_equal(growth_of("str")->more_bytes, 1500000);
	assert_int_equal(growth_of("__main__.Session")->more_objects, 500);
	check_leaders("__main__.Session", "bytearray");

	read_growths(2000000, UINT64_MAX);	/* nothing is known of the others then */
	assert_int_equal(growth_of("dict")->more_objects, 50);
	read_growths(0, 3000000);
	assert_int_equal(growths.cnt, 1);
	check_leaders("", "dict");
	read_growths(3000000, UINT64_MAX - 1);
	assert_int_equal(growth_of("dict")->more_bytes, 1000);
	read_growths(3500000, UINT64_MAX);
	assert_null(growths.to);
	assert_true(type_growths_seconds(&growths) == 0);
	check_leaders("", "");
}

/* Growth below the error, or of a type that may have been there before, is no growth. */
static void test_errors(void **state)
{
	(void)state;
	add_census(1, ROWS({ "int", 100, 50, 2800, 1400 }, { "list", 10, 0, 800, 0 },
			   { "", 1000, 0, 99999, 0 }));
	add_census(2, ROWS({ "int", 150, 50, 4200, 1400 }, { "new", 40, 0, 600, 0 },
			   { "large", 10, 0, 5000, 0 }, { "list", 5, 0, 400, 0 },
			   { "", 0, 0, 0, 0 }));
	read_growths(0, 9);
	assert_false(type_has_grown(growth_of("int")));
	assert_int_equal(growth_of("int")->objects_error, 100);
	/* The first census names all with more than 800 bytes, so with more than 50 objects. */
	assert_int_equal(growth_of("new")->bytes_error, 800);
	assert_int_equal(growth_of("new")->objects_error, 50);
	assert_false(type_has_grown(growth_of("new")));
	assert_true(type_has_grown(growth_of("large")));
	assert_int_equal(growth_of("list")->more_bytes, -400);
	assert_false(type_has_grown(growth_of("list")));
	check_leaders("", "large");
}

/* Later censuses name what has changed: a type they leave out may have been anything before. */
static void test_unnamed_later(void **state)
{
	(void)state;
	add_census(1, ROWS({ "int", 1, 0, 28, 0 }, { "", 0, 0, 0, 0 }));
	add_census(2, ROWS({ "int", 1, 0, 28, 0 }, { "", 70, 0, 7000, 0 }));
	add_census(3, ROWS({ "app.C", 60, 0, 6000, 0 }, { "", 0, 0, 0, 0 }));
	read_growths(2, 9);
	assert_int_equal(growth_of("app.C")->bytes_error, 7000);
	assert_false(type_has_grown(growth_of("app.C")));
	read_growths(0, 9);
	assert_true(type_has_grown(growth_of("app.C")));
}

static void test_extremes(void **state)
{
	(void)state;
	add_census(1, ROWS({ "a", INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX },
			   { "b", 0, 0, 0, 0 }, { "a", 1, 0, 1, 0 }, { "", 0, 0, 0, 0 }));
	add_census(2, ROWS({ "a", 0, INT64_MAX, 0, INT64_MAX },
			   { "b", INT64_MAX, 0, INT64_MAX, 0 }, { "b.c", 1, 0, 1, 0 },
			   { "", 0, 0, 0, 0 }));
	read_growths(0, UINT64_MAX);
	assert_int_equal(growth_of("b")->more_bytes, INT64_MAX);
	assert_false(type_has_grown(growth_of("a")));
	check_leaders("", "b");	/* of b.c there is next to nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_leak, teardown),
		cmocka_unit_test_teardown(test_errors, teardown),
		cmocka_unit_test_teardown(test_unnamed_later, teardown),
		cmocka_unit_test_teardown(test_extremes, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
