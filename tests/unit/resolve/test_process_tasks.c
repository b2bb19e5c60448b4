// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_tasks.c - time of waiting asyncio tasks as events of a thread beside the loop's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

#include "asyncio/tasks.h"
#include "tests/unit/resolve/process_test.h"

static void wait_at(uint32_t first, uint32_t cnt, uint64_t time_ns, uint64_t weight)
{
	struct raw_frame frames[300];
	uint32_t i;

	for (i = 0; i < cnt; i++)
		frames[i] = fake_frame(&fake, first + i, 2 * ((first + i) % 60));
	assert_int_equal(process_waiting_task(p, 7, 0, frames, cnt, false, WAITS_UNKNOWN, "",
					      time_ns, weight), 0);
}

static struct event wait_for(uint8_t kind, const char *name)
{
	struct raw_frame frame = fake_frame(&fake, 10, 20);

	assert_int_equal(process_waiting_task(p, 7, 0, &frame, 1, false, kind, name, 5000000, 1),
			 0);
	return kept_event(&observer.events, observer.events.cnt - 1);
}

static void check_wait(uint8_t kind, const char *name, const char *text)
{
	struct event ev = wait_for(kind, name);

	assert_int_equal(ev.nframes, 2);
	check_name(&ev, 0, text);
	check_code(&ev, 1, 10);
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

/* What it waits for is the innermost frame; asyncio.sleep() has one of its own. */
static void test_what_for(void **state)
{
	struct event ev;

	begin();
	check_wait(WAITS_LOCK, "self.lock", "<waiting for Lock self.lock>");
	check_wait(WAITS_QUEUE_PUT, "", "<waiting for room in Queue>");
	check_wait(WAITS_SOCKET, "", "<waiting for a socket>");
	check_wait(WAITS_FUTURE, "", "<waiting for a concurrent.futures.Future>");
	check_wait(WAITS_EVENT, "a\n;b", "<waiting for Event a\\x0a;b>");
	ev = wait_for(WAITS_SLEEP, "");
	check_stack(&ev, 1, 10);
	ev = wait_for(WAITS_UNKNOWN, "x");
	check_stack(&ev, 1, 10);
	end();
}

/* After 256 names of a process the rest has none. */
static void test_many_names(void **state)
{
	char name[16], text[64];
	int i;

	begin();
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "name%d", i);
		snprintf(text, sizeof(text), "<waiting for Lock %s>", name);
		check_wait(WAITS_LOCK, name, i < 256 ? text : "<waiting for Lock>");
	}
	check_wait(WAITS_LOCK, "name0", "<waiting for Lock name0>");
	end();
}

/* It is one frame more: the deepest stack loses one at its root. */
static void test_deepest(void **state)
{
	struct raw_frame frames[EVENT_MAX_FRAMES];
	struct event ev;
	uint32_t i;

	begin();
	for (i = 0; i < EVENT_MAX_FRAMES; i++)
		frames[i] = fake_frame(&fake, 20 + i, 2 * ((20 + i) % 60));
	assert_int_equal(process_waiting_task(p, 7, 0, frames, EVENT_MAX_FRAMES, true, WAITS_LOCK,
					      "x", 5000000, 1), 0);
	ev = kept_event(&observer.events, 0);
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	check_name(&ev, 0, "<waiting for Lock x>");
	check_code(&ev, EVENT_MAX_FRAMES - 1, 20 + EVENT_MAX_FRAMES - 2);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_what_for), cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_deepest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
