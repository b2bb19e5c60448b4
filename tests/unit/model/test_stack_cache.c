// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_stack_cache.c - what is found is what was added of this process, whatever was forgotten. */
#include <stdlib.h>

#include "model/stack_cache.h"
#include "tests/unit/tach_test.h"

#define STACKS 40000	/* more than there is room for */

/* Stack i of a kind: of 0 to 256 frames; neighbours differ in one frame. */
static uint32_t make(uint32_t i, uint32_t frames[EVENT_MAX_FRAMES])
{
	uint32_t depth = i < 257 ? i : 1 + i % 37, k;

	for (k = 0; k < depth; k++)
		frames[k] = k * 7;
	if (depth)
		frames[i % depth] = i;
	return depth;
}

static struct stack_cached *find(const struct stack_cache *c, uint32_t i)
{
	uint32_t frames[EVENT_MAX_FRAMES], depth = make(i, frames);

	return stack_cache_find(c, stack_cache_hash(c, frames, depth), frames, depth);
}

static struct stack_cached *add(struct stack_cache *c, uint32_t i)
{
	uint32_t frames[EVENT_MAX_FRAMES], depth = make(i, frames);

	return stack_cache_add(c, stack_cache_hash(c, frames, depth), frames, depth, i);
}

static void assert_new(const struct stack_cached *s, uint32_t value)
{
	uint32_t i;

	assert_non_null(s);
	assert_int_equal(s->value, value);
	for (i = 0; i < STACK_CACHE_SHARES; i++)
		assert_int_equal(s->shares[i], UINT32_MAX);
}

static void test_what_is_found_is_right(void **state)
{
	struct stack_cache c;
	uint32_t i, n, found = 0;
	uint64_t seed = 5;

	stack_cache_init(&c);
	assert_null(find(&c, 0));
	for (n = 0; n < 10 * STACKS; n++) {
		struct stack_cached *s;

		i = (uint32_t)(rnd(&seed) % (n < STACKS ? 300 : STACKS));
		s = find(&c, i);
		found += s != NULL;
		if (s)
			assert_int_equal(s->value, i);
		else
			assert_new(add(&c, i), i);
		s = find(&c, i);
		assert_non_null(s);
		assert_int_equal(s->value, i);
	}
	/* The first of these rounds fits. */
	assert_true(found > STACKS * 9 / 10);
	stack_cache_free(&c);
}

/* The same ids are those of other frames then. */
static void test_another_process(void **state)
{
	struct stack_cache c;
	uint32_t i, process, round;

	stack_cache_init(&c);
	for (process = 0; process < 3000; process++) {
		for (i = 0; i < 20; i++) {
			assert_null(find(&c, i));
			assert_new(add(&c, i), i);
		}
		for (i = 0; i < 20; i++)
			if (find(&c, i))
				assert_int_equal(find(&c, i)->value, i);
		round = c.round;
		stack_cache_clear(&c);
		assert_int_not_equal(c.round, round);
	}
	stack_cache_free(&c);
}

static void test_too_deep(void **state)
{
	static const uint32_t frames[EVENT_MAX_FRAMES + 1];
	struct stack_cache c;

	stack_cache_init(&c);
	assert_null(stack_cache_add(&c, 1, frames, EVENT_MAX_FRAMES + 1, 1));
	assert_non_null(stack_cache_add(&c, 1, frames, EVENT_MAX_FRAMES, 1));
	stack_cache_free(&c);
}

/* Also the one in the middle, and both ends of an odd number of frames. */
static void test_hash_depends_on_each_frame(void **state)
{
	uint32_t frames[EVENT_MAX_FRAMES] = { 0 }, depth, i;
	struct stack_cache c;

	stack_cache_init(&c);
	for (depth = 0; depth <= EVENT_MAX_FRAMES; depth++) {
		uint64_t hash = stack_cache_hash(&c, frames, depth);

		for (i = 0; i < depth; i++) {
			frames[i] = 1;
			assert_true(stack_cache_hash(&c, frames, depth) != hash);
			frames[i] = 0;
		}
		assert_true(depth == EVENT_MAX_FRAMES ||
			    stack_cache_hash(&c, frames, depth + 1) != hash);
	}
	stack_cache_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_found_is_right),
		cmocka_unit_test(test_another_process),
		cmocka_unit_test(test_too_deep),
		cmocka_unit_test(test_hash_depends_on_each_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
