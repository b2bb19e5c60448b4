// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_budget.c - the processes of a user share a limit, a small one here: beyond it their frames
 * are <unresolved>, and others' are not.
 */
#define NAMES_OF_USER_MAX 65536
#define CODES_OF_USER_MAX (2u << 20)
#include "user/resolve/budget.c"

#include "resolve/symbolize.h"
#include "tests/unit/resolve/fake_code.h"

#define CODES 4000
#define PROCESSES 8

static struct fake_codes fake;
static struct intern *in[PROCESSES];
static struct symbolizer *sym[PROCESSES];

static void begin(size_t i, uint32_t uid)
{
	in[i] = intern_new();
	sym[i] = symbolizer_new(&fake.img, fake_mem(&fake), in[i], false);
	assert_non_null(sym[i]);
	symbolizer_set_owner(sym[i], uid);
}

static void end(size_t i)
{
	symbolizer_free(sym[i]);
	intern_free(in[i]);
}

/* Resolve the frames of so many code objects. Returns how many have names. */
static uint32_t resolve(size_t i, uint32_t cnt)
{
	uint64_t before = symbolizer_stats(sym[i])->unresolved;
	uint32_t n, id;

	for (n = 0; n < cnt; n++) {
		struct raw_frame frame = fake_frame(&fake, n, 20);

		if (n % 100 == 0)
			symbolizer_refill(sym[i]);
		assert_int_equal(symbolizer_frame(sym[i], &frame, &id, NULL), 0);
	}
	return cnt - (uint32_t)(symbolizer_stats(sym[i])->unresolved - before);
}

static void test_names_of_a_user(void **state)
{
	uint32_t i, named, total = 0;

	fake_codes_init(&fake, CODES);
	for (i = 0; i < PROCESSES - 2; i++) {
		begin(i, 1000);
		named = resolve(i, CODES);
		assert_true(i ? !named : named > 0 && named < CODES);
		total += named;
	}
	assert_int_equal(budgets.cnt, 1);
	assert_true(total * 64 <= NAMES_OF_USER_MAX);
	begin(i, 1001);			/* another user has a budget, and root has no limit */
	begin(i + 1, 0);
	assert_true(resolve(i, 200) == 200);
	assert_int_equal(resolve(i + 1, CODES), CODES);
	/* What processes took is given back when they have ended. */
	for (i = 0; i < PROCESSES; i++)
		end(i);
	assert_int_equal(budgets.cnt, 0);
	begin(0, 1000);
	assert_int_equal(resolve(0, 200), 200);
	end(0);
	fake_codes_free(&fake);
}

/* Code objects can be forgotten: with too many of them, names are as always. */
static void test_codes_of_a_user(void **state)
{
	struct budget *b;

	fake_codes_init(&fake, CODES);
	b = budget_join(1000);
	assert_false(budget_codes_full(b));
	b->codes += CODES_OF_USER_MAX;
	assert_true(budget_codes_full(b));
	begin(0, 1000);
	assert_int_equal(resolve(0, 200), 200);
	assert_int_equal(resolve(0, 200), 200);
	assert_true(b->codes > CODES_OF_USER_MAX);
	end(0);
	assert_int_equal(b->codes, CODES_OF_USER_MAX);
	assert_int_equal(b->names, 0);
	budget_leave(b);
	assert_int_equal(budgets.cnt, 0);
	assert_null(budget_join(0));
	fake_codes_free(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_a_user),
		cmocka_unit_test(test_codes_of_a_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
