// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_used_mem.c - which memory a walk has used, in ranges of words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "cpython/used_mem.h"

#define BASE 0x7f0000000000ull

static uint8_t memory[1 << 17];
static uint32_t reads, gathers;
static bool unreadable;			/* by gather() */

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	reads++;
	if (addr < BASE || addr - BASE > sizeof(memory) || len > sizeof(memory) - (addr - BASE))
		return -EFAULT;
	memcpy(buf, memory + (addr - BASE), len);
	return 0;
}

static int gather(void *ctx, const struct used_place *places, uint32_t cnt, uint8_t *buf,
		  size_t len)
{
	uint32_t i;

	gathers++;
	assert_ptr_equal(ctx, memory);
	for (i = 0; i < cnt; i++) {
		if (unreadable || read_memory(ctx, places[i].addr, buf, places[i].len))
			return -EFAULT;
		buf += places[i].len;
		len -= places[i].len;
	}
	assert_int_equal(len, 0);
	return 0;
}

static struct used_mem u;
static struct used_ranges found;
static uint8_t buf[1 << 17];

static void begin(void)
{
	const struct target_mem mem = { read_memory, memory };
	size_t i;

	for (i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(i * 37);
	used_begin(&u, &mem);
	reads = gathers = 0;
	unreadable = false;
}

static int get(uint64_t off, size_t len)
{
	return used_read(&u, BASE + off, buf, len);
}

static bool find(void)
{
	return used_ranges_find(&u, gather, &found);
}

static void expect_not_known(void)
{
	assert_false(find());
	assert_true(found.cnt == USED_NOT_KNOWN);
}

static void expect_range(uint32_t i, uint64_t off, uint32_t words, uint32_t mask)
{
	uint64_t content[CHAIN_RANGE_WORDS] = { 0 };

	assert_true(i < found.cnt);
	assert_true(chain_range_addr(found.range[i]) == BASE + off);
	assert_int_equal(chain_range_words(found.range[i]), words);
	assert_int_equal(found.mask[i], mask);
	memcpy(content, memory + off, 8 * words);
	assert_true(found.sum[i] == chain_range_sum(mask, content));
}

/* Words near each other are one range; the order is that of their first use. */
static void test_ranges(void **state)
{
	begin();
	assert_true(!get(1000, 8) && !get(101, 2) && !get(108, 8) && !get(96 + 31 * 8, 8));
	assert_int_equal(buf[0], memory[96 + 31 * 8]);
	assert_true(find());
	assert_int_equal(gathers, 1);
	assert_int_equal(found.cnt, 2);
	expect_range(0, 1000, 1, 1);
	expect_range(1, 96, 32, 1 | 2 | 4 | 1u << 31);
	/* One word further is another range. */
	assert_int_equal(get(96 + 32 * 8, 4), 0);
	assert_true(find());
	assert_int_equal(found.cnt, 3);
	expect_range(2, 96 + 32 * 8, 1, 1);
	/* A long part is in several. */
	begin();
	assert_int_equal(get(4, 1024), 0);
	assert_true(find());
	assert_int_equal(found.cnt, 5);
	expect_range(0, 0, 32, UINT32_MAX);
	expect_range(4, 1024, 1, 1);
}

/* Each used word changes the sum, and no other one does. */
static void test_sums(void **state)
{
	uint64_t words[CHAIN_RANGE_WORDS], sum;
	uint32_t mask = 0x80f10105, i;

	begin();
	memcpy(words, memory, sizeof(words));
	sum = chain_range_sum(mask, words);
	for (i = 0; i < CHAIN_RANGE_WORDS; i++) {
		words[i] ^= 1ull << (2 * i);
		assert_int_equal(chain_range_sum(mask, words) != sum, mask >> i & 1);
		words[i] ^= 1ull << (2 * i);
	}
	assert_true(chain_range_sum(0, words) == 0);
	assert_int_equal(chain_range_words(chain_range(BASE, 32)), 32);
	assert_true(chain_check(1, 5) != chain_check(2, 5));
}

/* What was noted must still be there, each byte of it. */
static void test_changed(void **state)
{
	begin();
	assert_int_equal(get(107, 3), 0);
	memory[106] ^= 1;		/* in the same words, but not noted */
	memory[110] ^= 1;
	assert_true(find());
	expect_range(0, 104, 1, 1);
	memory[109] ^= 1;
	expect_not_known();
	memory[109] ^= 1;
	assert_true(find());
	/* It was read twice, and was not the same. */
	memory[107] ^= 1;
	assert_int_equal(get(107, 1), 0);
	expect_not_known();
}

static void test_not_whole(void **state)
{
	uint32_t i;

	begin();
	assert_true(find());			/* nothing was read */
	assert_int_equal(found.cnt, 0);
	assert_int_equal(used_read(&u, 16, buf, 8), -EFAULT);
	assert_int_equal(get(0, 8), 0);
	expect_not_known();
	begin();
	used_part(&u, 1ull << CHAIN_ADDR_BITS, buf, 8);
	expect_not_known();
	begin();
	assert_int_equal(get(8, 8), 0);
	unreadable = true;
	expect_not_known();
	/* Without gather() they are read one by one. */
	assert_true(used_ranges_find(&u, NULL, &found));
	expect_range(0, 8, 1, 1);
	/* As many ranges as there is space for, and one more. */
	begin();
	for (i = 0; i < CHAIN_RANGES; i++)
		assert_int_equal(get(256 * i, 1), 0);
	assert_true(find());
	assert_int_equal(found.cnt, CHAIN_RANGES);
	assert_int_equal(get(256 * i, 1), 0);
	expect_not_known();
	/* Words. */
	begin();
	assert_int_equal(get(0, 8 * USED_WORDS_MAX), 0);
	assert_true(find());
	assert_int_equal(get(8 * USED_WORDS_MAX, 1), 0);
	expect_not_known();
	/* Parts. */
	begin();
	for (i = 0; i < USED_PARTS_MAX; i++)
		assert_int_equal(get(i, 1), 0);
	assert_true(find());
	assert_int_equal(get(0, 1), 0);
	expect_not_known();
	/* Bytes: what is read is right in any case. */
	begin();
	assert_int_equal(get(0, USED_BYTES_MAX), 0);
	assert_int_equal(get(1, 1), 0);
	assert_int_equal(buf[0], 37);
	expect_not_known();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges), cmocka_unit_test(test_sums),
		cmocka_unit_test(test_changed), cmocka_unit_test(test_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
