// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_entering.c - stacks while a function is entered: the newest frame is not complete yet. 3.11
 * and later.
 */
#include "world.h"

static struct world w;

/* Set is_entry of the newest frame: C has called the interpreter with it (3.11). */
static void set_is_entry(void)
{
	host_mem_put8(w.top + w.img.layout.fr_is_entry, 1);
}

/* Add a frame that C has called. */
static void push_entry(int minor)
{
	if (minor == 12)
		world_push(&w, OWNER_SHIM, 0, 0);
	world_push(&w, OWNER_THREAD, world_code(&w), 6);
	if (minor == 11)
		set_is_entry();
}

/*
 * 3.11, 3.12: the new _PyCFrame is set, and its current_frame is not. Whatever that field has, the
 * stack is the caller's. When the field is set, the stack is complete.
 */
static void test_entering(void **state)
{
	u64 from, stale, entering;
	int minor;

	for (minor = 11; minor <= 12; minor++) {
		world_init(&w, minor);
		push_entry(minor);
		world_push(&w, OWNER_THREAD, world_code(&w), 8);
		stale = w.top;
		world_push(&w, OWNER_THREAD, world_code(&w), 10);
		from = w.top;
		entering = host_counter(CNT_ENTERING);
		/* an old frame, no frame, nothing at all */
		world_enter(&w, stale, from);
		world_expect(&w, 3, 0);
		world_enter(&w, 0, from);
		world_expect(&w, 3, 0);
		world_enter(&w, 0xdead0000, from);
		world_expect(&w, 3, 0);
		assert_int_equal(host_counter(CNT_ENTERING), entering + 3);
		push_entry(minor);
		world_enter(&w, w.top, from);
		world_expect(&w, 4, 0);
		assert_int_equal(host_counter(CNT_ENTERING), entering + 3);
	}
}

/*
 * The new _PyCFrame's previous is not set either: the field has no address, or that of something
 * else. The sample has no frames and RAW_UNREADABLE.
 */
static void test_entering_nonsense(void **state)
{
	static const u64 words[] = { 0, 1, 0xdead0000, W_RUNTIME, W_CSTACK + 8192,
				     W_CSTACK + 12288 };
	const struct py_layout *l = &w.img.layout;
	u64 from;
	size_t i;
	int minor;

	for (minor = 11; minor <= 12; minor++) {
		world_init(&w, minor);
		/* a _PyCFrame without a frame whose previous one is not the thread's first */
		host_mem_map(W_CSTACK + 12288, 64);
		host_mem_put64(W_CSTACK + 12288 + l->cframe_frame + 8, W_CSTACK + 16384);
		push_entry(minor);
		from = w.top;
		world_push(&w, OWNER_THREAD, world_code(&w), 8);
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			world_enter(&w, w.top, from);
			host_mem_put64(W_CSTACK + 8192 + l->cframe_frame + 8, words[i]);
			world_expect(&w, 0, RAW_UNREADABLE);
			world_enter(&w, 0xdead0000, from);
			host_mem_put64(W_CSTACK + 8192 + l->cframe_frame + 8, words[i]);
			world_expect(&w, 0, RAW_UNREADABLE);
		}
	}
}

/* The caller's _PyCFrame is stale: other data has overwritten its previous one. */
static void test_entering_from_the_past(void **state)
{
	const u64 caller = W_CSTACK + 12288, gone = W_CSTACK + 16384;
	const struct py_layout *l = &w.img.layout;
	int minor;

	for (minor = 11; minor <= 12; minor++) {
		world_init(&w, minor);
		host_mem_map(caller, 64);
		/* without a caller, like a suspended generator; 3.12: from the first shim */
		world_push(&w, OWNER_THREAD, world_code(&w), 6);
		if (minor == 11)
			set_is_entry();
		world_push(&w, OWNER_THREAD, world_code(&w), 8);
		world_enter(&w, 0xdead0000, 0);
		host_mem_put64(W_CSTACK + 8192 + l->cframe_frame + 8, caller);
		host_mem_put64(caller + l->cframe_frame, w.top);
		host_mem_put64(caller + l->cframe_frame + 8, gone);
		world_expect(&w, 0, RAW_UNREADABLE);
		host_mem_map(gone, 64);
		world_expect(&w, 0, RAW_UNREADABLE);
		host_mem_put64(caller + l->cframe_frame + 8, W_ROOT_CFRAME);
		world_expect(&w, 2, 0);
	}
}

/*
 * A frame of a call that has ended may lead into objects: an object has its type where a frame has
 * its caller, and the last type is its own type. The stack is the caller's.
 */
static void test_entering_among_objects(void **state)
{
	const u64 type = W_HEAP + 0x600000;
	const struct py_layout *l;
	u64 from, stale;
	int minor;

	for (minor = 11; minor <= 12; minor++) {
		world_init(&w, minor);
		l = &w.img.layout;
		push_entry(minor);
		from = w.top;
		world_push(&w, OWNER_GENERATOR, world_code(&w), 8);
		stale = w.top;
		w.want_cnt--;
		host_mem_map(type, 256);
		host_mem_put64(type + l->fr_previous, type);
		host_mem_put64(type + l->fr_code, 0xffffffff);
		host_mem_put64(stale + l->fr_previous, type);
		world_enter(&w, stale, from);
		world_expect(&w, 1, 0);
	}
}

/*
 * The caller of a frame that has run no instruction may be stale. A suspended generator calls no
 * frame; a generator that the thread has begun with does.
 */
static void test_called_by_suspended(void **state)
{
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++) {
		world_init(&w, minor);
		world_set_frame(&w, 0);		/* no shim below it */
		world_push(&w, OWNER_GENERATOR, world_code(&w), 6);
		host_mem_put64(w.top + w.img.layout.fr_previous, 0);
		if (minor == 11)
			set_is_entry();
		world_push(&w, OWNER_THREAD, world_code(&w), -2);
		world_expect(&w, 0, RAW_UNREADABLE);
	}
	world_init(&w, 11);
	world_push(&w, OWNER_GENERATOR, world_code(&w), 6);
	set_is_entry();
	world_push(&w, OWNER_THREAD, world_code(&w), 0);
	world_expect(&w, 2, 0);
}

/*
 * A call makes the new frame current before it stores the caller. Until then the field has the
 * caller of an earlier frame at this address, here with a shim or without.
 */
static void test_called_by_the_past(void **state)
{
	u64 outer, shim, caller;
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++) {
		world_init(&w, minor);
		w.locals = 4;
		world_push(&w, OWNER_THREAD, world_code(&w), 6);
		if (minor == 11)
			set_is_entry();
		world_push(&w, OWNER_THREAD, world_code(&w), 8);
		outer = shim = w.top;
		world_shim(&w);
		shim = w.top;
		world_push(&w, OWNER_THREAD, world_code(&w), 10);
		caller = w.top;
		w.locals = 7;
		world_push(&w, OWNER_THREAD, world_code(&w), -2);
		host_mem_put64(w.top + w.img.layout.fr_previous, outer);
		world_expect(&w, 0, RAW_UNREADABLE);
		host_mem_put64(w.top + w.img.layout.fr_previous, shim);
		world_expect(&w, 0, RAW_UNREADABLE);
		host_mem_put64(w.top + w.img.layout.fr_previous, caller);
		world_expect(&w, 4, 0);
		/* A frame that has run an instruction has its true caller. */
		world_push(&w, OWNER_THREAD, world_code(&w), 0);
		world_expect(&w, 5, 0);
	}
}

/* A generator's frame is not on the data stack, so the frame that it calls cannot be checked. */
static void test_called_by_generator(void **state)
{
	int minor;

	for (minor = 11; minor <= LAYOUT_MINOR_MAX; minor++) {
		world_init(&w, minor);
		world_push(&w, OWNER_THREAD, world_code(&w), 6);
		if (minor == 11)
			set_is_entry();
		world_push(&w, OWNER_GENERATOR, world_code(&w), 8);
		world_push(&w, OWNER_THREAD, world_code(&w), -2);
		world_expect(&w, 3, 0);
		/* Nor can the first frame in a new chunk. */
		world_new_chunk(&w);
		world_push(&w, OWNER_THREAD, world_code(&w), -2);
		world_expect(&w, 4, 0);
	}
}

/* 3.12: the shim of a call is in the chain before its owner is stored. */
static void test_entering_shim(void **state)
{
	u64 from, shim;

	world_init(&w, 12);
	push_entry(12);
	world_push(&w, OWNER_THREAD, world_code(&w), 8);
	from = w.top;
	shim = W_CSTACK + 8192 + 64;	/* beside the new _PyCFrame */
	host_mem_map(shim, 128);
	world_push_at(&w, shim, OWNER_SHIM, 0, 0);
	world_push(&w, OWNER_THREAD, world_code(&w), 6);
	host_mem_put8(shim + w.img.layout.fr_owner, OWNER_THREAD);
	host_mem_put64(shim + w.img.layout.fr_code, w.want[0].code);
	world_enter(&w, w.top, from);
	world_expect(&w, 3, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entering),
		cmocka_unit_test(test_entering_nonsense),
		cmocka_unit_test(test_entering_from_the_past),
		cmocka_unit_test(test_called_by_the_past),
		cmocka_unit_test(test_called_by_generator),
		cmocka_unit_test(test_entering_shim),
		cmocka_unit_test(test_entering_among_objects),
		cmocka_unit_test(test_called_by_suspended),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
