// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_thread_status.c - the status from a PyThreadState: GIL, exceptions, garbage collection, and
 * whether it is the main thread's.
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
		host_mem_put64(W_TSTATE + l->ts_exc_state, some);
		assert_int_equal(status_now(), EXCEPTION);
		/* the slot is unused: None in 3.11 and 3.12 */
		host_mem_put64(W_TSTATE + l->ts_exc_state, W_NONE);
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
		host_mem_put64(item, k % 2 ? W_NONE : 0);
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
				u64 value = W_HEAP + 0x500000 + k * 4096;

				host_mem_put64(value, 0x1234560);
				assert_int_equal(status_now(), EXCEPTION);
				host_mem_put64(value, 0);
			}
			host_mem_put64(W_TSTATE + l->ts_exc_state, 0x1234560);
			assert_int_equal(status_now(), EXCEPTION);
			host_mem_put64(W_TSTATE + l->ts_exc_state, 0);
		}
		/* MAX_EXC_ITEMS: after eight items the thread's own is not reached. */
		chain_items(9);
		host_mem_put64(W_TSTATE + l->ts_exc_state, 0x1234560);
		assert_int_equal(status_now(), STATUS_ON_CPU);
		host_mem_put64(W_TSTATE + l->ts_exc_state, 0);
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
			/* another thread's */
			host_mem_put64(W_INTERP + l->interp_gc_frame, 0x123);
			world_expect(&w, 20, 0);
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

/* ---- the main thread ---- */

#define SECOND (1ull << 30)	/* see is_main_thread() */
#define TP_2 (W_TP + 0x100000)
#define TSTATE_2 (W_TSTATE + 0x100000)

static void copy_memory(u64 to, u64 from, u64 len)
{
	u8 page[4096];

	host_mem_map(to, len);
	for (; len; to += sizeof(page), from += sizeof(page), len -= sizeof(page)) {
		assert_int_equal(host_mem_read(NULL, from, page, sizeof(page)), 0);
		host_mem_write(to, page, sizeof(page));
	}
}

/*
 * Let another thread run, with the same frames. From 3.14 on the thread state says which is the
 * main thread, so it has its own.
 */
static void run_second_thread(void)
{
	const struct py_layout *l = &w.img.layout;

	copy_memory(TP_2 - 4096, W_TP - 4096, 4 * 4096);
	host.task.pid++;
	host.task.THREAD_POINTER = TP_2;
	if (l->interp_threads_main == ABI_NO_OFF32)
		return;
	copy_memory(TSTATE_2, W_TSTATE, 4096);
	host_mem_put64(TSTATE_2 + l->ts_exc_info, TSTATE_2 + l->ts_exc_state);
	host_mem_put64(TSTATE_2 + l->ts_thread_id, TP_2);
	host_mem_put64(TP_2 - 64, TSTATE_2);
	host_mem_put64(TP_2 + W_TSS + 16 * 3 + 8, TSTATE_2);
}

static void run_first_thread(void)
{
	host.task.pid--;
	host.task.THREAD_POINTER = W_TP;
}

/* The second thread is the main thread now. */
static void make_second_main(void)
{
	if (w.img.layout.interp_threads_main == ABI_NO_OFF32)
		host_mem_put64(w.proc.main_id, TP_2);
	else
		host_mem_put64(W_INTERP + w.img.layout.interp_threads_main, TSTATE_2);
}

static bool is_main_now(void)
{
	const struct raw_sample *s = world_sample();

	assert_non_null(s);
	return s->status & STATUS_MAIN_THREAD;
}

/* An interpreter that says which thread is the main one. Returns false: this CPython has none. */
static bool begin_main(int minor)
{
	world_init(&w, minor);
	world_recurse(&w, 3);
	if (w.img.layout.interp_id != ABI_NO_OFF32)
		host_mem_put64(W_INTERP + w.img.layout.interp_id, 0);
	host.now_ns = 5 * SECOND;
	return w.img.layout.interp_threads_main != ABI_NO_OFF32 || w.proc.main_id;
}

/* As soon as the main thread was seen, another one looks once a second whether it is that. */
static void test_second_thread(void **state)
{
	u64 reads;
	int minor, i;

	EACH_MINOR(minor) {
		if (!begin_main(minor))
			continue;
		assert_true(is_main_now());
		run_second_thread();
		assert_false(is_main_now());
		reads = host.reads;
		host.now_ns += SECOND;
		assert_false(is_main_now());
		assert_int_equal(host.reads, reads + 1);
		for (i = 0; i < 5; i++) {
			assert_false(is_main_now());
			assert_int_equal(host.reads, reads);
		}
		run_first_thread();
		assert_true(is_main_now());
	}
}

/* A fork by another thread makes that the child's main thread. Its entry is a new one. */
static void test_main_thread_not_seen(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		if (!begin_main(minor))
			continue;
		run_second_thread();
		assert_false(is_main_now());
		make_second_main();
		assert_true(is_main_now());
	}
}

static void test_main_thread_changes(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		if (!begin_main(minor))
			continue;
		assert_true(is_main_now());
		run_second_thread();
		assert_false(is_main_now());
		make_second_main();
		host.now_ns += SECOND;
		assert_true(is_main_now());
		assert_true(is_main_now());
	}
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
		cmocka_unit_test(test_second_thread),
		cmocka_unit_test(test_main_thread_not_seen),
		cmocka_unit_test(test_main_thread_changes),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
