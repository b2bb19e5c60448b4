// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_greenlets.c - objects of some types in our own memory; what a worker may answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "heap/greenlets.h"
#include "heap/greenlets_scan.h"

#define BYTES (4u << 20)
#define TYPE_AT 8u

static uint64_t made_type(uint64_t n)
{
	return (n << 40 | 0x7711) * 8;
}

struct seen {
	uint64_t addr[16];
	uint32_t cnt, max;
};

static bool take(void *ctx, uint64_t addr)
{
	struct seen *s = ctx;

	if (s->cnt < 16)
		s->addr[s->cnt] = addr;
	return ++s->cnt < s->max;
}

static uint8_t *map(void)
{
	uint8_t *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static uint32_t count_in(const struct seen *s, const uint8_t *p)
{
	uint32_t i, n = 0;

	for (i = 0; i < s->cnt && i < 16; i++)
		n += s->addr[i] >= (uintptr_t)p && s->addr[i] < (uintptr_t)p + BYTES;
	return n;
}

static int scan(const uint8_t *p, const uint64_t *types, uint32_t cnt, struct seen *seen)
{
	struct heap_map one = { (uintptr_t)p, (uintptr_t)p + BYTES };
	const struct heap_maps maps = { .list = &one, .cnt = 1 };
	struct heap_mem mem;
	int err;

	assert_int_equal(heap_mem_open(&mem, getpid(), 8ull << 30, 20 * 1000000000ull), 0);
	err = greenlets_scan(&mem, &maps, types, cnt, TYPE_AT, take, seen);
	heap_mem_close(&mem);
	return err;
}

static void put(uint8_t *p, size_t at, uint64_t v)
{
	memcpy(p + at, &v, sizeof(v));
}

/* In the first and last word of a mapping, in pages with gaps between them. */
static void test_all_are_found(void **state)
{
	static const size_t at[] = { 0, 4088, 65536, 1u << 20, (2u << 20) - 8, BYTES - 8 };
	struct seen seen = { .max = 16 };
	uint64_t types[2] = { made_type(3), made_type(4) };
	uint8_t *p = map();
	size_t i;

	for (i = 0; i < 6; i++)
		put(p, at[i], types[i & 1]);
	put(p, 12345, types[0]);		/* not aligned */
	put(p, 8192, made_type(5));
	assert_int_equal(scan(p, types, 2, &seen), 0);
	assert_int_equal(count_in(&seen, p - TYPE_AT), 6);
	for (i = 0; i < 6; i++) {
		uint32_t k, n = 0;

		for (k = 0; k < seen.cnt && k < 16; k++)
			n += seen.addr[k] == (uintptr_t)p + at[i] - TYPE_AT;
		assert_int_equal(n, 1);
	}
	munmap(p, BYTES);
}

static void test_an_end(void **state)
{
	struct seen seen = { .max = 2 };
	uint64_t type = made_type(7);
	uint8_t *p = map();
	size_t i;

	for (i = 1; i < 9; i++)
		put(p, i * 4096, type);
	assert_int_equal(scan(p, &type, 1, &seen), -E2BIG);
	assert_int_equal(seen.cnt, 2);
	munmap(p, BYTES);
}

static void test_many_types(void **state)
{
	static uint64_t types[GREENLETS_SCAN_TYPES_MAX + 10];
	struct seen seen = { .max = 16 };
	uint8_t *p = map();
	uint32_t i;

	for (i = 0; i < GREENLETS_SCAN_TYPES_MAX + 10; i++)
		types[i] = 0xabc000 + 16ull * i;
	put(p, 16, made_type(9));
	assert_int_equal(scan(p, types, 0, &seen), 0);
	assert_int_equal(seen.cnt, 0);
	memset(types, 0, sizeof(types));
	assert_int_equal(scan(p, types, GREENLETS_SCAN_TYPES_MAX + 10, &seen), 0);
	assert_int_equal(seen.cnt, 0);
	munmap(p, BYTES);
}

static void test_too_large(void **state)
{
	struct heap_map huge = { 4096, (512ull << 30) };
	const struct heap_maps maps = { .list = &huge, .cnt = 1 };
	struct seen seen = { .max = 2 };
	uint64_t type = made_type(7);
	struct heap_mem mem;

	assert_int_equal(heap_mem_open(&mem, getpid(), 1u << 20, 20 * 1000000000ull), 0);
	assert_int_equal(greenlets_scan(&mem, &maps, &type, 1, TYPE_AT, take, &seen), -E2BIG);
	assert_true(!mem.bytes_read);
	heap_mem_close(&mem);
}

static struct heap_greenlets from, to;

/* The worker may be compromised. */
static void test_an_answer_is_checked(void **state)
{
	struct greenlet_row *r = from.rows;

	memset(&from, 0xff, sizeof(from));
	heap_greenlets_copy(&to, &from);
	assert_true(to.cnt == GREENLETS_MAX && to.type_cnt == GREENLET_TYPES_MAX);
	assert_true(to.frame_cnt == GREENLETS_FRAMES_MAX);
	assert_true(to.rows[0].type == 0 && to.rows[0].state < GREENLET_STATE_CNT);
	assert_true(!to.rows[0].frame_at && !to.rows[0].frame_cnt);
	assert_int_equal(strnlen(to.types[7], GREENLET_NAME_BYTES), GREENLET_NAME_BYTES - 1);
	from.cnt = 2;
	from.frame_cnt = 10;
	r[0] = (struct greenlet_row){ .frame_at = 4, .frame_cnt = 6, .state = GREENLET_NEW };
	r[1] = (struct greenlet_row){ .frame_at = 4, .frame_cnt = 7 };
	heap_greenlets_copy(&to, &from);
	assert_true(to.rows[0].frame_cnt == 6 && to.rows[0].state == GREENLET_NEW);
	assert_true(!to.rows[1].frame_cnt && to.cnt == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_found),
		cmocka_unit_test(test_an_end),
		cmocka_unit_test(test_many_types),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_an_answer_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
