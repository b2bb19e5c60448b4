// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_coroutines.c - suspended coroutines of CPython 3.8 to 3.13, and what they await. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "asyncio/task_read.h"
#include "tests/unit/asyncio/fake_coros.h"
#include "tests/unit/asyncio/read_coroutine.h"

#define EACH_BUILD(minor, big) \
	for (unsigned int minor = 8; minor <= 13; minor++) \
		for (unsigned int big = 0; big < 2; big++)

static struct fake_tasks f;
static struct raw_frame frames[TASK_FRAMES_MAX];

static void make(unsigned int minor, unsigned int big)
{
	assert_true(fake_old_make(&f, minor, big));
}

static int read_coro(uint64_t obj, struct coroutine *c)
{
	struct py_walk w;

	py_walk_init(&w, &f.target, &f.at.objects, TASK_READS_MAX);
	return coroutine_read(&w, &f.at, obj, c);
}

static void test_states(void **state)
{
	EACH_BUILD(minor, big) {
		uint64_t code, future;
		struct coroutine c;

		make(minor, big);
		code = fake_code(&f, "f");
		future = fake_object(&f, f.types[FAKE_INT], 64);
		for (int i = CORO_CREATED; i <= CORO_ENDED; i++) {
			uint64_t obj = fake_old_coro(&f, FAKE_CORO, code, 20, i, future);

			assert_int_equal(read_coro(obj, &c), 0);
			assert_int_equal(c.state, i);
			assert_int_equal(c.addr, obj);
			assert_int_equal(c.awaits, i == CORO_SUSPENDED ? future : 0);
			if (i == CORO_ENDED)
				continue;
			assert_int_equal(c.code, code);
			assert_int_equal(c.lasti, i == CORO_CREATED && minor <= 10 ?
						  RAW_LASTI_NONE : 20);
		}
	}
}

/* The frame of one that has ended is gone (3.8 to 3.10). */
static void test_no_frame(void **state)
{
	for (unsigned int minor = 8; minor <= 10; minor++) {
		uint64_t obj;
		struct coroutine c;

		make(minor, 0);
		obj = fake_old_coro(&f, FAKE_CORO, fake_code(&f, "f"), 2, CORO_SUSPENDED, 0);
		fake_word(&f, obj + fake_head_bytes(&f), 0);
		assert_int_equal(read_coro(obj, &c), 0);
		assert_true(c.state == CORO_ENDED && !c.frame && !c.code && !c.awaits);
		assert_int_equal(c.lasti, RAW_LASTI_NONE);
	}
}

static void test_where_the_frame_is(void **state)
{
	EACH_BUILD(minor, big) {
		uint64_t obj, gen_frame[] = { [11] = 80, [12] = 72, [13] = 72 };
		uint16_t head, off;
		struct coroutine c;
		bool pointer;

		make(minor, big);
		head = fake_head_bytes(&f);
		obj = fake_old_coro(&f, FAKE_CORO, fake_code(&f, "f"), 2, CORO_SUSPENDED, 0);
		assert_int_equal(read_coro(obj, &c), 0);
		assert_true(coroutine_frame_at(minor, head, &pointer, &off));
		assert_int_equal(pointer, minor <= 10);
		assert_int_equal(off, pointer ? head : gen_frame[minor] + (big ? 16 : 0));
		assert_int_equal(c.frame, pointer ? fake_get(&f, obj + off) : obj + off);
		assert_false(coroutine_frame_at(7, head, &pointer, &off));
		assert_false(coroutine_frame_at(14, head, &pointer, &off));
	}
}

/* What it awaits is beyond what is read of a coroutine at once. */
static void test_many_variables(void **state)
{
	for (unsigned int minor = 11; minor <= 13; minor++) {
		uint64_t code, obj, future;
		struct coroutine c;

		make(minor, 0);
		code = fake_code(&f, "f");
		future = fake_object(&f, f.types[FAKE_INT], 64);
		obj = fake_old_coro(&f, FAKE_CORO, code, 2, CORO_SUSPENDED, 0);
		fake_inner_frame(&f, obj, code, 2, CORO_SUSPENDED, future, 100);
		assert_int_equal(read_coro(obj, &c), 0);
		assert_int_equal(c.awaits, future);
	}
}

/* Numbers of stack entries that no frame has, and stacks that are no addresses. */
static void test_hostile_stacks(void **state)
{
	static const int32_t depths[] = { 0, -1, INT32_MIN, INT32_MAX, 1 << 20 };

	EACH_BUILD(minor, big) {
		for (size_t i = 0; i < 5; i++) {
			const struct py_code_layout *row = py_code_layout((uint8_t)minor);
			uint64_t obj, at, code;
			struct coroutine c;

			make(minor, big);
			code = fake_code(&f, "f");
			obj = fake_old_coro(&f, FAKE_CORO, code, 2, CORO_SUSPENDED, 8);
			at = minor <= 10 ? fake_get(&f, obj + fake_head_bytes(&f)) : obj;
			at += fake_head_bytes(&f) - 16;
			if (minor < 10)
				fake_word(&f, at + row->stack, (uint64_t)depths[i] | 1);
			else if (minor == 10)
				fake_set(&f, at + row->depth, &depths[i], 4);
			else
				fake_set(&f, at + row->generator + row->stack, &depths[i], 4);
			assert_int_equal(read_coro(obj, &c), 0);
			assert_int_equal(c.state, CORO_SUSPENDED);
			assert_int_equal(c.awaits, 0);
		}
	}
}

/* A frame of something else: it was freed meanwhile. */
static void test_other_frame(void **state)
{
	EACH_BUILD(minor, big) {
		const struct py_code_layout *row = py_code_layout((uint8_t)minor);
		uint64_t obj, frame;
		struct coroutine c;

		make(minor, big);
		obj = fake_old_coro(&f, FAKE_CORO, fake_code(&f, "f"), 2, CORO_SUSPENDED, 8);
		frame = minor <= 10 ? fake_get(&f, obj + fake_head_bytes(&f)) : 0;
		if (frame)
			fake_word(&f, frame + fake_head_bytes(&f) - 16 + row->generator, obj + 8);
		else
			fake_set(&f, obj + fake_head_bytes(&f) - 16 + row->generator +
				 f.at.l.fr_owner, &(uint8_t){ 0 }, 1);
		assert_int_equal(read_coro(obj, &c), -EBADMSG);
	}
}

static uint64_t fail_at, reads;

static int read_some(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return ++reads == fail_at ? -EFAULT : fake_read(ctx, addr, buf, len);
}

/* Without its bytecode it counts as suspended in await: what it awaits says more. */
static void test_each_read_fails(void **state)
{
	EACH_BUILD(minor, big) {
		uint64_t obj, future, all;
		struct coroutine c;
		int err;

		make(minor, big);
		future = fake_object(&f, f.types[FAKE_INT], 64);
		obj = fake_old_coro(&f, FAKE_CORO, fake_code(&f, "f"), 6, CORO_SUSPENDED, future);
		f.target.read = read_some;
		fail_at = reads = 0;
		assert_int_equal(read_coro(obj, &c), 0);
		all = reads;
		/* It itself, up to 3.10 its frame, the code's pointer, an instruction, the slot. */
		assert_int_equal(all, minor <= 10 ? 5 : minor <= 12 ? 2 : 1);
		for (fail_at = 1; fail_at <= all; fail_at++) {
			reads = 0;
			err = read_coro(obj, &c);
			if (fail_at > (minor <= 10 ? 2 : 1))
				assert_true(!err && c.state == CORO_SUSPENDED &&
					    (c.awaits == future || !c.awaits));
			else
				assert_int_equal(err, -EFAULT);
		}
	}
}

/* ---- chains ---- */

static struct task_row row;
static struct task_read chain;

static void read_chain(uint64_t coro)
{
	struct task_reader r = { .at = &f.at };

	py_walk_init(&r.walk, &f.target, &f.at.objects, TASK_READS_MAX);
	row = (struct task_row){ 0 };
	chain = (struct task_read){ .frames = frames, .row = &row };
	task_coros_read(&r, &chain, coro);
	assert_true(task_coros_still(&r, &chain));
}

/* An object that has something as its first member. */
static uint64_t first_of(const char *type, uint64_t what)
{
	uint64_t obj = fake_object(&f, fake_type(&f, type, 0), 64);

	fake_word(&f, obj + fake_head_bytes(&f), what);
	return obj;
}

static void test_chain(void **state)
{
	EACH_BUILD(minor, big) {
		uint64_t code, future, coro, gen;

		make(minor, big);
		code = fake_code(&f, "f");
		future = fake_object(&f, f.types[FAKE_INT], 64);
		f.types[FAKE_INT] = fake_type(&f, "generator", 0);
		gen = fake_old_coro(&f, FAKE_INT, code, 8, CORO_SUSPENDED, future);
		coro = fake_old_coro(&f, FAKE_CORO, code, 6, CORO_SUSPENDED,
				     first_of("coroutine_wrapper", gen));
		coro = fake_old_coro(&f, FAKE_AGEN, code, 4, CORO_SUSPENDED, coro);
		coro = first_of("anext_awaitable", first_of("async_generator_asend", coro));
		read_chain(fake_old_coro(&f, FAKE_CORO, code, 2, CORO_SUSPENDED, coro));
		assert_int_equal(row.frame_cnt, 4);
		assert_true(frames[0].lasti == 2 && frames[1].lasti == 4 &&
			    frames[2].lasti == 6 && frames[3].lasti == 8);
		assert_int_equal(chain.awaits, future);
		assert_int_equal(row.flags, 0);
	}
}

/* Each of these ends a chain, and is what its last coroutine awaits. */
static void test_ends(void **state)
{
	static const char *const types[] = { "_asyncio.FutureIter", "async_generator",
					     "async_generator_asend", "coroutine_wrapper" };

	EACH_BUILD(minor, big) {
		for (size_t i = 0; i < 4; i++) {
			uint64_t code, end;

			make(minor, big);
			code = fake_code(&f, "f");
			end = first_of(types[i], first_of("int", 0));
			read_chain(fake_old_coro(&f, FAKE_CORO, code, 2, CORO_SUSPENDED, end));
			assert_int_equal(row.frame_cnt, 1);
			assert_int_equal(chain.awaits, end);
		}
		read_chain(fake_old_coro(&f, FAKE_CORO, fake_code(&f, "f"), 2, CORO_RUNNING, 0));
		assert_true(row.frame_cnt == 1 && row.flags & TASK_EXECUTING && !chain.awaits);
	}
}

static void test_endless(void **state)
{
	EACH_BUILD(minor, big) {
		uint64_t code, coro, wrapper;

		make(minor, big);
		code = fake_code(&f, "f");
		/* It awaits a wrapper of itself. */
		wrapper = first_of("coroutine_wrapper", 0);
		coro = fake_old_coro(&f, FAKE_CORO, code, 2, CORO_SUSPENDED, wrapper);
		fake_word(&f, wrapper + fake_head_bytes(&f), coro);
		read_chain(coro);
		assert_true(row.frame_cnt == TASK_FRAMES_MAX && row.flags & TASK_CUT);
		/* A wrapper, or a step, that wraps itself. */
		fake_word(&f, wrapper + fake_head_bytes(&f), wrapper);
		read_chain(coro);
		assert_int_equal(row.frame_cnt, 1);
		fake_word(&f, wrapper + fake_head_bytes(&f) - 8, f.types[FAKE_ASEND]);
		read_chain(coro);
		assert_int_equal(row.frame_cnt, 1);
	}
}

static void test_goes_on(void **state)
{
	EACH_BUILD(minor, big) {
		struct task_reader r = { .at = &f.at };
		uint64_t coro, frame;

		make(minor, big);
		py_walk_init(&r.walk, &f.target, &f.at.objects, TASK_READS_MAX);
		coro = fake_old_coro(&f, FAKE_CORO, fake_code(&f, "f"), 2, CORO_SUSPENDED, 0);
		read_chain(coro);
		assert_true(task_coros_still(&r, &chain));
		frame = chain.coros[0].frame + f.at.l.fr_base + f.at.l.fr_ip;
		fake_word(&f, frame, fake_get(&f, frame) + 2);
		assert_false(task_coros_still(&r, &chain));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states), cmocka_unit_test(test_no_frame),
		cmocka_unit_test(test_where_the_frame_is), cmocka_unit_test(test_many_variables),
		cmocka_unit_test(test_hostile_stacks), cmocka_unit_test(test_other_frame),
		cmocka_unit_test(test_each_read_fails), cmocka_unit_test(test_chain),
		cmocka_unit_test(test_ends), cmocka_unit_test(test_endless),
		cmocka_unit_test(test_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
