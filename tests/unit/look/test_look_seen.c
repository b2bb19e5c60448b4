// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_look_seen.c - which stack a look keeps of a thread, and when a thread is walked again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>
#include <unistd.h>

#include "look/look_seen.h"
#include "look/look_worker.h"
#include "tests/unit/resolve/process_test.h"

#define INTERVAL_NS 1000000ull
#define WAIT_NS (5 * INTERVAL_NS)

static struct look_seen *seen;

static void begin_look(void)
{
	more_args = (struct process_args){ .waits = { .interval_ns = INTERVAL_NS },
					   .wait_frames = true };
	begin();
	seen = look_seen_new(p, 1000);
	assert_non_null(seen);
}

static void end_look(void)
{
	look_seen_free(seen);
	look_worker_end();
	end();
}

/* A wait of this thread in a system call, with code object `code` innermost, from time_ns on. */
static void waits_in(uint32_t tid, uint16_t sysno, uint32_t code, uint64_t time_ns)
{
	struct event ev;

	stack(tid, 2, code);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	raw.h.sysno = sysno;
	raw.h.time_ns = time_ns;
	raw.status = 0;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_int_equal(process_emit_open_waits(p, time_ns + WAIT_NS), 0);
	assert_true(observer.events.cnt > 0);
	ev = kept_event(&observer.events, observer.events.cnt - 1);
	assert_int_equal(ev.thread_id, tid);
	look_seen_event(seen, &ev);
}

static struct look_thread only_thread(void)
{
	struct look_thread *list = look_seen_list(seen), t;

	assert_non_null(list);
	assert_int_equal(seen->cnt, 1);
	t = *list;
	free(list);
	return t;
}

static void assert_innermost(uint32_t code)
{
	struct look_thread t = only_thread();

	assert_int_equal(t.nframes, 2);
	assert_true(frame_is_fake(process_tables(p), t.frames[0], code, 2 * (code % 60)));
}

/* What was found out about a thread belongs to the stack that it had then. */
static void test_a_thread_that_stays_keeps_its_stack(void **state)
{
	struct event ev;

	begin_look();
	stack(getpid(), 2, 7);
	ev = take();
	look_seen_event(seen, &ev);	/* it runs: nothing to ask the kernel about */
	assert_int_equal(look_seen_detail(seen, NULL), 0);
	assert_int_equal(seen->moved, 0);
	waits_in(getpid(), SYS_read, 20, 10 * WAIT_NS);
	assert_innermost(7);
	end_look();
}

/* We do not wait in recvfrom(), whatever the event says; so the next stack is taken. */
static void test_a_thread_that_moved_gets_its_next_stack(void **state)
{
	if (access("/proc/self/syscall", R_OK)) {
		print_message("SKIP: this kernel has no /proc/PID/syscall\n");
		skip();
	}
	begin_look();
	waits_in(getpid(), SYS_recvfrom, 7, 10 * WAIT_NS);
	assert_innermost(7);
	assert_string_equal(only_thread().call, "recvfrom");
	assert_int_equal(look_seen_detail(seen, NULL), 0);
	assert_int_equal(seen->moved, 1);
	assert_true(only_thread().moved);
	waits_in(getpid(), SYS_connect, 20, 20 * WAIT_NS);
	assert_innermost(20);
	assert_false(only_thread().moved);	/* not known yet */
	assert_int_equal(look_seen_detail(seen, NULL), 0);
	assert_int_equal(seen->moved, 1);
	assert_int_equal(only_thread().waited_us, 10000);
	end_look();
}

/* A second look at the details asks about new stacks only. */
static void test_new_threads_are_looked_at_alone(void **state)
{
	struct event ev;

	begin_look();
	stack(getpid(), 2, 7);
	ev = take();
	look_seen_event(seen, &ev);
	assert_int_equal(look_seen_detail(seen, NULL), 0);
	waits_in(1u << 30, SYS_read, 9, 10 * WAIT_NS);	/* there is no such thread */
	assert_int_equal(look_seen_detail(seen, NULL), 0);
	assert_int_equal(seen->cnt, 2);
	assert_int_equal(seen->moved, 0);
	end_look();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_thread_that_stays_keeps_its_stack),
		cmocka_unit_test(test_a_thread_that_moved_gets_its_next_stack),
		cmocka_unit_test(test_new_threads_are_looked_at_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
