// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_tasks.c - time of waiting asyncio tasks as events of a thread beside the loop's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/resolve/process_test.h"

static void wait_at(uint32_t first, uint32_t cnt, uint64_t time_ns, uint64_t weight)
{
	struct raw_frame frames[300];
	uint32_t i;

	for (i = 0; i < cnt; i++)
		frames[i] = fake_frame(&fake, first + i, 2 * ((first + i) % 60));
	assert_int_equal(process_waiting_task(p, 7, 0, frames, cnt, NULL, time_ns, weight), 0);
}

static void test_event(void **state)
{
	struct event ev;

	begin();
	wait_at(10, 3, 5000000, 42);
	assert_int_equal(observer.events.cnt, 1);
	ev = kept_event(&observer.events, 0);
	check_stack(&ev, 3, 10);
	assert_int_equal(ev.thread_id, 7u | 1u << 30);
	assert_true(ev.weight == 42 && ev.time_us == 5000 && !ev.status && !ev.tick_ns);
	assert_string_equal(thread_names_find(process_thread_names(p), ev.thread_id),
			    "asyncio tasks");
	assert_int_equal(stats_now().task_waits, 42);
	assert_int_equal(stats_now().samples, 42);
	end();
}

/* Less than a sample is nothing; a stack that is too deep is cut at its root. */
static void test_bounds(void **state)
{
	struct event ev;

	begin();
	wait_at(10, 3, 5000000, 0);
	assert_int_equal(observer.events.cnt, 0);
	wait_at(20, 300, 6000000, 1);
	ev = kept_event(&observer.events, 0);
	check_stack(&ev, EVENT_MAX_FRAMES, 20);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event), cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
