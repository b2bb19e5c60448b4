// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_no_stack.c - ticks in threads without a Python stack are sent if they are wanted. */
#include "tests/hostbpf/world.h"

static struct world w;

static void want(bool wanted)
{
	host_set(&cfg_native_threads, &wanted, sizeof(wanted));
}

/* The RAW_NO_STACK of a tick; NULL: none. */
static const struct raw_no_stack *no_stack(void)
{
	const struct raw_no_stack *r;
	size_t len;
	int i = 0;

	host_tick();
	r = host_record(RAW_NO_STACK, &i, &len);
	if (r)
		assert_int_equal(len, sizeof(*r));
	return r;
}

/* The thread has no state any more. */
static void native_thread(void)
{
	world_init(&w, 13);
	host.task.flags |= PF_EXITING;
	memcpy(host.task.comm, "blas\0left over", 15);
}

static void test_native_thread(void **state)
{
	const struct raw_no_stack *r;

	native_thread();
	want(true);
	r = no_stack();
	assert_non_null(r);
	assert_int_equal(r->end, CNT_NATIVE_THREAD);
	assert_int_equal(r->status, STATUS_ON_CPU);
	assert_int_equal(r->h.tgid, host.task.tgid);
	assert_int_equal(r->tid, host.task.pid);
	assert_int_equal(r->interp_id, 0);
	assert_int_equal(r->h.every, 1);
	assert_string_equal((const char *)r->comm, "blas");
	assert_int_equal(host_counter(CNT_NATIVE_THREAD), 1);
	assert_int_equal(host_counter(CNT_NO_STACK), 1);
	want(false);
	assert_null(no_stack());
	assert_int_equal(host_counter(CNT_NATIVE_THREAD), 2);
	assert_int_equal(host_counter(CNT_NO_STACK), 1);
}

/* What the state says is known. */
static void test_no_frames(void **state)
{
	const struct raw_no_stack *r;

	world_init(&w, 11);
	world_set_frame(&w, 0);
	host_mem_put64(w.proc.current, W_TSTATE);	/* it holds the GIL */
	want(true);
	r = no_stack();
	assert_non_null(r);
	assert_int_equal(r->end, CNT_NO_FRAMES);
	assert_int_equal(r->status, STATUS_ON_CPU | STATUS_HAS_GIL | STATUS_MAIN_THREAD);
	want(false);
	assert_null(no_stack());
	assert_int_equal(host_counter(CNT_NO_FRAMES), 2);
}

/* Before the interpreter is there; but during an exec the CPU is neither program's. */
static void test_not_ready(void **state)
{
	world_init(&w, 13);
	host.mm.start_code = 0;
	host_mem_unmap(W_TSTATE, 4096);
	want(true);
	assert_null(no_stack());
	assert_int_equal(host_counter(CNT_NOT_READY), 1);
	assert_int_equal(host_counter(CNT_NO_STACK), 0);
	want(false);
}

/* A full ring buffer is a loss, and no tick counts twice. */
static void test_ring_full(void **state)
{
	native_thread();
	want(true);
	host.ring_room = 0;
	assert_null(no_stack());
	assert_int_equal(host_counter(CNT_RING_FULL), 1);
	assert_int_equal(host_counter(CNT_NATIVE_THREAD), 0);
	assert_int_equal(host_counter(CNT_NO_STACK), 0);
	want(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native_thread),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_ring_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
