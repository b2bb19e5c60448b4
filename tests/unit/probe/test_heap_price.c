// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_price.c - who is called when a probe's price is measured, and what errors become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "probe/heap_cost.h"
#include "probe/prober.h"

static struct {
	unsigned int entered, returned, detached;
	int err;		/* what attach() returns */
} seen;

static int attach(void *ctx, bool returns, int event)
{
	assert_ptr_equal(ctx, &seen);
	assert_int_equal(seen.detached, 0);
	seen.entered += !returns;
	seen.returned += returns;
	close(event);
	return seen.err;
}

static void detach(void *ctx)
{
	seen.detached++;
}

static const struct heap_price_fns fns = { attach, detach };

static void begin(int err)
{
	seen.entered = seen.returned = seen.detached = 0;
	seen.err = err;
	if (uprobe_event_type() < 0 || geteuid())
		skip();		/* a kernel without such events, or without the rights */
}

static void test_both_are_measured(void **state)
{
	struct heap_prices prices = { -1, -1, -1 };

	begin(0);
	assert_int_equal(heap_prices_measure(&fns, &seen, &prices), 0);
	assert_int_equal(seen.entered, 1);
	assert_int_equal(seen.returned, 1);
	assert_int_equal(seen.detached, 1);
	assert_true(prices.enter_us >= 0 && prices.return_us >= 0);
	assert_true(prices.walk_us == HEAP_WALK_US);
}

static void test_an_error_ends_it(void **state)
{
	struct heap_prices prices = { -1, -1, -1 };

	begin(-EIO);
	assert_int_equal(heap_prices_measure(&fns, &seen, &prices), -EIO);
	assert_int_equal(seen.returned, 0);
	assert_int_equal(seen.detached, 1);
	assert_true(prices.enter_us == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_are_measured),
		cmocka_unit_test(test_an_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
