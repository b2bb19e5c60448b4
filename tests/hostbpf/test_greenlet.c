// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_greenlet.c - stacks in the middle of a greenlet's switch. 3.11 and later.
 */
#include "world.h"

#define OBJECTS 0x5660000000ull
#define OBJECT_STEP 256
#define CFRAME (W_CSTACK + 8192)	/* world_enter()'s */
#define SP (W_CSTACK + 4096)

static struct world w;

static u64 object_at(u32 i)
{
	return OBJECTS + i * OBJECT_STEP;
}

/* Give frame i of w.want an object, as greenlet does before it leaves a greenlet. */
static void make_object(u32 i, u64 kept)
{
	const struct py_layout *l = &w.img.layout;

	host_mem_map(object_at(i), OBJECT_STEP);
	host_mem_put64(w.at[i] + l->fr_object, object_at(i));
	host_mem_put64(object_at(i) + l->bytes_size + 8, w.at[i]);
	if (l->fo_data != ABI_NO_OFF)
		host_mem_put64(object_at(i) + l->fo_data, kept);
}

/* Greenlet::expose_frames() of the innermost cnt frames, as greenlet does it. */
static void expose(u32 cnt)
{
	u32 i, n = w.want_cnt;
	u64 kept;

	for (i = n; i-- > n - cnt;) {
		assert_int_equal(host_mem_read(NULL, w.at[i] + w.img.layout.fr_previous, &kept, 8),
				 0);
		make_object(i, kept);
		host_mem_put64(w.at[i] + w.img.layout.fr_previous, i ? w.at[i - 1] : 0);
	}
}

/* A stack of outer frames; C has called the interpreter, which has inner frames. */
static void two_calls(int minor, u32 outer, u32 inner)
{
	u64 from, shim = CFRAME + 64;
	u32 i;

	world_init(&w, minor);
	w.proc.l = w.img.layout;
	host.regs.sp = SP;
	host_mem_map(W_CSTACK, 16384);
	for (i = 0; i < outer; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 6 + 2 * i);
	if (w.img.minor == 11)
		host_mem_put8(w.at[0] + w.img.layout.fr_is_entry, 1);
	from = w.top;
	if (w.img.layout.end_shim)
		world_push_at(&w, shim, OWNER_SHIM, 0, 0);
	for (i = 0; i < inner; i++)
		world_push(&w, OWNER_THREAD, world_code(&w), 20 + 2 * i);
	if (w.img.minor == 11)
		host_mem_put8(w.at[outer] + w.img.layout.fr_is_entry, 1);
	if (w.img.layout.cframe_frame != ABI_NO_OFF)
		world_enter(&w, w.top, from);
}

/* 3.12+: greenlet takes the shims off the chain, frame by frame. The stack is whole meanwhile. */
static void test_exposed(void **state)
{
	static const int builds[] = { 12, 12 + TRACE_REFS, 13, 14, 15, 13 + FREE_THREADED,
				      14 + FREE_THREADED, 15 + FREE_THREADED };
	u32 outer, inner, cnt;
	size_t i;

	for (i = 0; i < sizeof(builds) / sizeof(builds[0]); i++)
		for (outer = 1; outer <= 3; outer++)
			for (inner = 1; inner <= 3; inner++)
				for (cnt = 0; cnt <= outer + inner; cnt++) {
					two_calls(builds[i], outer, inner);
					expose(cnt);
					world_expect(&w, outer + inner, 0);
					host.regs.cs = 0;	/* in the kernel: sp is unknown */
					world_expect(&w, outer + inner, 0);
					assert_int_equal(host_counter(CNT_ENTERING), 0);
				}
}

/*
 * A chain without its last shim is broken as before, unless it is a frame with its own object that
 * ends it. If that does not have the shim's address, more may be missing (greenlet 3.0.0 to 3.0.2).
 */
static void test_not_exposed(void **state)
{
	static const u64 kept[] = { 0, 8, W_CODES, W_HEAP, W_CHUNK, ~0ull };
	size_t i;
	int minor;

	for (minor = 13; minor <= LAYOUT_MINOR_MAX; minor++) {
		for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
			two_calls(minor, 2, 2);
			expose(4);
			make_object(0, kept[i]);
			world_expect(&w, 4, RAW_SWITCHING);
			assert_int_equal(host_counter(CNT_SWITCHING), 1);
		}
		/* another frame's object, memory that is not there */
		host_mem_put64(object_at(0) + w.img.layout.bytes_size + 8, w.at[1]);
		world_expect(&w, 4, RAW_BROKEN_END);
		host_mem_put64(w.at[0] + w.img.layout.fr_object, 0xdead0000);
		world_expect(&w, 4, RAW_BROKEN_END);
		/* a generator between two states */
		two_calls(minor, 1, 1);
		world_push(&w, OWNER_GENERATOR, world_code(&w), 6);
		expose(1);
		host_mem_put64(w.top + w.img.layout.fr_previous, 0);
		w.at[0] = w.top;
		world_expect(&w, 1, RAW_BROKEN_END);
	}
	/* 3.12: only the innermost frame is exposed, and its object has an old pointer. */
	two_calls(12, 2, 3);
	make_object(4, CFRAME + 0x10000);
	host_mem_put64(w.top + w.img.layout.fr_previous, 0);
	world_expect(&w, 1, RAW_SWITCHING);
}

/*
 * 3.11, 3.12: the state's _PyCFrame is overwritten. The true one is above the stack pointer, and
 * between them is the _PyCFrame of a call that has ended.
 */
static void test_overwritten_cframe(void **state)
{
	const u64 gone = CFRAME - 2048, place = SP + 512, dead = W_HEAP + 0x500000;
	const struct py_layout *l = &w.img.layout;
	int minor;

	for (minor = 11; minor <= 12; minor++) {
		two_calls(minor, 2, 3);
		make_object(4, CFRAME + 64);
		if (minor == 12)
			expose(5);
		host_mem_put64(W_TSTATE + l->ts_frame, gone);
		world_expect(&w, 5, 0);
		/* an ended call's: its frame has no object any more */
		host_mem_map(dead, 256);
		host_mem_put64(dead + l->fr_code, W_CODES);
		host_mem_put64(place + l->cframe_frame, dead);
		host_mem_put64(place + l->cframe_frame + 8, CFRAME);
		world_expect(&w, 5, 0);
		/* Nor is it found if it is too far away, or the stack pointer is unknown. */
		host.regs.sp = SP - 32768;
		host_mem_map(SP - 32768, 32768);
		world_expect(&w, 0, RAW_UNREADABLE);
		host.regs.sp = CFRAME + 256;
		world_expect(&w, 0, RAW_SWITCHING);
		assert_int_equal(host_counter(CNT_SWITCHING), 1);
		assert_int_equal(host_counter(CNT_UNREADABLE_FRAME), 1);
		host.regs.sp = 0;
		world_expect(&w, 0, RAW_UNREADABLE);
	}
}

/* Whatever the C stack has, the search ends, and a sample has frames only of a true chain. */
static void test_nonsense(void **state)
{
	const struct py_layout *l = &w.img.layout;
	u64 reads = 0, at;
	int minor, i;

	for (minor = 11; minor <= 12; minor++) {
		two_calls(minor, 2, 3);
		host_mem_put64(W_TSTATE + l->ts_frame, CFRAME - 2048);
		for (i = 0; i < 1024; i++) {
			at = SP + 8 * i;
			host_mem_put64(at, i & 1 ? at + 64 : w.at[i % 5]);
		}
		world_expect(&w, 0, RAW_UNREADABLE);
		assert_true(host.reads < 2500);
		reads += host.reads;
		/* live frames, in no order */
		for (i = 0; i < 5; i++)
			make_object(i, 0);
		assert_non_null(world_sample());
	}
	assert_true(reads > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exposed),
		cmocka_unit_test(test_not_exposed),
		cmocka_unit_test(test_overwritten_cframe),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
