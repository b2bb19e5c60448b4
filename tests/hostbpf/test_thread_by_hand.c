// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_thread_by_hand.c - threads whose key leads to no state or to another one than they run, up
 * to 3.11: a program has deleted the thread's first state and swapped in a second, by hand.
 */
#include "world.h"

static struct world w;

#define EACH_OLD_MINOR(minor) for ((minor) = LAYOUT_MINOR_MIN; (minor) <= 11; (minor)++)
#define CFRAME (W_CSTACK + 4096)	/* in the C stack of the thread */
#define SP (CFRAME - 256)
#define NEAR_BYTES (1024 * 1024)	/* NEAR_C_STACK_BYTES in bpf/pyscratch.bpf.h */
#define SECOND (W_TSTATE + 4096)	/* a second state */
#define OTHER_INTERP (W_INTERP + 0x200000)

static bool has_cframe(void)
{
	return w.img.layout.ts_cframe != ABI_NO_OFF;
}

/* The state ts runs frame, and its _PyCFrame is at this address, if this CPython has one. */
static void run(u64 ts, u64 cframe, u64 frame)
{
	const struct py_layout *l = &w.img.layout;
	const u64 root = ts + W_ROOT_CFRAME - W_TSTATE;

	host_mem_map(cframe, 64);
	if (has_cframe())
		host_mem_put64(ts + l->ts_cframe, cframe);
	if (l->cframe_frame == ABI_NO_OFF) {
		host_mem_put64(ts + l->ts_frame, frame);
		return;
	}
	host_mem_put64(cframe + l->cframe_frame, frame);
	host_mem_put64(cframe + l->cframe_frame + 8, root);
	host_mem_put64(root + l->cframe_frame, 0);
}

/* The state ts runs no Python. */
static void run_nothing(u64 ts)
{
	run(ts, ts + W_ROOT_CFRAME - W_TSTATE + 64, 0);
}

/* A thread with three frames in the state W_TSTATE, to which its key does not lead. */
static void swapped_thread(int minor)
{
	const struct py_layout *l = &w.img.layout;

	world_init(&w, minor);
	world_recurse(&w, 1);
	if (l->fr_is_entry != ABI_NO_OFF)
		host_mem_put8(w.top + l->fr_is_entry, 1);
	world_recurse(&w, 2);
	run(W_TSTATE, CFRAME, w.top);
	host_mem_put64(W_INTERP + l->interp_threads_head, W_TSTATE);
	host_mem_put64(W_TP + W_TSS + 16 * 3 + 8, 0);
	host.regs.sp = SP;
	host.signal.nr_threads = 2;
	world_put_proc(&w);
}

/* A second state, first in the list of the interpreter is. It runs no Python. */
static void second_state(u64 is, u64 thread_id)
{
	const struct py_layout *l = &w.img.layout;

	host_mem_map(SECOND, 4096);
	host_mem_put64(SECOND + l->ts_interp, is);
	host_mem_put64(SECOND + l->ts_thread_id, thread_id);
	if (l->ts_exc_info != ABI_NO_OFF)
		host_mem_put64(SECOND + l->ts_exc_info, SECOND + l->ts_exc_state);
	run_nothing(SECOND);
	if (is == W_INTERP) {
		host_mem_put64(SECOND + l->ts_next, W_TSTATE);
	} else {
		host_mem_map(is, 256 * 1024);
		host_mem_put64(is + l->interp_next, W_INTERP);
		host_mem_put64(w.proc.interps, is);
	}
	host_mem_put64(is + l->interp_threads_head, SECOND);
}

static void test_gil_holder(void **state)
{
	const struct py_layout *l = &w.img.layout;
	int minor;

	EACH_OLD_MINOR(minor) {
		swapped_thread(minor);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(w.proc.current, W_TSTATE);
		assert_true(world_expect(&w, 3, 0)->status & STATUS_HAS_GIL);
		assert_int_equal(world_proc()->by_hand, 1);
		/* Another thread runs it. */
		swapped_thread(minor);
		host_mem_put64(w.proc.current, W_TSTATE);
		host_mem_put64(W_TSTATE + l->ts_thread_id, 0xdead);
		host.regs.sp = CFRAME + 8;
		world_expect_end(CNT_NATIVE_THREAD);
		host.regs.sp = CFRAME - NEAR_BYTES;
		world_expect_end(CNT_NATIVE_THREAD);
		assert_int_equal(world_proc()->by_hand, 0);
		host_mem_put64(w.proc.current, W_TSTATE + 0x100000);	/* it was freed */
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(w.proc.current, W_TSTATE);
		/* This thread runs it, another has made it: only a _PyCFrame tells. */
		host.regs.sp = CFRAME - NEAR_BYTES + 8;
		if (has_cframe())
			world_expect(&w, 3, 0);
		else
			world_expect_end(CNT_NATIVE_THREAD);
	}
}

/* The thread has released the GIL: the lists are searched once a state was swapped in by hand. */
static void test_without_the_gil(void **state)
{
	int minor;

	EACH_OLD_MINOR(minor) {
		swapped_thread(minor);
		second_state(OTHER_INTERP, W_TP);
		if (w.img.layout.interp_id != ABI_NO_OFF32)
			host_mem_put64(W_INTERP + w.img.layout.interp_id, 0);
		world_expect_end(CNT_NATIVE_THREAD);
		world_proc()->by_hand = 1;
		assert_false(world_expect(&w, 3, 0)->status & STATUS_HAS_GIL);
		host_mem_put64(w.proc.current, SECOND);	/* by another thread */
		host_mem_put64(SECOND + w.img.layout.ts_thread_id, 0xdead);
		world_expect(&w, 3, 0);
		host_mem_put64(SECOND + w.img.layout.ts_thread_id, W_TP);
		host_mem_put64(w.proc.current, 0);
		/* Both states have frames. */
		run(SECOND, CFRAME + 64, w.top);
		if (has_cframe())
			assert_int_equal(world_expect(&w, 3, 0)->interp_id, 0);
		else
			world_expect_end(CNT_TSTATE_UNCERTAIN);
		/* This one has them no more. */
		run_nothing(W_TSTATE);
		if (has_cframe())
			run(SECOND, CFRAME, w.top);
		world_expect(&w, 3, 0);
		run_nothing(SECOND);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(OTHER_INTERP + w.img.layout.interp_next, 0x10);
		world_expect_end(CNT_TSTATE_UNREADABLE);
		host_mem_put64(w.proc.interps, 0);	/* after Py_Finalize() */
		world_expect_end(CNT_NATIVE_THREAD);
	}
}

/* A thread without Python beside them. */
static void test_native_thread(void **state)
{
	int minor;

	EACH_OLD_MINOR(minor) {
		swapped_thread(minor);
		second_state(W_INTERP, 0xbeef);
		host_mem_put64(W_TSTATE + w.img.layout.ts_thread_id, 0xdead);
		world_proc()->by_hand = 1;
		host.regs.sp = CFRAME + 4096;
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(w.proc.current, W_TSTATE);
		world_expect_end(CNT_NATIVE_THREAD);
	}
}

/* The tick has interrupted the kernel: the stack pointer is the one at its entry. */
static void test_tick_in_the_kernel(void **state)
{
	int minor;

	EACH_OLD_MINOR(minor) {
		swapped_thread(minor);
		host_mem_put64(w.proc.current, W_TSTATE);
		host.regs.cs = 0;
		host.user_regs.sp = SP;
		world_expect(&w, 3, 0);
		host.user_regs.sp = CFRAME + 8;
		if (has_cframe())
			world_expect_end(CNT_NATIVE_THREAD);
		/* Unknown: by the thread_id, as without a _PyCFrame. */
		host.user_regs.sp = 0;
		world_expect(&w, 3, 0);
		host_mem_put64(w.proc.current, 0);
		if (has_cframe())
			world_expect_end(CNT_TSTATE_UNCERTAIN);
		else
			world_expect(&w, 3, 0);
	}
}

/* The key leads to the first state, and the thread runs a second one of the same interpreter. */
static void test_first_state_is_kept(void **state)
{
	int minor;

	EACH_OLD_MINOR(minor) {
		swapped_thread(minor);
		second_state(W_INTERP, W_TP);
		host_mem_put64(W_TP + W_TSS + 16 * 3 + 8, SECOND);
		world_expect_end(CNT_NO_FRAMES);	/* it runs the first */
		host_mem_put64(w.proc.current, W_TSTATE);
		if (has_cframe()) {
			world_expect(&w, 3, 0);
			host_mem_put64(w.proc.current, 0);
			world_expect(&w, 3, 0);
		} else {
			world_expect_end(CNT_TSTATE_UNCERTAIN);
			host.signal.nr_threads = 1;
			world_expect(&w, 3, 0);
			host.signal.nr_threads = 2;
		}
		/* Another thread has made and runs it. */
		host_mem_put64(w.proc.current, W_TSTATE);
		host_mem_put64(W_TSTATE + w.img.layout.ts_thread_id, 0xdead);
		host.regs.sp = CFRAME + 8;
		world_expect_end(CNT_NO_FRAMES);
	}
}

/* Off-CPU mode has no samples at ticks: they discover for the switch-outs without the GIL. */
static void test_ticks_that_only_discover(void **state)
{
	const bool on = true, off = false;
	int minor;

	EACH_OLD_MINOR(minor) {
		swapped_thread(minor);
		host_set(&cfg_ticks, &off, sizeof(off));
		world_expect_end(CNT_UNWANTED);
		assert_int_equal(world_proc()->by_hand, 0);
		host_mem_put64(w.proc.current, W_TSTATE);
		world_expect_end(CNT_UNWANTED);
		assert_int_equal(world_proc()->by_hand, 1);
		host_set(&cfg_ticks, &on, sizeof(on));
	}
}

/* From 3.12 on the key follows the state that is swapped in. */
static void test_newer(void **state)
{
	int minor;

	for (minor = 12; minor <= 14; minor++) {
		swapped_thread(minor);
		world_proc()->by_hand = 1;
		world_expect_end(CNT_NATIVE_THREAD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gil_holder),
		cmocka_unit_test(test_without_the_gil),
		cmocka_unit_test(test_native_thread),
		cmocka_unit_test(test_tick_in_the_kernel),
		cmocka_unit_test(test_first_state_is_kept),
		cmocka_unit_test(test_ticks_that_only_discover),
		cmocka_unit_test(test_newer),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
