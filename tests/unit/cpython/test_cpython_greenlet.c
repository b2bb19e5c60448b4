// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_greenlet.c - greenlets of each version, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/cpython/fake_greenlets.h"

static struct fake_greenlets f;
static struct py_walk w;
static struct py_greenlet g;

static void make(unsigned int minor, bool big, enum fake_release old)
{
	fake_greenlets_make(&f, minor, big, old);
	py_walk_init(&w, &f.target, &f.t.at.objects, 100000);
	assert_true(f.kind.inside == (old == FAKE_OLD) && f.kind.type == f.type);
	assert_int_equal(py_greenlet_read(&w, &f.kind, f.main, &g), 0);
	assert_true(py_greenlet_is_main(&g));
	py_greenlet_learn(&f.kind, &g);
}

/* Suspended: its outer frame's link to the inner one is in the part of the stack that is saved. */
static uint64_t suspended(uint64_t *copy)
{
	uint64_t outer, inner, parent = f.main;

	*copy = fake_take(&f.t, FAKE_STACK_BYTES);
	outer = fake_python_frame(&f, 0x1000, 0);
	inner = fake_python_frame(&f, 0x2000, outer);
	return fake_greenlet(&f, parent, FAKE_STACK, FAKE_STACK + FAKE_STACK_BYTES, *copy,
			     FAKE_STACK_BYTES, fake_frame_object(&f, inner));
}

static void test_states(void **state)
{
	EACH_GREENLET(minor, big, old) {
		uint64_t copy, addr;

		make(minor, big, old);
		assert_int_equal(py_greenlet_parent(&f.kind, &g), 0);
		addr = suspended(&copy);
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
		assert_true(py_greenlet_is_active(&g) && g.top && !py_greenlet_is_main(&g));
		assert_true(py_greenlet_parent(&f.kind, &g) == f.main);
		addr = fake_greenlet(&f, f.main, 0, 0, 0, 0, 0);
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
		assert_true(!py_greenlet_is_active(&g) && !py_greenlet_has_ended(&g));
		addr = fake_greenlet(&f, f.main, 0, FAKE_STACK, 0, 0, 0);
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
		assert_true(!py_greenlet_is_active(&g) && py_greenlet_has_ended(&g));
	}
}

static void test_frames(void **state)
{
	EACH_GREENLET(minor, big, old) {
		struct py_frame frames[8];
		uint64_t copy, addr;
		uint32_t cnt;
		bool whole;

		make(minor, big, old);
		addr = suspended(&copy);
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
		assert_int_equal(py_greenlet_frames(&w, &f.layout, &f.kind, &g, frames, 8, &cnt,
						    &whole), 0);
		assert_true(whole && cnt == 2);
		assert_true(frames[0].code == 0x2000 && frames[1].code == 0x1000);
		assert_int_equal(py_greenlet_frames(&w, &f.layout, &f.kind, &g, frames, 1, &cnt,
						    &whole), 0);
		assert_true(!whole && cnt == 1);
	}
}

/* A frame on the C stack is read from the copy that greenlet has made of it. */
static void test_saved_stack(void **state)
{
	struct py_frame frames[8];
	uint64_t copy, addr, inner, outer;
	uint32_t cnt;
	bool whole;

	make(12, false, FAKE_NEW);
	addr = suspended(&copy);
	assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
	inner = fake_word_of(&f, g.top + f.t.head + 8);
	outer = fake_word_of(&f, inner + f.t.head + 8);
	fake_poke(&f.t, inner + f.t.head + 8, FAKE_STACK + 64 - f.t.head, 8);
	fake_poke(&f.t, copy + 64, 0x3000, 8);
	fake_poke(&f.t, copy + 72, outer, 8);
	assert_int_equal(py_greenlet_frames(&w, &f.layout, &f.kind, &g, frames, 8, &cnt, &whole),
			 0);
	assert_true(whole && cnt == 3 && frames[1].code == 0x3000 && frames[2].code == 0x1000);
	/* Half of it is beyond the copy. */
	fake_poke(&f.t, inner + f.t.head + 8, FAKE_STACK + FAKE_STACK_BYTES - 8 - f.t.head, 8);
	assert_int_equal(py_greenlet_frames(&w, &f.layout, &f.kind, &g, frames, 8, &cnt, &whole),
			 -EFAULT);
	assert_true(!whole && cnt == 1);
}

static void test_circle_of_frames(void **state)
{
	static struct py_frame frames[100000];
	uint64_t copy, addr, inner;
	uint32_t cnt;
	bool whole;

	make(8, false, FAKE_NEW);
	addr = suspended(&copy);
	assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
	inner = g.top;
	fake_poke(&f.t, inner + f.t.head + 8, inner, 8);
	py_greenlet_frames(&w, &f.layout, &f.kind, &g, frames, 100000, &cnt, &whole);
	assert_true(!whole && cnt < 10000);
}

/* It goes on while its frames are read: they may be of two moments. */
static int moved_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_greenlets *one = ctx;

	if (one->t.reads == 8)
		fake_poke(&one->t, g.data + fake_stack_at(one) + 48, 0, 8);
	return fake_threads_read(&one->t, addr, buf, len);
}

static void test_moved(void **state)
{
	struct py_frame frames[8];
	uint64_t copy, addr;
	uint32_t cnt;
	bool whole;

	make(12, false, FAKE_NEW);
	addr = suspended(&copy);
	assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), 0);
	f.target = (struct target_mem){ moved_read, &f };
	f.t.reads = 0;
	py_greenlet_frames(&w, &f.layout, &f.kind, &g, frames, 8, &cnt, &whole);
	assert_true(cnt == 2 && !whole);
}

/* Words that equal a type's address are elsewhere, too: in tuples of bases, in freed objects. */
static void test_no_greenlet(void **state)
{
	EACH_GREENLET(minor, big, old) {
		uint64_t copy, addr, data, refs;

		make(minor, big, old);
		addr = suspended(&copy);
		data = old == FAKE_OLD ? addr + f.t.head : fake_word_of(&f, addr + f.t.head + 16);
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr + 1, &g), -EBADMSG);
		if (old == FAKE_OLD)
			fake_poke(&f.t, data + 40, f.frame_type, 8);	/* the parent */
		else
			fake_poke(&f.t, data + (old == FAKE_NEW ? 8 : 8 * FAKE_SELF_AT),
				  addr + 8, 8);				/* itself */
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), -EBADMSG);
		addr = suspended(&copy);
		refs = minor >= 13 && big ? addr + 12 : addr + f.t.head - 16;
		fake_poke(&f.t, refs, 0, minor >= 13 && big ? 4 : 8);
		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), -EBADMSG);
	}
}

static void test_old_must_fit(void **state)
{
	static const struct {
		uint64_t start, stop, saved;
	} wrong[] = {
		{ FAKE_STACK, 0, 0 }, { FAKE_STACK, FAKE_STACK - 8, 0 },
		{ FAKE_STACK, FAKE_STACK + 64, 65 }, { 0, FAKE_STACK, 8 }, { 0, UINT64_MAX, 0 },
	};
	size_t i;

	make(7, false, FAKE_OLD);
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		uint64_t addr = fake_greenlet(&f, f.main, wrong[i].start, wrong[i].stop,
					      wrong[i].saved ? FAKE_BASE : 0, wrong[i].saved, 0);

		assert_int_equal(py_greenlet_read(&w, &f.kind, addr, &g), -EBADMSG);
	}
}

static void test_unknown_kind(void **state)
{
	struct py_greenlet_kind kind;

	make(12, false, FAKE_NEW);
	fake_poke(&f.t, f.type + f.t.head + 16, 8, 8);
	assert_int_equal(py_greenlet_kind_of(&w, f.type, &kind), -EBADMSG);
	fake_poke(&f.t, f.type + f.t.head + 16, 4096, 8);
	assert_int_equal(py_greenlet_kind_of(&w, f.type, &kind), -EBADMSG);
	assert_int_equal(py_greenlet_kind_of(&w, f.main, &kind), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_saved_stack),
		cmocka_unit_test(test_circle_of_frames),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_no_greenlet),
		cmocka_unit_test(test_old_must_fit),
		cmocka_unit_test(test_unknown_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
