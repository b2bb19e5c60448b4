// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_census_marks.c - which types of a census are written, and that none is lost. */
#include "formats/mlyze/mlyze_types.h"
#include "recording/census_marks.h"
#include "tests/unit/census_test.h"
#include "tests/unit/tach_test.h"

static struct heap_census census;
static struct census_marks marks;

/* What was written. */
struct written {
	struct mlyze_types types;
	int left;		/* marks until an error */
};

static int take(void *ctx, const struct mlyze_mark_text *t)
{
	struct written *w = ctx;
	struct mlyze_mark m;

	if (!w->left--)
		return -ENOSPC;
	mlyze_mark_parse(t->text, t->len, &m);
	assert_true(m.word == MARK_CENSUS || m.word == MARK_TYPE);
	return m.word == MARK_CENSUS ? mlyze_types_census(&w->types, &m, 1) :
				       mlyze_types_type(&w->types, &m);
}

static struct written put(void)
{
	struct written w = { .left = -1 };

	assert_int_equal(census_marks_put(&marks, &census, take, &w), 0);
	return w;
}

static const struct mlyze_census *only_census(const struct written *w)
{
	size_t cnt;
	const struct mlyze_census *c = mlyze_types_censuses(&w->types, &cnt);

	assert_int_equal(cnt, 1);
	return c;
}

static const struct mlyze_type_row *find(const struct written *w, const char *name)
{
	return census_find(&w->types, only_census(w), name);
}

/* All objects and bytes are in one of the rows. */
static void check_sums(const struct written *w)
{
	const struct mlyze_census *c = only_census(w);
	uint64_t objects = census.other.objects, bytes = census.other.bytes;
	uint32_t i;

	for (i = 0; i < census.row_cnt; i++) {
		objects += census.rows[i].objects;
		bytes += census.rows[i].bytes;
	}
	for (i = 0; i < c->cnt; i++) {
		objects -= mlyze_census_types(&w->types, c)[i].objects;
		bytes -= mlyze_census_types(&w->types, c)[i].bytes;
	}
	assert_int_equal(objects, 0);
	assert_int_equal(bytes, 0);
}

static void set_row(uint32_t i, const char *name, uint64_t objects, uint64_t bytes)
{
	census.rows[i] = (struct heap_row){ .objects = objects, .objects_error = 1, .bytes = bytes,
					    .bytes_error = 2 };
	snprintf(census.rows[i].name, sizeof(census.rows[i].name), "%s", name);
}

/* T0 has most bytes; the others less and less. */
static void fill(uint32_t cnt)
{
	char name[32];
	uint32_t i;

	memset(&census, 0, sizeof(census));
	census.took_ns = 7000;
	census.rss = 1 << 20;
	census.pool_bytes = 1 << 19;
	census.limited = true;
	census.row_cnt = cnt;
	census.other = (struct heap_row){ .objects = 3, .bytes = 48 };
	for (i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "T%u", i);
		set_row(i, name, 10, 1000 + 1000ull * (cnt - i));
	}
}

static int teardown(void **state)
{
	(void)state;
	census_marks_free(&marks);
	return 0;
}

static void test_first(void **state)
{
	struct written w;

	(void)state;
	fill(3);
	w = put();
	assert_int_equal(only_census(&w)->cnt, 4);
	assert_true(only_census(&w)->took_us == 7 && only_census(&w)->rss_anon == 1 << 20 &&
		    only_census(&w)->pool_bytes == 1 << 19 && only_census(&w)->limited);
	assert_true(find(&w, "T1")->bytes_error == 2 && find(&w, "T1")->objects_error == 1);
	assert_int_equal(find(&w, "")->objects, 3);
	check_sums(&w);
	mlyze_types_free(&w.types);
}

/* A class that the first census has among its last types is among the 40 of a later one. */
static void test_later(void **state)
{
	struct written w;
	uint32_t i;

	(void)state;
	fill(400);
	set_row(200, "app.Session", 8, 900);
	set_row(201, "app.Gone", 800, 90000);
	w = put();
	assert_int_equal(only_census(&w)->cnt, CENSUS_FIRST_TYPES + 1);
	assert_non_null(find(&w, "app.Session"));
	check_sums(&w);
	mlyze_types_free(&w.types);

	fill(400);
	set_row(200, "app.Session", 508, 1500);	/* less than others have changed by */
	set_row(201, "app.Gone", 0, 0);
	for (i = 100; i < 140; i++)
		census.rows[i].bytes += 100000;
	set_row(399, "app.New", 1, 1 << 30);
	w = put();
	assert_true(only_census(&w)->cnt <= CENSUS_LARGE_TYPES + CENSUS_CHANGED_TYPES +
					    CENSUS_CHANGED_OWN + 1);
	assert_int_equal(find(&w, "app.Session")->objects, 508);
	assert_non_null(find(&w, "app.Gone"));
	assert_non_null(find(&w, "app.New"));
	assert_non_null(find(&w, "T0"));
	assert_non_null(find(&w, "T100"));
	assert_null(find(&w, "T300"));
	check_sums(&w);
	mlyze_types_free(&w.types);
}

static void test_hostile(void **state)
{
	struct written w;
	uint32_t i;

	(void)state;
	fill(0);
	census.row_cnt = UINT32_MAX;
	for (i = 0; i < HEAP_TYPES_MAX; i++)
		set_row(i, "x\xff y%=\n", UINT64_MAX, UINT64_MAX);
	w = put();
	assert_int_equal(find(&w, "x\xff y%=\n")->bytes, INT64_MAX);
	assert_int_equal(find(&w, "")->objects, INT64_MAX);
	mlyze_types_free(&w.types);
	census.row_cnt = 0;
	w = put();
	assert_int_equal(only_census(&w)->cnt, 1);
	mlyze_types_free(&w.types);
	w = (struct written){ .left = 0 };
	assert_int_equal(census_marks_put(&marks, &census, take, &w), -ENOSPC);
	mlyze_types_free(&w.types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_first, teardown),
		cmocka_unit_test_teardown(test_later, teardown),
		cmocka_unit_test_teardown(test_hostile, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
