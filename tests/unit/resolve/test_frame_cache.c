// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_frame_cache.c - frames are found again, also those that a process has chosen to collide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resolve/frame_cache.h"

#define FRAMES 20000

static struct frame_cache cache;
static struct raw_frame frames[FRAMES];
static uint32_t ids[FRAMES], coroutines;

/* Frame i has id 3 i; every resolved-th one is resolved. */
static void fill(uint32_t resolved)
{
	struct known_frame *slot;
	uint32_t i;

	assert_true(frame_cache_init(&cache));
	for (i = 0; i < FRAMES; i++) {
		assert_int_equal(frame_cache_reserve(&cache), 0);
		slot = frame_cache_slot(&cache, &frames[i]);
		assert_false(slot->raw.code);
		*slot = (struct known_frame){ .raw = frames[i], .id = 3 * i,
					      .resolved = i % resolved == 0 };
		cache.table.cnt++;
	}
	for (i = 0; i < FRAMES; i++)
		assert_int_equal(frame_cache_slot(&cache, &frames[i])->id, 3 * i);
}

static void usual(uint32_t i)
{
	frames[i] = (struct raw_frame){ 0x7f0000001000ull + i / 8 * 208, i % 8 * 16,
					i / 8 * 2 + 1 };
}

/* How many frame_cache_ids() finds; what it does not find at once is left out. */
static uint32_t found_at_once(void)
{
	uint32_t i = 0, k, n, found = 0;

	for (; i < FRAMES; i++) {
		n = frame_cache_ids(&cache, &frames[i], FRAMES - i, &ids[i], &coroutines);
		for (k = 0; k < n; k++)
			assert_int_equal(ids[i + k], 3 * (i + k));
		found += n;
		i += n;
	}
	return found;
}

static void test_usual(void **state)
{
	uint32_t i;

	for (i = 0; i < FRAMES; i++)
		usual(i);
	fill(1);
	/* At most half of the slots are in use: at least 3 of 4 are at one of their first two. */
	assert_true(found_at_once() > FRAMES / 4 * 3);
	frame_cache_forget(&cache);
	assert_int_equal(frame_cache_ids(&cache, frames, FRAMES, ids, &coroutines), 0);
	frame_cache_free(&cache);
}

static void test_unresolved_end_it(void **state)
{
	uint32_t i;

	for (i = 0; i < FRAMES; i++)
		usual(i);
	fill(2);
	for (i = 0; i < FRAMES; i++)
		assert_in_range(frame_cache_ids(&cache, &frames[i], FRAMES - i, ids, &coroutines),
				0, 1 - i % 2);
	frame_cache_free(&cache);
}

/* Of those that are found at once, the last one of a coroutine is told. */
static void test_coroutines(void **state)
{
	uint32_t i, k, n, last;

	for (i = 0; i < FRAMES; i++)
		usual(i);
	fill(1);
	for (i = 0; i < FRAMES; i += 3)
		frame_cache_slot(&cache, &frames[i])->coroutine = true;
	for (i = 0; i < FRAMES; i += n + 1) {
		n = frame_cache_ids(&cache, &frames[i], FRAMES - i, ids, &coroutines);
		for (last = 0, k = 0; k < n; k++)
			last = (i + k) % 3 ? last : k + 1;
		assert_int_equal(coroutines, last);
	}
	frame_cache_free(&cache);
}

/* Frames that are not there: others of the same code, address, fingerprint; and a zeroed one. */
static void test_not_there(void **state)
{
	struct raw_frame f;
	uint32_t i;

	for (i = 0; i < FRAMES; i++)
		usual(i);
	fill(1);
	for (i = 0; i < FRAMES; i++) {
		f = frames[i];
		f.lasti ^= 1u << i % 32;
		if (i % 32 >= 7)	/* else it may be another one of these */
			assert_int_equal(frame_cache_ids(&cache, &f, 1, ids, &coroutines), 0);
		f = frames[i];
		f.id ^= 1u << (i % 31 + 1);
		f.code ^= 1;
		assert_int_equal(frame_cache_ids(&cache, &f, 1, ids, &coroutines), 0);
	}
	f = (struct raw_frame){ 0 };
	assert_int_equal(frame_cache_ids(&cache, &f, 1, ids, &coroutines), 0);
	frame_cache_free(&cache);
}

/*
 * What a process could do to a hash without a secret: address and fingerprint differ in the same
 * bits, or address and instruction do. All would belong to one slot if these were combined by XOR.
 */
static void test_chosen_to_collide(void **state)
{
	uint32_t i;

	for (i = 0; i < FRAMES; i++)
		frames[i] = (struct raw_frame){ 0x7f0000000000ull ^ (uint64_t)i << 8, 0, 1u ^ i };
	fill(1);
	assert_true(found_at_once() > FRAMES / 2);
	frame_cache_free(&cache);
	for (i = 0; i < FRAMES; i++)
		frames[i] = (struct raw_frame){ 0x7f00000000ull ^ (uint64_t)i << 40, i, 1 };
	fill(1);
	assert_true(found_at_once() > FRAMES / 2);
	frame_cache_free(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_unresolved_end_it),
		cmocka_unit_test(test_coroutines),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_chosen_to_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
