// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_candidates.c - when a process is looked at again. */
#include "target/candidates.h"
#include "tests/unit/tach_test.h"

#define MS 1000000ull
#define S (1000 * MS)

static void test_note(void **state)
{
	struct candidates c = { 0 };
	struct candidate *a, *b;
	size_t pos = 0;

	assert_null(candidates_find(&c, 10));
	a = candidates_note(&c, 10, 0);
	assert_non_null(a);
	assert_int_equal(a->tgid, 10);
	/* due at once */
	assert_ptr_equal(candidates_due(&c, 1, &pos), a);
	assert_null(candidates_due(&c, 1, &pos));
	/* The start time is learned, and not forgotten by who does not know it. */
	assert_ptr_equal(candidates_note(&c, 10, 500), a);
	assert_ptr_equal(candidates_note(&c, 10, 0), a);
	assert_int_equal(a->start_ns, 500);
	b = candidates_note(&c, 11, 500);
	assert_true(a != b);
	assert_ptr_equal(candidates_find(&c, 11), b);
	candidates_forget(&c, 10);
	assert_null(candidates_find(&c, 10));
	candidates_forget(&c, 10);
	candidates_free(&c);
}

/* 2 ms doubled up to 64 s, and no wrap-around however long it goes on. */
static void test_backoff(void **state)
{
	struct candidates c = { 0 };
	struct candidate *cand = candidates_note(&c, 1, 1);
	uint64_t wait, now = 5 * S;
	int i;

	for (i = 0; i < 200; i++) {
		wait = i < 15 ? (2 * MS) << i : 64 * S;
		if (wait > 64 * S)
			wait = 64 * S;
		candidate_backoff(cand, now);
		assert_int_equal(cand->next_ns - now, wait);
		assert_int_equal(cand->tries, i + 1);
		now = cand->next_ns;
	}
	cand->tries = UINT32_MAX - 1;
	candidate_backoff(cand, now);
	assert_int_equal(cand->next_ns - now, 64 * S);
	candidates_free(&c);
}

static void test_due(void **state)
{
	struct candidates c = { 0 };
	struct candidate *a = candidates_note(&c, 1, 1), *b = candidates_note(&c, 2, 2);
	struct candidate *never = candidates_note(&c, 3, 3);
	size_t pos = 0;

	candidate_backoff(a, 100 * MS);	/* 102 */
	candidate_backoff(b, 100 * MS);
	candidate_backoff(b, 100 * MS);	/* 104 */
	never->next_ns = UINT64_MAX;
	assert_null(candidates_due(&c, 102 * MS - 1, &pos));
	pos = 0;
	assert_ptr_equal(candidates_due(&c, 102 * MS, &pos), a);
	assert_null(candidates_due(&c, 102 * MS, &pos));
	assert_int_equal(candidates_wait_ns(&c, 101 * MS, S), MS);
	assert_int_equal(candidates_wait_ns(&c, 101 * MS, MS / 2), MS / 2);
	assert_int_equal(candidates_wait_ns(&c, 102 * MS, S), 0);
	assert_int_equal(candidates_wait_ns(&c, 200 * MS, S), 0);
	candidates_forget(&c, 1);
	assert_int_equal(candidates_wait_ns(&c, 101 * MS, S), 3 * MS);
	candidates_forget(&c, 2);
	/* Nobody waits for what is never looked at. */
	assert_int_equal(candidates_wait_ns(&c, 101 * MS, S), S);
	pos = 0;
	assert_null(candidates_due(&c, 1000 * S, &pos));
	candidates_free(&c);
	assert_int_equal(candidates_wait_ns(&c, 0, 7), 7);
}

/* Only the young wake us up; the old are looked at when we are awake anyway. */
static void test_old(void **state)
{
	struct candidates c = { 0 };
	struct candidate *a = candidates_note(&c, 1, 1);
	size_t pos = 0;
	int i;

	for (i = 0; i < CANDIDATE_YOUNG_TRIES; i++) {
		assert_true(candidates_wait_ns(&c, 0, 100 * S) < 100 * S);
		candidate_backoff(a, 0);
	}
	assert_int_equal(candidates_wait_ns(&c, 0, 100 * S), 100 * S);
	assert_int_equal(candidates_wait_ns(&c, a->next_ns + 1, 100 * S), 100 * S);
	assert_ptr_equal(candidates_due(&c, a->next_ns, &pos), a);
	candidates_free(&c);
}

static void test_restart(void **state)
{
	struct candidates c = { 0 };
	struct candidate *a = candidates_note(&c, 1, 7);
	size_t pos = 0;
	int i;

	for (i = 0; i < 12; i++)
		candidate_backoff(a, 50 * S);
	a->ticks = 3;
	a->seen_ticks = 9;
	candidate_restart(a);
	assert_int_equal(a->tries, 0);
	assert_int_equal(a->ticks, 0);
	assert_int_equal(a->seen_ticks, 0);
	assert_int_equal(a->start_ns, 7);	/* exec keeps the process */
	assert_ptr_equal(candidates_due(&c, 1, &pos), a);
	candidate_backoff(a, 0);
	assert_int_equal(a->next_ns, 2 * MS);
	candidates_free(&c);
}

/* The pid came back: what was known of the first process does not count. */
static void test_pid_reuse(void **state)
{
	struct candidates c = { 0 };
	struct candidate *a = candidates_note(&c, 1, 7);
	size_t pos = 0;

	candidate_backoff(a, 50 * S);
	a->ticks = 4;
	a->next_ns = UINT64_MAX;
	a = candidates_note(&c, 1, 8);
	assert_non_null(a);
	assert_int_equal(a->start_ns, 8);
	assert_int_equal(a->tries, 0);
	assert_int_equal(a->ticks, 0);
	assert_ptr_equal(candidates_due(&c, 0, &pos), a);
	candidates_free(&c);
}

/* A change is looked at at once, then ever more rarely while nothing is new in it. */
static void test_changed(void **state)
{
	struct candidates c = { 0 };
	struct candidate *a = candidates_note(&c, 1, 1);
	uint64_t now = 100 * S, gap = 10 * MS;
	int i;

	for (i = 0; i < 12; i++)
		candidate_backoff(a, now);
	candidate_looked(a, now, 20000, false);
	assert_int_equal(a->gap_ns, gap);	/* by itself: no reason to be slower */
	for (i = 0; i < 12; i++) {
		candidate_changed(a);
		assert_int_equal(a->next_ns, now + gap);
		assert_int_equal(candidates_wait_ns(&c, now, 100 * S), gap);
		now = a->next_ns;
		candidate_looked(a, now, 20000, false);
		candidate_backoff(a, now);
		assert_false(a->changed);
		gap = gap * 2 < S ? gap * 2 : S;
		assert_int_equal(a->gap_ns, gap);
	}
	/* Files that are new: there may be more of them. */
	candidate_changed(a);
	candidate_looked(a, now, 900 * MS, true);
	assert_int_equal(a->gap_ns, 10 * MS);
	/* One that costs much is looked at less. */
	candidate_looked(a, now, 3 * MS, false);
	assert_int_equal(a->gap_ns, 300 * MS);
	a->next_ns = UINT64_MAX;	/* refused; what it has become may be another thing */
	candidate_changed(a);
	assert_int_equal(a->next_ns, now + 300 * MS);
	candidate_restart(a);
	assert_int_equal(a->gap_ns, 0);
	assert_false(a->changed);
	candidates_free(&c);
}

/* As capture.c does: look at all that are due, forget some of them meanwhile. */
static void test_forget_while_due(void **state)
{
	struct candidates c = { 0 };
	struct candidate *cand;
	uint64_t seed = 3;
	int round, i, n;

	for (round = 0; round < 2000; round++) {
		bool looked[64] = { false };
		size_t pos = 0;

		for (i = 0; i < 64; i++)
			if (rnd(&seed) % 2)
				candidates_note(&c, i + 1, 1);
		n = c.by_tgid.cnt;
		while ((cand = candidates_due(&c, 0, &pos))) {
			i = cand->tgid - 1;
			assert_false(looked[i]);
			looked[i] = true;
			n--;
			if (rnd(&seed) % 2)
				candidates_forget(&c, cand->tgid);
		}
		assert_int_equal(n, 0);
	}
	candidates_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_note),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_pid_reuse),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_forget_while_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
