// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_pymalloc.c - which memory is a pool, and which of its blocks are in use; and pools
 * that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "tests/unit/cpython/fake_heap.h"

#define ADDR 0x7f0000100000ull

static uint8_t pool[PYMALLOC_POOL_MAX];
static struct pymalloc_pool p;
static uint64_t used[PYMALLOC_USED_WORDS];

static bool parse(uint32_t bytes)
{
	return pymalloc_pool_parse(pool, ADDR, bytes, &p);
}

static bool is_used(uint32_t i)
{
	return used[i / 64] >> i % 64 & 1;
}

static void test_all_sizes(void **state)
{
	uint32_t minor, bytes, block, most;

	for (minor = 6; minor <= 15; minor++) {
		bytes = pymalloc_pool_bytes((uint8_t)minor);
		assert_int_equal(bytes, minor < 10 ? 4096 : 16384);
		for (block = 16; block <= 512; block += 16) {
			most = (bytes - 48) / block;
			fake_pool(pool, bytes, block, most);
			assert_true(parse(bytes));
			assert_int_equal(p.block, block);
			assert_int_equal(p.carved, most);
			assert_int_equal(pymalloc_pool_used(&p, pool, used), most);
			assert_true(pymalloc_pool_extent(&p) <= bytes);
			assert_false(parse(bytes == 4096 ? 16384 : 4096));
		}
	}
}

/* Sizes are multiples of 8 in 3.6: the same header with another size class. */
static void test_multiples_of_8(void **state)
{
	const uint32_t size_class = 6;

	fake_pool(pool, 4096, 64, 10);
	memcpy(pool + 36, &(uint32_t){ 7 }, 4);
	assert_true(parse(4096));
	assert_int_equal(p.block, 64);
	memcpy(pool + 36, &size_class, 4);
	assert_false(parse(4096));
	memcpy(pool + 40, &(uint32_t){ 48 + 10 * 56 }, 4);
	memcpy(pool + 44, &(uint32_t){ 4096 - 56 }, 4);
	assert_true(parse(4096));
	assert_int_equal(p.block, 56);
}

static void test_free_list(void **state)
{
	uint32_t i;

	fake_pool(pool, 16384, 32, 100);
	for (i = 0; i < 100; i += 3)
		fake_free(pool, ADDR, 32, i);
	assert_true(parse(16384));
	assert_int_equal(p.count, 66);
	assert_int_equal(pymalloc_pool_used(&p, pool, used), 66);
	for (i = 0; i < 100; i++)
		assert_int_equal(is_used(i), i % 3 != 0);
	for (i = 100; i < PYMALLOC_BLOCKS_MAX; i++)
		assert_false(is_used(i));
}

/* All of its blocks are free: it is a pool, and nothing is in it. */
static void test_free_pool(void **state)
{
	fake_pool(pool, 16384, 512, 2);
	fake_free(pool, ADDR, 512, 0);
	fake_free(pool, ADDR, 512, 1);
	assert_true(parse(16384));
	assert_int_equal(p.count, 0);
	assert_int_equal(pymalloc_pool_used(&p, pool, used), 0);
}

static void test_no_pool(void **state)
{
	static const struct {
		uint32_t off;
		uint64_t value;
		uint32_t len;
	} wrong[] = {
		{ 0, 11, 4 },			/* more in use than were carved */
		{ 8, ADDR + 16, 8 },		/* free list: in the header, */
		{ 8, ADDR + 48 + 7, 8 },	/* between blocks, */
		{ 8, ADDR + 48 + 10 * 64, 8 },	/* at a block that was never used, */
		{ 8, ADDR + 16384, 8 },		/* in another pool */
		{ 16, ADDR + 3, 8 }, { 24, 1, 8 },	/* neighbours */
		{ 36, 64, 4 }, { 36, 0xffffffff, 4 },	/* the size class */
		{ 40, 48, 4 }, { 40, 48 + 63, 4 }, { 40, 1u << 31, 4 }, { 40, 48 + 256 * 64, 4 },
		{ 44, 16384, 4 }, { 44, 0, 4 }, { 44, 16384 - 528, 4 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		fake_pool(pool, 16384, 64, 10);
		assert_true(parse(16384));
		memcpy(pool + wrong[i].off, &wrong[i].value, wrong[i].len);
		assert_false(parse(16384));
	}
	memset(pool, 0, sizeof(pool));
	assert_false(parse(16384));
	memset(pool, 0xff, sizeof(pool));
	assert_false(parse(16384));
}

/* A list of free blocks that leads elsewhere, or into a circle. */
static void test_lying_lists(void **state)
{
	const uint64_t to[] = { ADDR + 48 + 2 * 64, ADDR + 48 + 5 * 64, ADDR + 47, ~0ull, 8,
				ADDR + 48 + 10 * 64 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(to); i++) {
		fake_pool(pool, 16384, 64, 10);
		fake_free(pool, ADDR, 64, 5);
		fake_free(pool, ADDR, 64, 2);
		assert_true(parse(16384));
		memcpy(pool + 48 + 5 * 64, &to[i], 8);
		assert_int_equal(pymalloc_pool_used(&p, pool, used), i < 2 ? -ELOOP : -EBADMSG);
		assert_false(is_used(2) || is_used(5));
		assert_true(is_used(0) && is_used(9));
	}
}

static void test_debug_words(void **state)
{
	uint8_t block[64] = { 0, 0, 0, 0, 0, 0, 0, 30, 'o', 0xfd, 0xfd, 0xfd, 0xfd, 0xfd, 0xfd,
			      0xfd };
	uint32_t bytes;

	assert_int_equal(pymalloc_debug_bytes(block, 64, &bytes), 16);
	assert_int_equal(bytes, 30);
	memset(block + 9, 0xfb, 7);
	block[8] = 'm';
	assert_int_equal(pymalloc_debug_bytes(block, 64, &bytes), 16);
	block[8] = 'x';
	assert_int_equal(pymalloc_debug_bytes(block, 64, &bytes), 0);
	assert_int_equal(bytes, 64);
	block[8] = 'r';
	block[7] = 64 - 16 - 8 + 1;		/* longer than the block */
	assert_int_equal(pymalloc_debug_bytes(block, 64, &bytes), 0);
	block[0] = 0xff;
	assert_int_equal(pymalloc_debug_bytes(block, 64, &bytes), 0);
	assert_int_equal(pymalloc_debug_bytes(block, 16, &bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_sizes),
		cmocka_unit_test(test_multiples_of_8),
		cmocka_unit_test(test_free_list),
		cmocka_unit_test(test_free_pool),
		cmocka_unit_test(test_no_pool),
		cmocka_unit_test(test_lying_lists),
		cmocka_unit_test(test_debug_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
