// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_thread_status.c - the status from a PyThreadState: GIL, exceptions, garbage collection.
 */
#include "world.h"

static struct world w;

static u8 status_now(void)
{
	return world_expect(&w, w.want_cnt, 0)->status & ~STATUS_MAIN_THREAD;
}

static void test_gil(void **state)
{
	const struct py_layout *l = &w.img.layout;
	int minor, bit;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		assert_int_equal(status_now(), STATUS_ON_CPU);
		if (l->gil_how == PY_GIL_RT_CURRENT) {
			assert_in_range(minor, 6, 11);
			host_mem_put64(w.proc.current, W_TSTATE + 8);
			assert_int_equal(status_now(), STATUS_ON_CPU);
			host_mem_put64(w.proc.current, W_TSTATE);
			assert_int_equal(status_now(), STATUS_ON_CPU | STATUS_HAS_GIL);
			/* Unreadable: it is unknown which interpreter the thread runs. */
			host_mem_unmap(W_RUNTIME, 4096);
			w.proc.tss_key = 3;
			world_put_proc(&w);
			world_expect_end(CNT_TSTATE_UNREADABLE);
			continue;
		}
		for (bit = 0; bit < 32; bit++) {
			u8 want = l->ts_gil_mask >> bit & 1 ? STATUS_HAS_GIL : 0;

			host_mem_put32(W_TSTATE + l->ts_gil, 1u << bit);
			assert_int_equal(status_now(), STATUS_ON_CPU | want);
		}
		/* 3.12: active, 3.13: holds_gil, 3.14 and on: an int */
		assert_int_equal(l->ts_gil_mask, minor == 12   ? 16 :
						 minor == 13 ? 32 :
							       UINT32_MAX);
	}
}

static void test_no_gil_known(void **state)
{
	world_init(&w, 13);
	world_recurse(&w, 3);
	host_mem_put32(W_TSTATE + w.img.layout.ts_gil, UINT32_MAX);
	w.proc.l.gil_how = PY_GIL_NONE;
	world_put_proc(&w);
	assert_int_equal(status_now(), STATUS_ON_CPU);
}

#define EXCEPTION (STATUS_ON_CPU | STATUS_HAS_EXCEPTION)

static void test_exceptions(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const u64 some = W_HEAP + 0x400000;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		assert_int_equal(status_now(), STATUS_ON_CPU);
		/* it propagates */
		host_mem_put64(W_TSTATE + l->ts_exc_current, some);
		assert_int_equal(status_now(), EXCEPTION);
		host_mem_put64(W_TSTATE + l->ts_exc_current, 0);
		/* a frame handles it */
		host_mem_put64(W_TSTATE + l->ts_exc_state + l->exc_value, some);
		assert_int_equal(status_now(), EXCEPTION);
		/* the slot is unused: None in 3.11 and 3.12 */
		host_mem_put64(W_TSTATE + l->ts_exc_state + l->exc_value, W_NONE);
		assert_int_equal(status_now(), STATUS_ON_CPU);
	}
}

/* Write a chain of n generators' stack items, newest first, all without an exception. */
static void chain_items(int n)
{
	const struct py_layout *l = &w.img.layout;
	int k;

	for (k = 0; k < n; k++) {
		u64 item = W_HEAP + 0x500000 + k * 4096;

		host_mem_map(item, 64);
		host_mem_put64(item + l->exc_value, k % 2 ? W_NONE : 0);
		host_mem_put64(item + l->exc_previous,
			       k + 1 < n ? item + 4096 : W_TSTATE + l->ts_exc_state);
	}
	if (l->ts_exc_info != ABI_NO_OFF)
		host_mem_put64(W_TSTATE + l->ts_exc_info, W_HEAP + 0x500000);
}

static void test_generator_exceptions(void **state)
{
	const struct py_layout *l = &w.img.layout;
	int minor, n, k;

	EACH_MINOR(minor) {
		if (minor == 6)		/* one item only, in the thread state */
			continue;
		world_init(&w, minor);
		world_recurse(&w, 3);
		for (n = 1; n <= 8; n++) {
			chain_items(n);
			assert_int_equal(status_now(), STATUS_ON_CPU);
			for (k = 0; k < n; k++) {
				u64 value = W_HEAP + 0x500000 + k * 4096 + l->exc_value;

				host_mem_put64(value, 0x1234560);
				assert_int_equal(status_now(), EXCEPTION);
				host_mem_put64(value, 0);
			}
			host_mem_put64(W_TSTATE + l->ts_exc_state + l->exc_value, 0x1234560);
			assert_int_equal(status_now(), EXCEPTION);
			host_mem_put64(W_TSTATE + l->ts_exc_state + l->exc_value, 0);
		}
		/* MAX_EXC_ITEMS: after eight items the thread's own is not reached. */
		chain_items(9);
		host_mem_put64(W_TSTATE + l->ts_exc_state + l->exc_value, 0x1234560);
		assert_int_equal(status_now(), STATUS_ON_CPU);
		host_mem_put64(W_TSTATE + l->ts_exc_state + l->exc_value, 0);
		/* A cycle, and an address that is not mapped. */
		host_mem_put64(W_HEAP + 0x500000 + l->exc_previous, W_HEAP + 0x500000);
		assert_int_equal(status_now(), STATUS_ON_CPU);
		host_mem_put64(W_HEAP + 0x500000 + l->exc_previous, 0x10);
		assert_int_equal(status_now(), STATUS_ON_CPU);
	}
}

static void test_gc(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const struct raw_sample *s;
	u32 at;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 20);
		host_mem_put32(world_collecting(&w), 1);
		/* Another thread collects: this one does not hold the GIL. */
		world_expect(&w, 20, 0);
		if (l->gil_how == PY_GIL_RT_CURRENT)
			host_mem_put64(w.proc.current, W_TSTATE);
		else
			host_mem_put32(W_TSTATE + l->ts_gil, l->ts_gil_mask);
		s = world_expect(&w, 20, RAW_GC);
		assert_int_equal(s->gc_at, 0);
		assert_int_equal(l->interp_gc_frame == ABI_NO_OFF32, minor < 15);
		if (l->interp_gc_frame != ABI_NO_OFF32) {
			for (at = 0; at < 20; at++) {
				host_mem_put64(W_INTERP + l->interp_gc_frame, w.at[19 - at]);
				assert_int_equal(world_expect(&w, 20, RAW_GC)->gc_at, at);
			}
			host_mem_put64(W_INTERP + l->interp_gc_frame, 0x123);
			assert_int_equal(world_expect(&w, 20, RAW_GC)->gc_at, 0);
		}
		host_mem_put32(world_collecting(&w), 0);
		assert_int_equal(world_expect(&w, 20, 0)->gc_at, 0);
	}
}

/*
 * Free-threaded: other threads run during a collection. From 3.15 on, gc_frame shows which thread
 * collects.
 */
static void test_gc_free_threaded(void **state)
{
	const struct py_layout *l = &w.img.layout;
	int build;

	for (build = 13 + FREE_THREADED; build <= 15 + FREE_THREADED; build++) {
		world_init(&w, build);
		world_recurse(&w, 20);
		assert_int_equal(l->interp_gc_frame == ABI_NO_OFF32, build < 15 + FREE_THREADED);
		host_mem_put32(W_TSTATE + l->ts_gil, l->ts_gil_mask);
		assert_int_equal(status_now() & STATUS_HAS_GIL, STATUS_HAS_GIL);
		if (l->interp_gc_frame == ABI_NO_OFF32)
			continue;
		host_mem_put32(world_collecting(&w), 1);
		world_expect(&w, 20, 0);
		host_mem_put64(W_INTERP + l->interp_gc_frame, W_HEAP);	/* another thread's frame */
		world_expect(&w, 20, 0);
		host_mem_put64(W_INTERP + l->interp_gc_frame, w.at[12]);
		assert_int_equal(world_expect(&w, 20, RAW_GC)->gc_at, 7);
	}
}

static void test_gc_unknown(void **state)
{
	const struct py_layout *l = &w.img.layout;

	world_init(&w, 14);
	world_recurse(&w, 3);
	host_mem_put32(world_collecting(&w), 1);
	host_mem_put32(W_TSTATE + l->ts_gil, l->ts_gil_mask);
	world_expect(&w, 3, RAW_GC);
	w.proc.l.interp_gc_collecting = ABI_NO_OFF32;
	world_put_proc(&w);
	world_expect(&w, 3, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gil),
		cmocka_unit_test(test_no_gil_known),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_generator_exceptions),
		cmocka_unit_test(test_gc),
		cmocka_unit_test(test_gc_free_threaded),
		cmocka_unit_test(test_gc_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
