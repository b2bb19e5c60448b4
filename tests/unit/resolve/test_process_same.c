// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_same.c - switch-outs without frames, whose threads have the stack of an earlier
 * record: RAW_SWITCH_SAME.
 */
#include "model/trace_context.h"
#include "tests/unit/resolve/process_test.h"

#define MS 1000000ull
#define TID 7u

static uint64_t at_ns;		/* time of the last record */
static uint64_t stack_ns;	/* ... of the thread's last one with frames */

static void begin_waits(void)
{
	more_args = (struct process_args){
		.waits = { .interval_ns = MS, .runnable = true },
	};
	begin();
	at_ns = 10 * MS;
}

static void end_waits(void)
{
	end();
	memset(&more_args, 0, sizeof(more_args));
}

/* A thread leaves its CPU with n frames, from code object `first` on. */
static void leave(uint32_t tid, uint32_t n, uint32_t first)
{
	stack(tid, n, first);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	raw.h.time_ns = stack_ns = at_ns += 10 * MS;
	raw.status = 0;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
}

static struct raw_head same_head(uint32_t tid, uint64_t with_ns)
{
	at_ns += 10 * MS;
	return (struct raw_head){
		.h = { .kind = RAW_SWITCH_SAME, .why = WHY_BLOCKED, .sysno = 7, .tgid = getpid(),
		       .time_ns = at_ns, .start_ns = 9 },
		.tid = tid, .status = STATUS_HAS_EXCEPTION, .stack_ns = with_ns,
	};
}

/* It leaves with the stack of its record of with_ns. */
static void leave_same(uint32_t tid, uint64_t with_ns)
{
	struct raw_head same = same_head(tid, with_ns);

	assert_int_equal(process_take(p, &same, sizeof(same)), 0);
}

/* It comes back after 3 ms. */
static void come(uint32_t tid)
{
	struct raw_switch_in run = {
		.h = { .kind = RAW_SWITCH_IN, .tgid = getpid(), .time_ns = at_ns + 3 * MS,
		       .start_ns = 9 },
		.tid = tid, .out_ns = at_ns,
	};

	assert_int_equal(process_take(p, &run, sizeof(run)), 0);
}

/* The last wait has given its events this stack and status. */
static void expect_wait(uint32_t n, uint32_t first, uint8_t status)
{
	struct event ev = kept_event(&observer.events, observer.events.cnt - 1);

	check_stack(&ev, n, first);
	assert_int_equal(ev.status, status);
}

static void test_stack_of_the_last_record(void **state)
{
	size_t before;
	int i;

	begin_waits();
	leave(TID, 5, 20);
	come(TID);
	expect_wait(5, 20, 0);
	for (i = 0; i < 4; i++) {	/* each means the record that had the frames */
		before = stats_now().samples;
		leave_same(TID, stack_ns);
		come(TID);
		expect_wait(5, 20, STATUS_HAS_EXCEPTION);
		assert_int_equal(stats_now().samples, before + 3);
		assert_int_equal(stats_now().waits.guessed, 0);
	}
	leave(TID, 3, 40);
	come(TID);
	leave_same(TID, stack_ns);
	come(TID);
	expect_wait(3, 40, STATUS_HAS_EXCEPTION);
	assert_int_equal(stats_now().waits.guessed, 0);
	assert_int_equal(stats_now().waits.forgotten, 0);
	assert_int_equal(stats_now().waits.waits, 7);
	end_waits();
}

/* The sample of a tick is a record with frames, too. */
static void test_stack_of_a_tick(void **state)
{
	begin_waits();
	leave(TID, 5, 20);
	come(TID);
	stack(TID, 4, 50);
	raw.h.time_ns = stack_ns = at_ns += 5 * MS;
	take();
	leave_same(TID, stack_ns);
	come(TID);
	expect_wait(4, 50, STATUS_HAS_EXCEPTION);
	assert_int_equal(stats_now().waits.guessed, 0);
	end_waits();
}

static void test_deepest_stack(void **state)
{
	struct event ev;

	begin_waits();
	leave(TID, ABI_MAX_FRAMES, 1);
	come(TID);
	leave_same(TID, stack_ns);
	come(TID);
	ev = kept_event(&observer.events, observer.events.cnt - 1);
	check_stack(&ev, ABI_MAX_FRAMES, 1);
	assert_int_equal(stats_now().waits.guessed, 0);
	end_waits();
}

/* Threads have stacks of their own, and so have the interpreters that a thread runs. */
static void test_others(void **state)
{
	struct raw_head same;
	uint64_t first_ns;

	begin_waits();
	leave(TID, 5, 20);
	first_ns = stack_ns;
	leave(TID + 1, 6, 60);
	leave_same(TID, first_ns);
	come(TID);
	expect_wait(5, 20, STATUS_HAS_EXCEPTION);
	assert_int_equal(stats_now().waits.guessed, 0);
	same = same_head(TID, first_ns);
	same.interp_id = 4;
	assert_int_equal(process_take(p, &same, sizeof(same)), 0);
	assert_int_equal(stats_now().waits.guessed, 1);
	end_waits();
}

/* The stack is another one here: a record was lost. The wait is one that was not walked. */
static void test_another_stack(void **state)
{
	begin_waits();
	leave(TID, 5, 20);
	come(TID);
	leave_same(TID, stack_ns - 1);
	come(TID);
	expect_wait(5, 20, STATUS_UNKNOWN);
	assert_int_equal(stats_now().waits.guessed, 1);
	assert_int_equal(stats_now().waits.forgotten, 0);
	leave_same(TID, 0);
	come(TID);
	assert_int_equal(stats_now().waits.guessed, 2);
	/* Its own stack is known as before. */
	leave_same(TID, stack_ns);
	come(TID);
	expect_wait(5, 20, STATUS_HAS_EXCEPTION);
	assert_int_equal(stats_now().waits.guessed, 2);
	end_waits();
}

/* Nothing is known of the thread: its wait has no stack at all, and is counted. */
static void test_forgotten_thread(void **state)
{
	uint64_t samples;

	begin_waits();
	leave_same(TID, 5 * MS);
	come(TID);
	assert_int_equal(stats_now().samples, 0);
	assert_int_equal(stats_now().waits.waits, 0);
	assert_int_equal(stats_now().lost[LOSS_WAITS_FORGOTTEN], 1);
	leave(TID, 5, 20);
	come(TID);
	samples = stats_now().samples;
	exit_of(TID);
	leave_same(TID, stack_ns);
	come(TID);
	assert_int_equal(stats_now().samples, samples);
	assert_int_equal(stats_now().lost[LOSS_WAITS_FORGOTTEN], 2);
	assert_int_equal(stats_now().waits.guessed, 0);
	end_waits();
}

static uint8_t trace_seen;	/* the first byte of the last event's trace id; 0: it has none */

static int note_trace(struct observer *o, struct process *of, const struct event *ev)
{
	trace_seen = ev->trace ? ev->trace->trace_id[0] : 0;
	return memory_observer_event(o, of, ev);
}

/* A struct raw_trace behind the head becomes that of the thread, and none becomes none. */
static void test_thread_context(void **state)
{
	struct observer_ops ops;
	struct {
		struct raw_head head;
		struct raw_trace trace;
	} same;

	begin_waits();
	ops = *observer.observer.ops;
	ops.event = note_trace;
	observer.observer.ops = &ops;
	leave(TID, 5, 20);
	come(TID);
	memset(&same, 0, sizeof(same));
	same.head = same_head(TID, stack_ns);
	same.head.flags = RAW_TRACED;
	same.trace.trace_id[0] = 0x77;
	same.trace.valid = 1;
	assert_int_equal(process_take(p, &same.head, sizeof(same.head) + RAW_TRACE_HEAD), 0);
	come(TID);
	expect_wait(5, 20, STATUS_HAS_EXCEPTION);
	assert_int_equal(trace_seen, 0x77);
	leave_same(TID, stack_ns);
	come(TID);
	expect_wait(5, 20, STATUS_HAS_EXCEPTION);
	assert_int_equal(trace_seen, 0);
	/* The longest context. */
	same.head = same_head(TID, stack_ns);
	same.head.flags = RAW_TRACED;
	assert_int_equal(process_take(p, &same.head, sizeof(same)), 0);
	come(TID);
	expect_wait(5, 20, STATUS_HAS_EXCEPTION);
	assert_int_equal(trace_seen, 0x77);
	end_waits();
}

static void test_bad_records(void **state)
{
	struct raw_head same;
	size_t len;

	begin_waits();
	leave(TID, 5, 20);
	for (len = 0; len < sizeof(same); len++) {
		same = same_head(TID, stack_ns);
		assert_int_equal(process_take(p, &same, len), -EBADMSG);
	}
	same.nframes = 1;
	assert_int_equal(process_take(p, &same, sizeof(same)), -EBADMSG);
	same.nframes = UINT16_MAX;
	assert_int_equal(process_take(p, &same, sizeof(same)), -EBADMSG);
	/* They have changed nothing. */
	leave_same(TID, stack_ns);
	come(TID);
	expect_wait(5, 20, STATUS_HAS_EXCEPTION);
	end_waits();
	begin();	/* in a mode without waits it is an error */
	same = same_head(TID, stack_ns);
	assert_int_equal(process_take(p, &same, sizeof(same)), -EBADMSG);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack_of_the_last_record),
		cmocka_unit_test(test_stack_of_a_tick),
		cmocka_unit_test(test_deepest_stack),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_another_stack),
		cmocka_unit_test(test_forgotten_thread),
		cmocka_unit_test(test_thread_context),
		cmocka_unit_test(test_bad_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
