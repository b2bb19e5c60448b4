// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_mlyze_notes.c - what marks say is gathered; what is damaged, foreign or too much is not. */
#include "formats/mlyze/mlyze_notes.h"
#include "model/thread_names.h"
#include "tests/unit/census_test.h"
#include "tests/unit/mlyze_test.h"

struct read {
	struct mlyze_test m;
	struct mlyze_notes notes;
};

static struct read read_marks(const char *const *marks, size_t cnt, size_t times)
{
	struct read r = { .m = mlyze_test_new(100) };
	size_t i;

	for (i = 0; i < cnt * times; i++)
		mlyze_test_mark(&r.m, 100 + i, marks[i % cnt], strlen(marks[i % cnt]));
	mlyze_test_open(&r.m);
	assert_int_equal(mlyze_notes_read(r.m.file, &r.notes), 0);
	return r;
}

static void read_free(struct read *r)
{
	mlyze_notes_free(&r->notes);
	mlyze_test_free(&r->m);
}

static void test_all_marks(void **state)
{
	static const char *const marks[] = {
		"tachbpf recording mode=exact every=0 min=512 interval_us=1000000 version=1",
		"tachbpf process pid=12 comm=a%20b python=3.13.0 container=c command=x%20y",
		"tachbpf thread n=65535 tid=13 name=w", "tachbpf thread n=65536 tid=14 name=no",
		"tachbpf check rss_anon=10 swapped=2 held=3 unchecked=4",
		"tachbpf gc generation=1 runs=5 uncollectable=6 duration_us=7",
		"tachbpf gc generation=9 runs=1", "tachbpf lost cause=a_b cnt=3",
		"tachbpf lost cause=a_b cnt=4", "tachbpf lost cause=A cnt=4",
		"tachbpf end exited=1",
		"tachbpf fate stack=3 pages=4 own=1 reused=2 unused=18446744073709551615",
		"tachbpf fate stack=x",
	};
	struct read r = read_marks(marks, ARRAY_SIZE(marks), 1);
	const struct mlyze_notes *n = &r.notes;
	const struct mlyze_check *checks;
	const struct mlyze_fate *fates;
	size_t cnt;

	(void)state;
	assert_true(n->recorded && n->exact && n->ended && n->exited);
	assert_int_equal(n->min_bytes, 512);
	assert_int_equal(n->interval_us, 1000000);
	assert_int_equal(n->pid, 12);
	assert_string_equal(n->comm, "a b");
	assert_string_equal(n->command, "x y");
	assert_true(n->python_major == 3 && n->python_minor == 13 && !n->python_micro);
	assert_int_equal(mlyze_notes_tid(n, 65535), 13);
	assert_int_equal(mlyze_notes_tid(n, 5), 5);
	assert_string_equal(thread_names_find(n->names, 13), "w");
	assert_null(thread_names_find(n->names, 14));
	checks = mlyze_notes_checks(n, &cnt);
	assert_int_equal(cnt, 1);
	assert_true(checks->time_us == 104 && checks->rss_anon == 10 && checks->swapped == 2 &&
		    checks->held == 3 && checks->unchecked == 4);
	assert_true(n->runs[1] == 5 && n->runs[MLYZE_GENERATIONS - 1] == 1);
	assert_true(n->uncollectable == 6 && n->collecting_us == 7);
	assert_int_equal(n->loss_cnt, 1);
	assert_int_equal(n->losses[0].cnt, 7);
	fates = mlyze_notes_fates(n, &cnt);
	assert_int_equal(cnt, 2);
	assert_true(fates[0].stack == 3 && fates[0].pages == 4 && fates[0].own == 1 &&
		    fates[0].reused == 2 && fates[0].unused == INT64_MAX);
	assert_true(fates[1].stack == UINT64_MAX && !fates[1].own);
	assert_int_equal(n->end_us, 112);
	read_free(&r);
}

/* Without "tachbpf recording" nothing is ours. */
static void test_of_others(void **state)
{
	static const char *const marks[] = {
		"tachbpf process pid=12 comm=a", "tachbpf check held=3", "phase 2", "",
	};
	struct read r = read_marks(marks, ARRAY_SIZE(marks), 1);
	size_t cnt;

	(void)state;
	assert_false(r.notes.recorded);
	assert_int_equal(r.notes.pid, 0);
	mlyze_notes_checks(&r.notes, &cnt);
	assert_int_equal(cnt, 0);
	assert_int_equal(r.notes.end_us, 103);
	read_free(&r);
}

/* Of too many checks every second one is left out, and the last ones are there. */
static void test_many_checks(void **state)
{
	static const char *const marks[] = { "tachbpf recording mode=sampled",
					     "tachbpf check held=3" };
	struct read r = read_marks(marks, ARRAY_SIZE(marks), 3 * MLYZE_CHECKS_MAX / 2);
	const struct mlyze_check *checks;
	size_t cnt, i;

	(void)state;
	checks = mlyze_notes_checks(&r.notes, &cnt);
	assert_true(cnt <= MLYZE_CHECKS_MAX && cnt > MLYZE_CHECKS_MAX / 2);
	for (i = 1; i < cnt; i++)
		assert_true(checks[i].time_us > checks[i - 1].time_us);
	assert_int_equal(checks[cnt - 1].time_us, r.notes.end_us);
	read_free(&r);
}

/* ---- censuses ---- */

static const struct mlyze_type_row *type_of(const struct read *r, size_t census, const char *name)
{
	size_t cnt;
	const struct mlyze_census *c = mlyze_types_censuses(&r->notes.types, &cnt);

	assert_true(census < cnt);
	return census_find(&r->notes.types, &c[census], name);
}

static size_t census_cnt(const struct read *r)
{
	size_t cnt;

	mlyze_types_censuses(&r->notes.types, &cnt);
	return cnt;
}

static void test_censuses(void **state)
{
	static const char *const marks[] = {
		"tachbpf recording mode=sampled",
		"tachbpf census took_us=5 rss_anon=1000 pools=900 limited=1 types=3",
		"tachbpf type name=app.Session objects=7 objects_error=1 bytes=70 bytes_error=2",
		"tachbpf check held=3",
		"tachbpf type name=a%20b%FF objects=18446744073709551615 bytes=3",
		"tachbpf type objects=4 bytes=5",
		"tachbpf census types=1",
		"tachbpf type name=int objects=1 bytes=28",
	};
	struct read r = read_marks(marks, ARRAY_SIZE(marks), 1);
	const struct mlyze_type_row *row = type_of(&r, 0, "app.Session");
	const struct mlyze_census *c;
	size_t cnt;

	(void)state;
	c = mlyze_types_censuses(&r.notes.types, &cnt);
	assert_int_equal(cnt, 2);
	assert_true(c->time_us == 101 && c->took_us == 5 && c->rss_anon == 1000 &&
		    c->pool_bytes == 900 && c->limited && c->cnt == 3);
	assert_true(row->objects == 7 && row->objects_error == 1 && row->bytes == 70 &&
		    row->bytes_error == 2);
	assert_true(type_of(&r, 0, "a b\xff")->objects == INT64_MAX);
	assert_int_equal(type_of(&r, 0, "")->bytes, 5);
	assert_int_equal(type_of(&r, 1, "int")->bytes, 28);
	assert_null(type_of(&r, 1, "app.Session"));
	read_free(&r);
}

/* A census without all its types, or with too many, is none: the recording was cut, or it lies. */
static void test_incomplete_censuses(void **state)
{
	static const char *const marks[] = {
		"tachbpf type name=stray objects=1", "tachbpf recording mode=sampled",
		"tachbpf type name=stray objects=1",
		"tachbpf census types=0", "tachbpf type name=stray objects=1",
		"tachbpf census types=513", "tachbpf type name=stray objects=1",
		"tachbpf census types=99999999999999999999", "tachbpf type name=stray",
		"tachbpf census types=2", "tachbpf type name=first",
		"tachbpf census types=1", "tachbpf type name=whole",
		"tachbpf type name=stray objects=1",
		"tachbpf census types=2", "tachbpf type name=last",
	};
	struct read r = read_marks(marks, ARRAY_SIZE(marks), 1);

	(void)state;
	assert_int_equal(census_cnt(&r), 1);
	assert_non_null(type_of(&r, 0, "whole"));
	read_free(&r);
}

/* Writes as many censuses of `types` types as the file is to have. */
static struct read read_many_censuses(size_t cnt, size_t types)
{
	struct read r = { .m = mlyze_test_new(100) };
	char text[64];
	size_t i, k;

	mlyze_test_mark(&r.m, 100, "tachbpf recording", 17);
	for (i = 0; i < cnt; i++) {
		snprintf(text, sizeof(text), "tachbpf census types=%zu", types);
		mlyze_test_mark(&r.m, 200 + i, text, strlen(text));
		snprintf(text, sizeof(text), "tachbpf type name=T objects=%zu", i);
		for (k = 0; k < types; k++)
			mlyze_test_mark(&r.m, 200 + i, text, strlen(text));
	}
	mlyze_test_open(&r.m);
	assert_int_equal(mlyze_notes_read(r.m.file, &r.notes), 0);
	return r;
}

/* Of too many, every second one is left out; the first and the last are there, with their types. */
static void check_many(size_t made, size_t types, size_t cnt_max)
{
	struct read r = read_many_censuses(made, types);
	const struct mlyze_census *c;
	size_t cnt, i;

	c = mlyze_types_censuses(&r.notes.types, &cnt);
	assert_true(cnt <= cnt_max && cnt > cnt_max / 3);
	for (i = 0; i < cnt; i++) {
		assert_true(!i || c[i].time_us > c[i - 1].time_us);
		assert_int_equal(c[i].cnt, types);
		assert_int_equal(mlyze_census_types(&r.notes.types, &c[i])->objects,
				 c[i].time_us - 200);
	}
	assert_int_equal(c->time_us, 200);
	assert_int_equal(c[cnt - 1].time_us, 200 + made - 1);
	assert_true(r.notes.types.rows.len <=
		    MLYZE_TYPE_ROWS_MAX * sizeof(struct mlyze_type_row));
	read_free(&r);
}

static void test_many_censuses(void **state)
{
	(void)state;
	check_many(3 * MLYZE_CENSUSES_MAX, 1, MLYZE_CENSUSES_MAX);
	check_many(300, MLYZE_TYPES_MAX, MLYZE_TYPE_ROWS_MAX / MLYZE_TYPES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_marks), cmocka_unit_test(test_of_others),
		cmocka_unit_test(test_many_checks), cmocka_unit_test(test_censuses),
		cmocka_unit_test(test_incomplete_censuses), cmocka_unit_test(test_many_censuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
