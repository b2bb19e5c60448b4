// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_gc_calls.c - where in a stack a collection of garbage began that has called Python: by the
 * object that a frame was called with. And which thread collects while another one runs.
 */
#include "world.h"

static struct world w;

#define OBJECT (W_HEAP + 0x600000)
#define SP (W_CSTACK - 64 * 1024)
#define OUTER 5
#define INNER 3

enum called { WITH_FIRST, WITH_SECOND, WITH_GENERATOR, WITH_ITEM, CALLED_CNT };

static u64 head_of(u64 object)
{
	return object - w.img.layout.gc_head;
}

/*
 * Puts the object at the end of a list whose head is on the C stack, and which has another object;
 * or at its beginning.
 */
static u64 put_in_list(u64 object, bool first)
{
	u64 list = w.cstack -= 64, other = W_HEAP + 0x700000;

	host_mem_map(list, 64);
	host_mem_map(head_of(object), 64);
	host_mem_map(other, 64);
	host_mem_put64(list + (first ? 0 : 8), head_of(object));
	host_mem_put64(list + (first ? 8 : 0), other);
	/* finalized, and being collected: the flags of the list's pointers */
	host_mem_put64(head_of(object) + (first ? 8 : 0), list | (first ? 3 : 0));
	host_mem_put64(head_of(object) + (first ? 0 : 8), other | (first ? 0 : 3));
	return list;
}

/* The frame that is current now was called with the object in this way. */
static void call_with(u64 object, enum called how)
{
	const struct py_layout *l = &w.img.layout;
	u64 fr = w.top, tuple = W_HEAP + 0x800000;

	if (how == WITH_GENERATOR) {
		if (l->fr_owner == ABI_NO_OFF)
			host_mem_put64(fr + l->fr_generator, object);
		return;
	}
	if (how == WITH_ITEM) {
		host_mem_map(tuple, 64);
		host_mem_put64(tuple + l->bytes_size + 8, object);
		object = tuple;
	}
	host_mem_put64(fr + l->fr_locals + (how == WITH_SECOND ? 8 : 0),
		       object | (l->code_tag_mask & 1));
}

static void hold_gil(bool holds)
{
	const struct py_layout *l = &w.img.layout;

	if (l->gil_how == PY_GIL_RT_CURRENT)
		host_mem_put64(w.proc.current, holds ? W_TSTATE : 0);
	else
		host_mem_put32(W_TSTATE + l->ts_gil, holds ? l->ts_gil_mask : 0);
}

/* A collection runs, and this thread has OUTER frames. */
static void begin(int minor)
{
	world_init(&w, minor);
	w.locals = 60;
	host.regs.sp = SP;
	world_recurse(&w, OUTER);
	host_mem_put32(world_collecting(&w), 1);
}

/* And its C functions have called INNER frames, the outermost one with an object of a list. */
static void begin_call(int minor, enum called how, bool first)
{
	u64 object = OBJECT;
	u32 i;

	begin(minor);
	if (how == WITH_GENERATOR && w.img.layout.fr_owner != ABI_NO_OFF)
		object = w.heap - w.img.layout.fr_generator;
	host_mem_map(object, 64);
	put_in_list(object, first);
	world_shim(&w);
	for (i = 0; i < INNER; i++) {
		world_push(&w, how == WITH_GENERATOR && !i ? OWNER_GENERATOR : OWNER_THREAD,
			   world_code(&w), 2);
		if (!i && w.img.layout.fr_is_entry != ABI_NO_OFF)
			host_mem_put8(w.top + w.img.layout.fr_is_entry, 1);
		if (!i)
			call_with(object, how);
	}
}

/* 3.15's interpreter says it. */
static bool is_told(void)
{
	return w.img.layout.interp_gc_frame != ABI_NO_OFF32;
}

static void test_calls(void **state)
{
	int minor, how, first, holds;

	EACH_MINOR(minor) {
		for (how = 0; how < CALLED_CNT; how++) {
			for (first = 0; first < 2; first++) {
				begin_call(minor, how, first);
				if (how == WITH_ITEM && w.img.layout.end_shim)
					continue;	/* see test_a_call_passed_on() */
				for (holds = 0; holds < 2; holds++) {
					hold_gil(holds);
					assert_int_equal(world_expect(&w, OUTER + INNER,
								      RAW_GC)->gc_at,
							 INNER);
				}
			}
		}
	}
}

/* What the collection has called does not know the object, but the function that it calls does. */
static void test_a_call_passed_on(void **state)
{
	int minor, in;

	for (minor = 11; minor <= 15; minor++) {
		for (in = 1; in < INNER; in++) {
			u64 fr;

			begin_call(minor, WITH_FIRST, false);
			fr = w.at[OUTER];
			host_mem_put64(fr + w.img.layout.fr_locals, 0);
			fr = w.at[OUTER + in];
			host_mem_put64(fr + w.img.layout.fr_locals, OBJECT);
			assert_int_equal(world_expect(&w, OUTER + INNER, RAW_GC)->gc_at, INNER);
		}
	}
}

/* An object beside which there is no list's head, or one that is not on the C stack in use. */
static void test_other_objects(void **state)
{
	int minor;
	u64 list;

	EACH_MINOR(minor) {
		begin_call(minor, WITH_FIRST, false);
		list = w.cstack;
		world_expect(&w, OUTER + INNER, RAW_GC);
		host.regs.sp = list + 4096;
		world_expect(&w, OUTER + INNER, 0);
		host.regs.sp = SP;
		host_mem_put64(head_of(OBJECT), W_HEAP + 0x700000);
		world_expect(&w, OUTER + INNER, 0);
		begin_call(minor, WITH_FIRST, false);
		host_mem_put32(world_collecting(&w), 0);
		world_expect(&w, OUTER + INNER, 0);
	}
}

/* The neighbour does not know the object; the list has no end; an address is not mapped. */
static void test_hostile_lists(void **state)
{
	const u64 bad[] = { 0, 8, SP, W_CSTACK - 8, ~0ull };
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
			begin_call(minor, WITH_FIRST, false);
			host_mem_put64(head_of(OBJECT), bad[i]);
			host_mem_put64(head_of(OBJECT) + 8, bad[i]);
			world_expect(&w, OUTER + INNER, 0);
			begin_call(minor, WITH_FIRST, false);
			host_mem_put64(w.at[OUTER] + w.img.layout.fr_locals, bad[i]);
			world_expect(&w, OUTER + INNER, 0);
		}
	}
}

/* The interpreter's numbers of collections that are over. */
static u64 collections(void)
{
	return w.img.layout.interp_gc_stats != ABI_NO_OFF32 ?
		       W_INTERP + w.img.layout.interp_gc_stats : w.proc.gc_stats;
}

/*
 * With the flag alone, a collection is on top of the thread that holds the GIL. That does not move
 * meanwhile: if it does, the collection has called Python, and another thread waits in it.
 */
static void test_another_thread_collects(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		if (minor >= 15)
			continue;
		begin(minor);
		if (!collections())
			continue;
		hold_gil(true);
		world_expect(&w, OUTER, RAW_GC);
		world_expect(&w, OUTER, RAW_GC);
		world_push(&w, OWNER_THREAD, 2, 8);
		world_expect(&w, OUTER + 1, 0);
		world_push(&w, OWNER_THREAD, 3, 8);
		world_expect(&w, OUTER + 2, 0);
		host_mem_put64(collections() + 24, 9);	/* the next one */
		world_expect(&w, OUTER + 2, RAW_GC);
		world_expect(&w, OUTER + 2, RAW_GC);
	}
}

/* The thread that waits in the collection was seen. */
static void test_the_collecting_thread_was_seen(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		if (minor >= 15)
			continue;
		begin_call(minor, WITH_FIRST, false);
		if (!collections())
			continue;
		world_expect(&w, OUTER + INNER, RAW_GC);
		host_mem_put64(w.at[OUTER] + w.img.layout.fr_locals, 0);	/* another stack */
		hold_gil(true);
		world_expect(&w, OUTER + INNER, 0);
		world_expect(&w, OUTER + INNER, 0);
	}
}

/* 3.15: with and without the GIL, and if C began the collection without a frame of Python. */
static void test_the_frame_is_told(void **state)
{
	u64 frame;
	int holds;

	for (holds = 0; holds < 2; holds++) {
		begin_call(15, WITH_FIRST, false);
		assert_true(is_told());
		frame = W_INTERP + w.img.layout.interp_gc_frame;
		hold_gil(holds);
		host_mem_put64(frame, w.at[OUTER - 2]);
		assert_int_equal(world_expect(&w, OUTER + INNER, RAW_GC)->gc_at, INNER + 1);
		host_mem_put64(frame, W_HEAP);
		world_expect(&w, OUTER + INNER, 0);	/* another thread's */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_a_call_passed_on),
		cmocka_unit_test(test_other_objects),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_another_thread_collects),
		cmocka_unit_test(test_the_collecting_thread_was_seen),
		cmocka_unit_test(test_the_frame_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
