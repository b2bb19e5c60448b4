// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_heap_census.c - what has grown between two censuses; and the index of units.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "heap/census.h"
#include "heap/heap_mem.h"
#include "heap/units.h"

static struct heap_census before, after;
static struct heap_growth growth[HEAP_TYPES_MAX];

static void add(struct heap_census *c, const char *name, uint64_t objects, uint64_t bytes,
		uint64_t error)
{
	struct heap_row *row = &c->rows[c->row_cnt++];

	snprintf(row->name, sizeof(row->name), "%s", name);
	row->objects = objects;
	row->bytes = bytes;
	row->objects_error = row->bytes_error = error;
}

static void test_growth(void **state)
{
	size_t cnt;

	before = after = (struct heap_census){ .row_cnt = 0 };
	before.time_ns = NS_PER_S;
	after.time_ns = 31 * NS_PER_S;
	add(&before, "str", 1000, 50000, 3);
	add(&before, "gone", 10, 640, 0);
	add(&before, "dict", 500, 40000, 0);
	add(&after, "app.Session", 200, 9600, 0);
	add(&after, "dict", 500, 40000, 0);
	add(&after, "str", 3000, 150000, 4);
	cnt = heap_census_growth(&before, &after, growth, HEAP_TYPES_MAX);
	assert_int_equal(cnt, 4);
	assert_string_equal(growth[0].name, "str");
	assert_int_equal(growth[0].objects, 2000);
	assert_int_equal(growth[0].bytes, 100000);
	assert_int_equal(growth[0].bytes_error, 5);
	assert_ptr_equal(growth[0].row, &after.rows[2]);
	assert_true(growth[0].minutes == 0.5);
	assert_string_equal(growth[1].name, "app.Session");
	assert_int_equal(growth[1].objects, 200);
	assert_string_equal(growth[2].name, "dict");
	assert_int_equal(growth[2].bytes, 0);
	assert_string_equal(growth[3].name, "gone");
	assert_int_equal(growth[3].objects, -10);
	assert_int_equal(growth[3].bytes, -640);
	assert_null(growth[3].row);
	assert_int_equal(heap_census_growth(&before, &after, growth, 1), 1);
	assert_string_equal(growth[0].name, "str");
}

static void test_units(void **state)
{
	struct heap_units units = { .granule = 16384 };
	struct heap_unit unit = { .addr = 0x7f0000000000, .bytes = 16384, .stratum = 4 };
	size_t i;

	for (i = 0; i < 3000; i++, unit.addr += 2 * 16384)
		assert_int_equal(heap_units_add(&units, &unit), 0);
	unit.bytes = 3 * 16384;
	assert_int_equal(heap_units_add(&units, &unit), 0);
	unit = (struct heap_unit){ .addr = 0x600000000000, .bytes = 16384,
				   .stratum = HEAP_WINDOWS_OTHER };
	assert_int_equal(heap_units_add(&units, &unit), 0);
	assert_int_equal(heap_units_index(&units), 0);
	for (i = 0; i < 3000; i++) {
		assert_true(heap_units_have(&units, 0x7f0000000000 + i * 32768 + i));
		assert_false(heap_units_have(&units, 0x7f0000000000 + i * 32768 + 16384));
	}
	assert_true(heap_units_have(&units, 0x7f0000000000 + 3000 * 32768ull + 16384));
	assert_true(heap_units_have(&units, 0x7f0000000000 + 3000 * 32768ull + 3 * 16384 - 1));
	assert_false(heap_units_have(&units, 0x7f0000000000 + 3000 * 32768ull + 3 * 16384));
	assert_false(heap_units_have(&units, 0x600000000000));	/* a window is no unit of its */
	assert_false(heap_units_have(&units, 0));
	assert_false(heap_units_have(&units, ~0ull));
	heap_units_free(&units);
}

static void test_maps(void **state)
{
	static struct heap_map list[999];
	struct heap_maps maps = { .list = list };
	uint64_t i;

	assert_null(heap_maps_find(&maps, 4096));
	for (i = 1; i < 1000; i++)
		list[maps.cnt++] = (struct heap_map){ i * 0x10000, i * 0x10000 + 0x1000 };
	for (i = 1; i < 1000; i++) {
		assert_ptr_equal(heap_maps_find(&maps, i * 0x10000), &maps.list[i - 1]);
		assert_ptr_equal(heap_maps_find(&maps, i * 0x10000 + 0xfff), &maps.list[i - 1]);
		assert_null(heap_maps_find(&maps, i * 0x10000 + 0x1000));
		assert_null(heap_maps_find(&maps, i * 0x10000 - 1));
	}
}

/* Limits on bytes; pieces that cannot be read do not stop those after them. */
static void test_reads(void **state)
{
	static uint8_t memory[3 * 8192];
	uint64_t words[3] = { 0 }, here = (uint64_t)(uintptr_t)memory;
	struct heap_piece pieces[3] = {
		{ here, &words[0], 8, false }, { 16, &words[1], 8, false },
		{ here + 8, &words[2], 8, false },
	};
	struct heap_mem m;
	uint16_t pages[4];

	memset(memory, 5, sizeof(memory));
	assert_int_equal(heap_mem_open(&m, getpid(), 100, 60 * NS_PER_S), 0);
	heap_mem_read_many(&m, pieces, 3);
	assert_true(pieces[0].ok && !pieces[1].ok && pieces[2].ok);
	assert_true(words[0] == words[2] && words[0] == 0x0505050505050505);
	assert_int_equal(heap_mem_read(&m, here, words, 8), 0);
	assert_int_equal(heap_mem_read(&m, 8, words, 8), -EFAULT);
	heap_mem_pages(&m, here & ~4095ull, 4096, pages, 4);
	assert_int_equal(pages[1], 1);
	assert_int_equal(heap_mem_read(&m, here, memory, 100), -E2BIG);
	assert_true(m.ended);
	assert_int_equal(heap_mem_read(&m, here, words, 8), -E2BIG);
	heap_mem_close(&m);
	assert_int_equal(heap_mem_open(&m, 1 << 29, 100, NS_PER_S), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
