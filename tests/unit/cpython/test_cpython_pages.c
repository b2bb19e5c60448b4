// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_pages.c - memory that is read a page at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cpython/pages.h"

#define BASE 0x10000ull
#define SIZE (8u * PAGES_BYTES)

static uint8_t memory[SIZE];
static unsigned int reads;
static uint64_t end;	/* memory ends there, also in the middle of a page */
static struct pages pages;

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	reads++;
	if (addr < BASE || addr > end || len > end - addr)
		return -EFAULT;
	memcpy(buf, memory + (addr - BASE), len);
	return 0;
}

static void begin(void)
{
	const struct target_mem mem = { read_memory, NULL };
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	end = BASE + SIZE;
	reads = 0;
	pages_begin(&pages, &mem);
}

static void expect(uint64_t addr, size_t len)
{
	uint8_t buf[SIZE];

	assert_int_equal(pages_read(&pages, addr, buf, len), 0);
	assert_memory_equal(buf, memory + (addr - BASE), len);
}

static void test_a_page_is_read_once(void **state)
{
	begin();
	expect(BASE, 8);
	expect(BASE + 100, 200);
	expect(BASE + PAGES_BYTES - 8, 8);
	assert_int_equal(reads, 1);
	expect(BASE + PAGES_BYTES - 4, 8);	/* of two pages */
	assert_int_equal(reads, 2);
	expect(BASE + PAGES_BYTES, 4095);
	assert_int_equal(reads, 2);
	expect(BASE + 1, PAGES_BYTES + 1);	/* long: past the pages */
	assert_int_equal(reads, 3);
}

static void test_pages_are_forgotten(void **state)
{
	begin();
	expect(BASE, 8);
	memory[3] ^= 0xff;
	pages_begin(&pages, &pages.mem);
	expect(BASE, 8);
	assert_int_equal(reads, 2);
}

/* Where only a part of a page is there, that part is read. */
static void test_what_is_not_there(void **state)
{
	uint8_t buf[64];

	begin();
	end = BASE + PAGES_BYTES + 100;
	expect(BASE + PAGES_BYTES + 50, 50);
	expect(BASE + PAGES_BYTES - 10, 20);
	assert_int_equal(pages_read(&pages, BASE + PAGES_BYTES + 90, buf, 20), -EFAULT);
	assert_int_equal(pages_read(&pages, BASE - 8, buf, 8), -EFAULT);
	assert_int_equal(pages_read(&pages, 0, buf, 8), -EFAULT);
	assert_int_equal(pages_read(&pages, UINT64_MAX - 3, buf, 8), -EFAULT);
	assert_int_equal(pages_read(&pages, BASE, buf, 0), 0);
}

/* Pages that share slots are not mixed up. */
static void test_slots_are_shared(void **state)
{
	uint64_t number;
	uint8_t buf[8];

	begin();
	expect(BASE, 8);
	for (number = BASE / PAGES_BYTES + 8; number < 64 * PAGES_SLOTS; number++)
		assert_int_equal(pages_read(&pages, number * PAGES_BYTES, buf, 8), -EFAULT);
	expect(BASE, 8);
	assert_true(reads >= 3);
}

static int read_anything(void *ctx, uint64_t addr, void *buf, size_t len)
{
	reads++;
	memset(buf, (int)(addr / PAGES_BYTES % 251), len);
	return 0;
}

/* A page that is read for every thread stays, whatever number of pages is read only once. */
static void test_a_page_that_is_used_stays(void **state)
{
	const struct target_mem mem = { read_anything, NULL };
	const unsigned int others = 16 * PAGES_SLOTS;
	uint64_t number;
	uint8_t byte;

	begin();
	pages_begin(&pages, &mem);
	for (number = 1; number <= others; number++) {
		assert_int_equal(pages_read(&pages, number * 4 * PAGES_BYTES, &byte, 1), 0);
		assert_int_equal(byte, number * 4 % 251);
		assert_int_equal(pages_read(&pages, 7 * PAGES_BYTES, &byte, 1), 0);
		assert_int_equal(byte, 7);
	}
	assert_int_equal(reads, others + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_page_is_read_once),
		cmocka_unit_test(test_pages_are_forgotten),
		cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_slots_are_shared),
		cmocka_unit_test(test_a_page_that_is_used_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
