// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_asyncio_trio_chain.c - where trio's loop is, and in whose nurseries the task of a sample is,
 * in memory that stays, changes, and lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "asyncio/chain.h"
#include "asyncio/record.h"
#include "asyncio/trio_step.h"
#include "tests/unit/asyncio/fake_trio.h"

static struct fake_trio f;
static struct task_chain out;
static uint64_t coro_type, root, parent, running, root_code, parent_code, running_code;

/* ---- the loop ---- */

static int find_steps(struct trio_steps *steps)
{
	struct py_walk w;

	py_walk_init(&w, &f.h.target, &f.h.at.objects, 10000);
	return trio_steps_find(&w, &f.h.at.l, f.h.at.interps, steps);
}

static void test_steps(void **state)
{
	struct trio_steps steps;
	uint64_t names;

	for (unsigned int minor = 8; minor <= 13; minor++)
		for (unsigned int big = 0; big < 2; big++) {
			assert_true(fake_trio_make(&f, minor, big));
			assert_int_equal(find_steps(&steps), 0);
			assert_true(steps.cnt == 1 && steps.step[0].interp == f.h.interp);
			assert_true(steps.step[0].code == f.code);
			assert_int_equal(steps.step[0].local, FAKE_TRIO_LOCAL);
			/* No such variable; trio is not loaded. */
			names = f.code + f.h.t.head - 16 + py_code_layout((uint8_t)minor)->names;
			fake_put(&f.h, names, fake_tuple(&f.h.t, &f.h.types, &f.code, 1));
			assert_int_equal(find_steps(&steps), 0);
			assert_int_equal(steps.cnt, 0);
			fake_put(&f.h, f.h.interp + 64,
				 fake_dict(&f.h.t, fake_keys(&f.h.t, false), 0));
			assert_int_equal(find_steps(&steps), 0);
			assert_int_equal(steps.cnt, 0);
		}
	f.h.at.objects.minor = 7;
	assert_int_equal(find_steps(&steps), -EOPNOTSUPP);
}

static void test_steps_reads_fail(void **state)
{
	struct trio_steps steps;
	uint32_t all, i;

	assert_true(fake_trio_make(&f, 12, false));
	f.h.t.reads = 0;
	assert_int_equal(find_steps(&steps), 0);
	all = f.h.t.reads;
	for (i = 1; i <= all; i++) {
		f.h.t.reads = 0;
		f.h.t.fail_at = i;
		find_steps(&steps);
		assert_true(steps.cnt <= 1);
		assert_true(!steps.cnt || steps.step[0].local == FAKE_TRIO_LOCAL);
	}
}

/* ---- chains ---- */

static uint16_t frame_at(void)
{
	return py_code_layout(f.h.at.objects.minor)->generator + f.h.t.head - 16;
}

static void set_state(uint64_t coro, int8_t state)
{
	const struct py_code_layout *row = py_code_layout(f.h.at.objects.minor);

	fake_poke(&f.h.t, coro + row->state + f.h.t.head - 16, (uint8_t)state, 1);
}

/* A coroutine that is suspended (-1) or runs (0), and awaits nothing that is known. */
static uint64_t coroutine(int8_t state, uint64_t *code)
{
	uint64_t at = fake_object(&f.h.t, coro_type, COROUTINE_READ), frame = at + frame_at();
	const struct py_layout *l = &f.h.at.l;

	*code = fake_object(&f.h.t, 0, 512);
	set_state(at, state);
	fake_put(&f.h, frame + l->fr_code, *code);
	fake_put(&f.h, frame + l->fr_ip, *code + l->co_code + 4);
	fake_poke(&f.h.t, frame + l->fr_owner, 1, 1);
	return at;
}

static uint64_t task_of(uint32_t slot, uint64_t below, int8_t state, uint64_t *code)
{
	uint64_t task = fake_trio_task(&f, slot, "t", below ? fake_nursery(&f, below) : 0);

	fake_put(&f.h, task + f.h.t.head + FAKE_TASK_CORO, coroutine(state, code));
	return task;
}

static uint64_t coro_of(uint64_t task)
{
	return fake_see(&f.h, task + f.h.t.head + FAKE_TASK_CORO);
}

/* `running` is in a nursery of `parent`, and that in one of `root`. */
static struct raw_task make(unsigned int minor)
{
	struct cpython_image img = { .minor = minor, .micro = 7 };
	struct raw_task q = { .tid = 7, .at = 3, .trio = 1, .pure = 1 };

	assert_true(fake_trio_make(&f, minor, false));
	layout_from_table(&img);
	f.h.at.l = img.layout;
	coro_type = fake_named_type(&f.h.t, "coroutine", 0);
	root = task_of(1, 0, -1, &root_code);
	parent = task_of(2, root, -1, &parent_code);
	running = task_of(3, parent, 0, &running_code);
	q.task = running;
	q.frame = coro_of(running) + frame_at();
	q.coro = running_code;
	return q;
}

static enum async_end read_chain(const struct raw_task *q)
{
	task_chain_read(&f.h.target, &f.h.at, q, NULL, &out);
	assert_true(out.raw.tid == 7 && out.raw.at == 3 && out.reads <= CHAIN_READS_MAX);
	assert_true(out.raw.end == ASYNC_WHOLE || (!out.raw.ntasks && !out.raw.nframes));
	return out.gone ? ASYNC_GONE : out.raw.end;
}

static void test_chain(void **state)
{
	struct raw_task q;

	for (unsigned int minor = 11; minor <= 12; minor++) {
		q = make(minor);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		assert_true(out.raw.ntasks == 2 && out.raw.nframes == 2 && !out.raw.flags);
		assert_true(out.raw.starts[0] == 0 && out.raw.starts[1] == 1);
		assert_true(out.raw.frames[0].code == parent_code);
		assert_true(out.raw.frames[1].code == root_code);
		assert_int_equal(out.raw.name_at.len, 0);
	}
}

static void test_not_the_same(void **state)
{
	struct raw_task q = make(12), other;

	other = q;
	other.frame += 8;
	assert_int_equal(read_chain(&other), ASYNC_GONE);
	other = q;
	other.coro = root_code;
	assert_int_equal(read_chain(&other), ASYNC_GONE);
	other = q;
	other.task = 16;
	assert_int_equal(read_chain(&other), ASYNC_GONE);
	set_state(coro_of(running), 1);		/* it has ended */
	assert_int_equal(read_chain(&q), ASYNC_GONE);
	set_state(coro_of(running), 0);
	assert_int_equal(read_chain(&q), ASYNC_WHOLE);
	set_state(coro_of(parent), 0);		/* two tasks that run */
	assert_int_equal(read_chain(&q), ASYNC_NOT_SUSPENDED);
}

static void test_ends(void **state)
{
	struct raw_task q = make(12);
	uint64_t nursery = root + f.h.t.head + FAKE_TASK_NURSERY, none = fake_see(&f.h, nursery);

	fake_put(&f.h, nursery, fake_nursery(&f, running));
	assert_int_equal(read_chain(&q), ASYNC_CYCLE);
	fake_put(&f.h, nursery, fake_nursery(&f, parent));
	assert_int_equal(read_chain(&q), ASYNC_CYCLE);
	fake_put(&f.h, nursery, 16);		/* neither None nor a nursery */
	assert_int_equal(read_chain(&q), ASYNC_UNREADABLE);
	fake_put(&f.h, nursery, none);
	fake_put(&f.h, root + f.h.t.head + FAKE_TASK_CORO, none);
	assert_int_equal(read_chain(&q), ASYNC_FOREIGN);
}

static void test_depth(void **state)
{
	struct raw_task q = make(12);
	uint64_t code, top = root;
	uint32_t i;

	for (i = 0; i < RAW_ASYNC_TASKS - 1; i++) {
		uint64_t above = task_of(10 + i, 0, -1, &code);

		fake_put(&f.h, top + f.h.t.head + FAKE_TASK_NURSERY, fake_nursery(&f, above));
		top = above;
	}
	assert_true(f.h.t.used < FAKE_BYTES);
	assert_int_equal(read_chain(&q), ASYNC_DEPTH);
}

/* The parent goes on between two reads, always. */
static void go_on(struct fake_homes *h, uint64_t addr)
{
	uint64_t ip = coro_of(parent) + frame_at() + h->at.l.fr_ip;

	if (addr == parent)
		fake_put(h, ip, fake_see(h, ip) + 8);
}

static void test_moves(void **state)
{
	struct raw_task q = make(12);

	f.h.before = go_on;
	assert_int_equal(read_chain(&q), ASYNC_NOT_SUSPENDED);
}

/* Whichever read fails: no wrong chain, and what is said is well-formed. */
static void test_each_read_fails(void **state)
{
	struct raw_task q = make(12);
	uint32_t all, i;

	f.h.t.reads = 0;
	assert_int_equal(read_chain(&q), ASYNC_WHOLE);
	all = f.h.t.reads;
	for (i = 1; i <= all; i++) {
		f.h.t.reads = 0;
		f.h.t.fail_at = i;
		if (read_chain(&q) == ASYNC_WHOLE)
			assert_true(out.raw.ntasks == 2 && out.raw.nframes == 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_steps_reads_fail),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_not_the_same),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_each_read_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
