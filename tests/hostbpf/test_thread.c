// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_thread.c - how the current thread's PyThreadState is found.
 */
#include "world.h"

static struct world w;

/* A thread with three frames. Nothing leads to its state yet. */
static void hidden_thread(int minor, u8 how)
{
	world_init(&w, minor);
	world_recurse(&w, 3);
	host_mem_put64(W_TP - 64, 0);
	host_mem_put64(W_TP + W_TSS + 16 * 3 + 8, 0);
	w.proc.tstate_how = how;
	world_put_proc(&w);
}

static void set_key(u32 key)
{
	u64 rt = W_RUNTIME + w.img.rt.tss_key;

	host_mem_put32(rt, 1);
	host_mem_put32(rt + 4, key);
	world_put_proc(&w);
}

static void test_tss_first_block(void **state)
{
	u32 key;

	for (key = 0; key < 32; key++) {
		hidden_thread(13, PY_TSTATE_TSS_GLIBC);
		set_key(key);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(W_TP + W_TSS + 16 * key + 8, W_TSTATE);
		world_expect(&w, 3, 0);
		assert_int_equal(world_proc()->tss_key, key);
	}
}

static void test_tss_second_level(void **state)
{
	static const u32 keys[] = { 32, 33, 63, 64, 500, 1023 };
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		u64 block = W_HEAP + 0x100000 + 4096 * i;

		hidden_thread(12, PY_TSTATE_TSS_GLIBC);
		set_key(keys[i]);
		/* No block: this thread has set no key of that block. */
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(W_TP + W_TSS + 512 + 8 * (keys[i] / 32), block);
		world_expect_end(CNT_TSTATE_UNREADABLE);
		host_mem_map(block, 512);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(block + 16 * (keys[i] % 32) + 8, W_TSTATE);
		world_expect(&w, 3, 0);
	}
}

static void test_tss_not_ready(void **state)
{
	u64 rt;

	hidden_thread(11, PY_TSTATE_TSS_GLIBC);
	rt = W_RUNTIME + w.img.rt.tss_key;
	host_mem_put64(W_TP + W_TSS + 8, W_TSTATE);
	host_mem_put32(rt, 0);
	host_mem_put32(rt + 4, 0);
	world_expect_end(CNT_NOT_READY);
	assert_int_equal(world_proc()->tss_key, -1);
	host_mem_put32(rt, 1);
	world_expect(&w, 3, 0);
	/* The key is read once. */
	host_mem_put32(rt, 0);
	world_expect(&w, 3, 0);
	/* A key cannot be PTHREAD_KEYS_MAX or more. */
	hidden_thread(11, PY_TSTATE_TSS_GLIBC);
	set_key(1024);
	world_expect_end(CNT_NATIVE_THREAD);
	hidden_thread(11, PY_TSTATE_TSS_GLIBC);
	host_mem_unmap(W_RUNTIME, 4 * 4096);
	world_expect_end(CNT_NOT_READY);
}

static void test_tls_fs(void **state)
{
	static const s64 offs[] = { -8, -64, -4000, 16, 4096 };
	size_t i;

	for (i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		hidden_thread(15, PY_TSTATE_TLS_TP);
		w.proc.tls_off = offs[i];
		world_put_proc(&w);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(W_TP + offs[i], W_TSTATE);
		world_expect(&w, 3, 0);
	}
}

/* musl: one pointer for each key, in the thread's table. */
static void test_tss_musl(void **state)
{
	static const u32 keys[] = { 0, 1, 5, 63, 127 };
	const u64 tsd = W_HEAP + 0x100000;
	size_t i;
	int minor;

	EACH_MINOR(minor) {
		if (minor > 14)
			continue;
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			hidden_thread(minor, PY_TSTATE_TSS_MUSL);
			set_key(keys[i]);
			world_expect_end(CNT_NATIVE_THREAD);	/* a thread without a table */
			host_mem_put64(W_TP + W_MUSL_TSD, tsd);
			host_mem_unmap(tsd, 4096);
			world_expect_end(CNT_TSTATE_UNREADABLE);
			host_mem_map(tsd, 4096);
			world_expect_end(CNT_NATIVE_THREAD);
			host_mem_put64(tsd + 8 * keys[i], W_TSTATE);
			world_expect(&w, 3, 0);
			assert_int_equal(world_proc()->tss_key, keys[i]);
		}
		/* A key cannot be musl's PTHREAD_KEYS_MAX or more. */
		hidden_thread(minor, PY_TSTATE_TSS_MUSL);
		set_key(128);
		host_mem_map(tsd, 4096);
		host_mem_put64(W_TP + W_MUSL_TSD, tsd);
		host_mem_put64(tsd + 8 * 128, W_TSTATE);
		world_expect_end(CNT_NATIVE_THREAD);
	}
}

static void expect_dtv(u8 how, u64 entry, u64 none)
{
	const u64 index = W_RUNTIME + 0x2000, dtv = W_HEAP + 0x200000, block = W_HEAP + 0x300000;

	hidden_thread(15, how);
	host_mem_map(dtv, 2 * 4096);
	host_mem_map(block, 4096);
	w.proc.tls_index = index;
	w.proc.tls_off = 24;
	world_put_proc(&w);
	host_mem_put64(index, 5);
	host_mem_put64(index + 8, 0x40);
	world_expect_end(CNT_TSTATE_UNREADABLE);
	host_mem_put64(W_TP + W_DTV, dtv);
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(dtv + entry * 5, none);	/* this thread has no block */
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(dtv + entry * 5, block);
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(block + 0x40 + 24, W_TSTATE);
	world_expect(&w, 3, 0);
	host_mem_put64(index, 4097);	/* too many modules */
	world_expect_end(CNT_TSTATE_UNREADABLE);
}

static void test_tls_dtv(void **state)
{
	expect_dtv(PY_TSTATE_TLS_DTV, 16, UINT64_MAX);
	expect_dtv(PY_TSTATE_TLS_DTV_MUSL, 8, 0);
}

/* Resolver and argument: an offset from the thread pointer, or a tls_index' address. */
static void test_tls_desc(void **state)
{
	const u64 desc = W_RUNTIME + 0x2000, index = W_HEAP + 0x100000, dtv = W_HEAP + 0x200000;
	const u64 block = W_HEAP + 0x300000;

	hidden_thread(15, PY_TSTATE_TLS_DESC);
	host_mem_map(index, 4096);
	host_mem_map(dtv, 4096);
	host_mem_map(block, 4096);
	w.proc.tls_index = desc;
	w.proc.tls_off = 8;
	world_put_proc(&w);
	host_mem_put64(W_TP + 8, 0xbad);
	host_mem_put64(W_TP + 0x38 + 8, W_TSTATE);
	/* The dynamic linker has not filled in the descriptor yet. */
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(desc + 8, 0x38);
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(desc, 0x7f0000001000);
	world_expect(&w, 3, 0);
	/* The library was loaded later: through the DTV. */
	host_mem_put64(desc + 8, index);
	host_mem_put64(W_TP + W_DTV, 0);
	world_expect_end(CNT_TSTATE_UNREADABLE);
	host_mem_put64(index, 3);
	host_mem_put64(index + 8, 0x20);
	host_mem_put64(W_TP + W_DTV, dtv);
	world_expect_end(CNT_NATIVE_THREAD);	/* the thread has no block yet */
	host_mem_put64(dtv + 16 * 3, block);
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(block + 0x20 + 8, W_TSTATE);
	world_expect(&w, 3, 0);
	/* The argument is neither an offset nor an address. */
	host_mem_put64(desc + 8, 0x10000000000);
	world_expect_end(CNT_TSTATE_UNREADABLE);
	host_mem_unmap(desc, 4096);
	world_expect_end(CNT_TSTATE_UNREADABLE);
}

/* arm64: pthread_self() is below the thread pointer. */
static void test_self_below(void **state)
{
	const u64 self = W_TP - 0x740;

	hidden_thread(13, PY_TSTATE_TSS_GLIBC);
	w.proc.self_below = 0x740;
	set_key(5);
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(self + W_TSS + 16 * 5 + 8, W_TSTATE);
	world_expect(&w, 3, 0);

	hidden_thread(13, PY_TSTATE_LIST);
	w.proc.self_below = 0x740;
	world_put_proc(&w);
	host_mem_put64(W_TSTATE + w.img.layout.ts_thread_id, W_TP);
	world_expect_end(CNT_NATIVE_THREAD);
	host_mem_put64(W_TSTATE + w.img.layout.ts_thread_id, self);
	world_expect(&w, 3, 0);
}

/* The kernel does not know the thread pointer yet. */
static void test_no_thread_pointer(void **state)
{
	static const u8 hows[] = {
		PY_TSTATE_TSS_GLIBC, PY_TSTATE_TLS_TP, PY_TSTATE_TLS_DTV, PY_TSTATE_LIST,
		PY_TSTATE_TLS_DESC,
	};
	const struct py_layout *l = &w.img.layout;
	size_t i;

	for (i = 0; i < sizeof(hows); i++) {
		hidden_thread(i & 1 ? 15 : 12, hows[i]);
		host.task.THREAD_POINTER = 0;
		host.signal.nr_threads = 1;
		world_expect(&w, 3, 0);	/* the only thread's state is the only one */
		host_mem_put64(W_TSTATE + l->ts_next, W_TSTATE);
		world_expect_end(CNT_NOT_READY);
		host_mem_put64(W_TSTATE + l->ts_next, 0);
		host_mem_put64(W_INTERP + l->interp_next, W_INTERP);
		world_expect_end(CNT_NOT_READY);
		host_mem_put64(W_INTERP + l->interp_next, 0);
		host.signal.nr_threads = 2;
		world_expect_end(CNT_NOT_READY);
		host.signal.nr_threads = 1;
		host_mem_put64(W_INTERP + l->interp_threads_head, 0);
		world_expect_end(CNT_NOT_READY);
		host_mem_put64(w.proc.interps, 0);
		world_expect_end(CNT_NOT_READY);
		host_mem_unmap(W_RUNTIME, 4096);
		world_expect_end(CNT_NOT_READY);
	}
}

/* arm64: the kernel has the thread pointer from before the exec. */
static void test_stale_thread_pointer(void **state)
{
	static const u8 hows[] = { PY_TSTATE_TSS_GLIBC, PY_TSTATE_TLS_TP, PY_TSTATE_TLS_DESC };
	size_t i;

	for (i = 0; i < sizeof(hows); i++) {
		hidden_thread(i ? 15 : 12, hows[i]);
		host.task.THREAD_POINTER = 0x66660000;
		host.signal.nr_threads = 1;
		world_expect(&w, 3, 0);
		host_mem_put64(w.proc.interps, 0);
		world_expect_end(CNT_NOT_READY);
		/* With several threads it is current, so this is a loss. */
		host_mem_put64(w.proc.interps, W_INTERP);
		host.signal.nr_threads = 2;
		world_expect_end(CNT_TSTATE_UNREADABLE);
	}
}

/* Interpreters with some threads each. The current thread is the last one of the last one. */
static void test_list(void **state)
{
	const struct py_layout *l = &w.img.layout;
	u64 is, ts, prev;
	int i, k, minor;

	EACH_MINOR(minor) {
		hidden_thread(minor, PY_TSTATE_LIST);
		if (l->gil_how == PY_GIL_RT_CURRENT)
			host_mem_put64(w.proc.current, W_TSTATE);
		host_mem_put64(W_TSTATE + l->ts_thread_id, 0xdead);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_put64(W_TSTATE + l->ts_thread_id, W_TP);
		world_expect(&w, 3, 0);
		/* After three interpreters with ten other threads each. */
		for (i = 0; i < 3; i++) {
			is = W_INTERP + (i + 1) * 0x200000;
			host_mem_map(is, 256 * 1024);
			host_mem_put64(is + l->interp_next,
				       i ? W_INTERP + i * 0x200000 : W_INTERP);
			prev = is + l->interp_threads_head;
			for (k = 0; k < 10; k++) {
				ts = W_TSTATE + (1 + i * 10 + k) * 4096;
				host_mem_map(ts, 4096);
				host_mem_put64(prev, ts);
				host_mem_put64(ts + l->ts_thread_id, 0xbad0 + k);
				if (l->ts_status != ABI_NO_OFF)
					host_mem_put32(ts + l->ts_status, TS_BOUND_GILSTATE);
				prev = ts + l->ts_next;
			}
		}
		host_mem_put64(w.proc.interps, W_INTERP + 3 * 0x200000);
		world_expect(&w, 3, 0);
		/* The search in lists with a cycle ends. */
		host_mem_put64(prev, W_TSTATE + 21 * 4096);
		host_mem_put64(W_INTERP + 3 * 0x200000 + l->interp_next, W_INTERP + 3 * 0x200000);
		world_expect_end(CNT_TSTATE_UNCERTAIN);
	}
}

/* PY_TSTATE_LIST finds the last of 6,000 threads. Of 9,000 the result is uncertain. */
static void test_long_list(void **state)
{
	const struct py_layout *l = &w.img.layout;
	u64 heap = W_HEAP + 0x8000000, prev, ts = 0;
	int k, minor;

	EACH_MINOR(minor) {
		hidden_thread(minor, PY_TSTATE_LIST);
		prev = W_INTERP + l->interp_threads_head;
		host_mem_map(heap, 9000 * 512ull);
		for (k = 0; k < 6000; k++, prev = ts + l->ts_next) {
			ts = heap + k * 512ull;
			host_mem_put64(prev, ts);
			host_mem_put64(ts + l->ts_thread_id, 0xbad00 + k);
		}
		host_mem_put64(prev, W_TSTATE);
		world_expect(&w, 3, 0);
		for (; k < 9000; k++, prev = ts + l->ts_next) {
			ts = heap + k * 512ull;
			host_mem_put64(prev, ts);
			host_mem_put64(ts + l->ts_thread_id, 0xbad00 + k);
		}
		host_mem_put64(prev, W_TSTATE);
		world_expect_end(CNT_TSTATE_UNCERTAIN);
		host_mem_put64(heap + 4000 * 512 + l->ts_next, 0x10);
		world_expect_end(CNT_TSTATE_UNREADABLE);
	}
}

/* The list first has a state of this thread that the thread does not run. */
static void test_list_idle_state(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const u64 idle = W_TSTATE + 4096;
	int minor;

	for (minor = 12; minor <= LAYOUT_MINOR_MAX; minor++) {
		hidden_thread(minor, PY_TSTATE_LIST);
		host_mem_map(idle, 4096);
		host_mem_put64(W_INTERP + l->interp_threads_head, idle);
		host_mem_put64(idle + l->ts_next, W_TSTATE);
		host_mem_put64(idle + l->ts_thread_id, W_TP);
		world_expect(&w, 3, 0);
		/* Both are bound. In 3.12 one may be bound to another thread. */
		if (minor == 12) {
			host_mem_put32(idle + l->ts_status, TS_BOUND_GILSTATE);
			world_expect_end(CNT_TSTATE_UNCERTAIN);
			host_mem_put32(idle + l->ts_status, 0);
		}
		host_mem_put32(W_TSTATE + l->ts_status, 0);
		world_expect_end(CNT_TSTATE_UNCERTAIN);
	}
}

/* Write a _PyCFrame on the C stack, the only one of the state ts apart from its first. */
static void put_cframe(u64 ts, u64 addr, u64 frame)
{
	const struct py_layout *l = &w.img.layout;

	host_mem_map(addr, 64);
	host_mem_put64(addr + l->cframe_frame, frame);
	host_mem_put64(addr + l->cframe_frame + 8, ts + W_ROOT_CFRAME - W_TSTATE);
	host_mem_put64(ts + W_ROOT_CFRAME - W_TSTATE + l->cframe_frame, 0);
	host_mem_put64(ts + l->ts_frame, addr);
}

/* A sample with three frames, those of the outer interpreter behind them. */
static const struct raw_sample *expect_inside(void)
{
	const struct raw_sample *s = world_sample();

	assert_non_null(s);
	assert_int_equal(s->flags, 0);
	assert_int_equal(s->nframes, 3 + 1 + 3);
	return s;
}

/*
 * 3.11: the key leads to the thread's first state. The state that the thread runs in another
 * interpreter is the one that holds the GIL, or whose _PyCFrame is innermost in its C stack.
 */
static void test_first_state_is_not_the_one(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const u64 other = W_INTERP + 0x200000, sub = W_TSTATE + 4096, cframe = W_CSTACK + 4096;

	world_init(&w, 11);
	host_mem_put64(W_INTERP + l->interp_id, 0);
	world_recurse(&w, 1);
	host_mem_put8(w.top + l->fr_is_entry, 1);
	world_recurse(&w, 2);
	host_mem_map(other, 256 * 1024);
	host_mem_map(sub, 4096);
	put_cframe(W_TSTATE, cframe, w.top);
	host_mem_put64(w.proc.interps, other);
	host_mem_put64(other + l->interp_next, W_INTERP);
	host_mem_put64(other + l->interp_id, 5);
	host_mem_put64(other + l->interp_threads_head, sub);
	host_mem_put64(W_INTERP + l->interp_threads_head, W_TSTATE);
	host_mem_put64(sub + l->ts_interp, other);
	host_mem_put64(sub + l->ts_thread_id, 0xdead);		/* its creator's */
	host_mem_put64(sub + l->ts_exc_info, sub + l->ts_exc_state);
	/* The tick was not in user space, so the stack pointer is unknown. */
	host.regs.cs = 0;
	world_expect_end(CNT_TSTATE_UNCERTAIN);
	host.regs.cs = 0x33;
	host.regs.sp = cframe - 256;
	/* No thread runs the other state: its _PyCFrame is the one in the state. */
	host_mem_put64(sub + l->ts_frame, sub + 128);
	assert_int_equal(world_expect(&w, 3, 0)->interp_id, 0);
	/* Another thread runs it: its _PyCFrame is in another C stack. */
	host_mem_put64(sub + l->ts_frame, cframe - 257);
	assert_int_equal(world_expect(&w, 3, 0)->interp_id, 0);
	/* This thread runs it: its _PyCFrame is further in. */
	put_cframe(sub, cframe - 128, w.top);
	assert_int_equal(expect_inside()->interp_id, 5);
	/* ... and holds the GIL */
	host_mem_put64(w.proc.current, sub);
	assert_true(expect_inside()->status & STATUS_HAS_GIL);
	/* The thread runs its first state again, which holds the GIL. */
	host_mem_put64(w.proc.current, W_TSTATE);
	assert_int_equal(world_expect(&w, 3, 0)->interp_id, 0);
	/* Without ts_cframe the GIL decides, if the process has only one thread. */
	host_mem_put64(w.proc.current, sub);
	w.proc.l.ts_cframe = ABI_NO_OFF;
	world_put_proc(&w);
	assert_int_equal(expect_inside()->interp_id, 5);
	host.signal.nr_threads = 2;
	world_expect_end(CNT_TSTATE_UNCERTAIN);
	host_mem_put64(w.proc.current, W_TSTATE);
	assert_int_equal(world_expect(&w, 3, 0)->interp_id, 0);
	host_mem_put64(w.proc.current, sub);
	host_mem_put64(w.proc.interps, W_INTERP);
	assert_int_equal(world_expect(&w, 3, 0)->interp_id, 0);
}

static bool is_main(void)
{
	return world_expect(&w, 3, 0)->status & STATUS_MAIN_THREAD;
}

static void test_main_thread(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const u64 other = W_INTERP + 0x200000, outer = W_TSTATE + 0x10000;
	int minor;

	EACH_MINOR(minor) {
		bool by_state = minor >= 14;
		u64 at;

		world_init(&w, minor);
		world_recurse(&w, 3);
		if (l->interp_id != ABI_NO_OFF32)
			host_mem_put64(W_INTERP + l->interp_id, 0);
		at = by_state ? W_INTERP + l->interp_threads_main : w.proc.main_id;
		assert_int_equal(l->interp_threads_main != ABI_NO_OFF32, by_state);
		assert_true(is_main());
		if (!by_state && !w.proc.main_id) {	/* 3.6, 3.7: the first thread */
			host.task.pid = 1002;
			assert_false(is_main());
			continue;
		}
		/* It was stored. world_put_proc() deletes what was stored. */
		assert_int_equal(world_proc()->main_thread, by_state ? W_TSTATE : W_TP);
		world_put_proc(&w);
		host_mem_put64(at, W_TSTATE + 4096);
		assert_false(is_main());
		host_mem_put64(at, 0);	/* a child that another thread has forked */
		assert_false(is_main());
		/* Not the first thread, but the one that has initialised Python. */
		host.task.pid = 1002;
		host_mem_put64(at, by_state ? W_TSTATE : W_TP);
		assert_true(is_main());
		if (!by_state)
			continue;
		/*
		 * Each interpreter has one. That of the main interpreter is used, also inside
		 * another.
		 */
		host_mem_map(other, 256 * 1024);
		host_mem_put64(other + l->interp_id, 5);
		host_mem_put64(W_TSTATE + l->ts_interp, other);
		host_mem_put64(other + l->interp_threads_main, W_TSTATE);
		host_mem_map(outer, 4096);
		host_mem_put64(outer + l->ts_thread_id, 0xdead);
		host_mem_put64(at, outer);
		assert_false(is_main());
		host_mem_put64(outer + l->ts_thread_id, W_TP);
		assert_true(is_main());
		world_put_proc(&w);	/* the main interpreter was not seen yet */
		assert_false(is_main());
		host.task.pid = host.task.tgid;
		assert_true(is_main());
	}
}

/* Each sample has the id of the interpreter that the thread runs. */
static void test_interpreters(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const u64 other = W_INTERP + 0x200000;
	int minor, i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		if (l->interp_id == ABI_NO_OFF32)
			continue;
		host_mem_map(other, 256 * 1024);
		host_mem_put64(W_INTERP + l->interp_id, 0);
		host_mem_put64(other + l->interp_id, 5);
		for (i = 0; i < 6; i++) {
			host_mem_put64(W_TSTATE + l->ts_interp, i % 2 ? other : W_INTERP);
			if (l->gil_how == PY_GIL_RT_CURRENT)
				host_mem_put64(w.proc.current, W_TSTATE);
			assert_int_equal(world_expect(&w, 3, 0)->interp_id, i % 2 ? 5 : 0);
		}
	}
}

static void test_unknown_how(void **state)
{
	hidden_thread(13, 77);
	world_expect_end(CNT_NATIVE_THREAD);
}

static void test_tstate_unreadable(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		host_mem_unmap(W_TSTATE, 4096);
		world_expect_end(CNT_TSTATE_UNREADABLE);
		host.mm.start_code = 0;		/* during an exec */
		world_expect_end(CNT_NOT_READY);
		host.task.flags = PF_EXITING;
		world_expect_end(CNT_NATIVE_THREAD);
	}
	for (minor = 11; minor <= 12; minor++) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		host_mem_put64(W_TSTATE + w.img.layout.ts_frame, 0xdead0000);	/* _PyCFrame */
		world_expect_end(CNT_TSTATE_UNREADABLE);
	}
}

/*
 * A thread exits: its thread pointer may lead to the state of a new thread, and its memory may be
 * unmapped, which is no loss.
 */
static void test_exiting_thread(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		world_expect(&w, 3, 0);
		host.task.flags |= PF_EXITING;
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_unmap(W_TSTATE, 4096);
		world_expect_end(CNT_NATIVE_THREAD);
		host_mem_unmap(W_TP - 4096, 4 * 4096);
		world_expect_end(CNT_NATIVE_THREAD);
		host.task.flags &= ~PF_EXITING;
		host.signal.nr_threads = 2;	/* of one, the thread pointer may be unknown */
		world_expect_end(CNT_TSTATE_UNREADABLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tss_first_block),
		cmocka_unit_test(test_tss_second_level),
		cmocka_unit_test(test_tss_not_ready),
		cmocka_unit_test(test_tls_fs),
		cmocka_unit_test(test_tss_musl),
		cmocka_unit_test(test_tls_dtv),
		cmocka_unit_test(test_tls_desc),
		cmocka_unit_test(test_self_below),
		cmocka_unit_test(test_no_thread_pointer),
		cmocka_unit_test(test_stale_thread_pointer),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_list_idle_state),
		cmocka_unit_test(test_first_state_is_not_the_one),
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_interpreters),
		cmocka_unit_test(test_unknown_how),
		cmocka_unit_test(test_tstate_unreadable),
		cmocka_unit_test(test_exiting_thread),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
