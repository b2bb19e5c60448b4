// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_diff.c - the noise of differences: by hand, by weights, and in a thousand comparisons of
 * what is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "model/intern.h"

#define FUNCTIONS 40

struct sides {
	struct intern *in;
	uint32_t frames[FUNCTIONS];
	struct report *reports[2];
};

static struct sides sides_new(void)
{
	struct sides s = { .in = intern_new() };
	char name[16];
	int i;

	for (i = 0; i < FUNCTIONS; i++) {
		struct frame f = { .line = i + 1, .end_line = i + 1, .opcode = OPCODE_NONE };

		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(intern_string(s.in, "/x.py", 5, &f.file), 0);
		assert_int_equal(intern_string(s.in, name, strlen(name), &f.func), 0);
		assert_int_equal(intern_frame(s.in, &f, &s.frames[i]), 0);
	}
	for (i = 0; i < 2; i++) {
		s.reports[i] = report_new(REPORT_BY_FUNCTION);
		assert_int_equal(report_begin(s.reports[i], intern_tables(s.in), "x"), 0);
	}
	return s;
}

/* n events of a function, each of this weight. */
static void add(struct sides *s, int side, int function, unsigned int n, uint64_t weight)
{
	struct event ev = { .thread_id = 1, .nframes = 1, .frames = &s->frames[function],
			    .weight = weight };

	while (n--)
		assert_int_equal(report_event(s->reports[side], &ev), 0);
}

static struct diff_row *rows_of(struct sides *s, size_t *cnt)
{
	struct diff_row *rows;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(report_end(s->reports[i]), 0);
	rows = diff_rows(s->reports[0], s->reports[1], DIFF_SORT_NAME,
			 DIFF_OF_SHARES, cnt);
	assert_non_null(rows);
	return rows;
}

static void sides_free(struct sides *s, struct diff_row *rows)
{
	free(rows);
	report_free(s->reports[0]);
	report_free(s->reports[1]);
	intern_free(s->in);
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * fabs(want))
		fail_msg("%.12f instead of %.12f", got, want);
}

/* The noise of 30 % and 45 % of 1,000 and 400 samples, two functions: by hand. */
static void test_by_hand(void **state)
{
	struct sides s = sides_new();
	double p = 301 / 1002., q = 181 / 402.;
	double error = sqrt(p * (1 - p) / 1002 + q * (1 - q) / 402);
	struct diff_row *rows;
	size_t cnt;

	add(&s, 0, 0, 300, 1);
	add(&s, 0, 1, 700, 1);
	add(&s, 1, 0, 180, 1);
	add(&s, 1, 1, 220, 1);
	rows = rows_of(&s, &cnt);
	assert_int_equal(cnt, 2);
	assert_near(rows[0].self_delta, 15);
	assert_near(rows[0].self_noise, 100 * error * sqrt(2 * log(2 / .02)));
	assert_true(diff_has_grown(&rows[0], 5) && !diff_has_grown(&rows[0], 10));
	assert_false(diff_has_grown(&rows[1], 0));	/* it shrank */
	sides_free(&s, rows);
}

/* A wait of a hundred samples is one draw, not a hundred. */
static void test_weights(void **state)
{
	struct sides many = sides_new(), few = sides_new();
	struct diff_row *a, *b;
	size_t cnt;
	int side;

	for (side = 0; side < 2; side++) {
		add(&many, side, 0, 3000, 1);
		add(&many, side, 1, 7000, 1);
		add(&few, side, 0, 30, 100);
		add(&few, side, 1, 70, 100);
	}
	a = rows_of(&many, &cnt);
	b = rows_of(&few, &cnt);
	assert_near(a[0].self_pct[0], b[0].self_pct[0]);
	assert_true(b[0].self_noise > 9 * a[0].self_noise);
	assert_true(b[0].self_noise < 11 * a[0].self_noise);
	sides_free(&many, a);
	sides_free(&few, b);
}

static uint64_t seed = 1;

static double drawn(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 11) / 0x1p53;
}

/* Functions have shares that fall as 1 / rank; grown: the first one's is so much larger in B. */
static bool any_grew(unsigned int samples, double grown, bool *first)
{
	struct sides s = sides_new();
	double sum = 0;
	struct diff_row *rows;
	size_t cnt, i;
	bool any = false;
	unsigned int n;
	int side, f;

	for (f = 0; f < FUNCTIONS; f++)
		sum += 1. / (f + 1);
	for (side = 0; side < 2; side++) {
		for (n = 0; n < samples; n++) {
			double at = drawn() * sum;

			f = 0;
			if (!side || drawn() >= grown)
				for (; f < FUNCTIONS - 1 && at >= 1. / (f + 1); f++)
					at -= 1. / (f + 1);
			add(&s, side, f, 1, 1);
		}
	}
	rows = rows_of(&s, &cnt);
	*first = false;
	for (i = 0; i < cnt; i++) {
		any |= diff_has_grown(&rows[i], 0);
		*first |= diff_has_grown(&rows[i], 0) && rows[i].line == 1;
	}
	sides_free(&s, rows);
	return any;
}

/*
 * Of a thousand comparisons at most one in a hundred is wrong; a growth by 10 % of the rest is
 * seen.
 */
static void test_false_alarms(void **state)
{
	unsigned int i, alarms = 0, seen = 0;
	bool first;

	for (i = 0; i < 1000; i++)
		alarms += any_grew(30 + i, 0, &first);
	assert_in_range(alarms, 0, 10);
	for (i = 0; i < 20; i++) {
		any_grew(5000, 0.1, &first);
		seen += first;
	}
	assert_int_equal(seen, 20);
}

/* f0 grows from 30 to 45 %, f1 shrinks; f2 grows by so little that chance may do it. */
static void test_summary(void **state)
{
	static const unsigned int counts[2][3] = { { 300, 600, 100 }, { 450, 440, 110 } };
	struct sides s = sides_new();
	struct diff_summary shares, all;
	struct diff_row *rows;
	int side, i;
	size_t cnt;

	for (side = 0; side < 2; side++)
		for (i = 0; i < 3; i++)
			add(&s, side, i, counts[side][i], 1);
	rows = rows_of(&s, &cnt);
	shares = diff_summarise(rows, cnt, DIFF_OF_SHARES, true);
	assert_int_equal(shares.grown, 1);
	assert_int_equal(shares.shrunk, 1);
	assert_ptr_equal(shares.most_grown, &rows[0]);
	assert_ptr_equal(shares.most_shrunk, &rows[1]);
	assert_ptr_equal(shares.largest, &rows[1]);
	all = diff_summarise(rows, cnt, DIFF_OF_COUNTS, false);
	assert_int_equal(all.grown, 2);
	assert_int_equal(all.shrunk, 1);
	assert_ptr_equal(all.most_grown, &rows[0]);
	sides_free(&s, rows);
}

/* Twice the same: nothing is largest. */
static void test_no_change(void **state)
{
	struct sides s = sides_new();
	struct diff_summary sum;
	struct diff_row *rows;
	size_t cnt;
	int side;

	for (side = 0; side < 2; side++)
		add(&s, side, 0, 10, 1);
	rows = rows_of(&s, &cnt);
	sum = diff_summarise(rows, cnt, DIFF_OF_SHARES, false);
	assert_true(!sum.grown && !sum.shrunk && !sum.most_grown && !sum.largest);
	sides_free(&s, rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand), cmocka_unit_test(test_weights),
		cmocka_unit_test(test_false_alarms), cmocka_unit_test(test_summary),
		cmocka_unit_test(test_no_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
