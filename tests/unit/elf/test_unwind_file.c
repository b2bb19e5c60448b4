// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_unwind_file.c - which bytes are a table, and the value of the BPF side's map for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elf/unwind_file.h"

#define LEN (2 * NATIVE_CHUNK)

static union {
	struct unwind_file file;
	uint8_t bytes[LEN];
} table;

/* 100 rows in 1000 bytes; an index of 12 entries at 200; 3 long rules at 53 (byte 848). */
static int begin(void **state)
{
	table.file = (struct unwind_file){
		.magic = UNWIND_FILE_MAGIC, .version = UNWIND_FILE_VERSION, .machine = 62,
		.start = 0x1000, .bytes = 1100, .row_cnt = 100, .index_at = 200, .ext_at = 53,
		.ext_cnt = 3, .shift = 7, .total = NATIVE_CHUNK,
	};
	return 0;
}

static bool valid(void)
{
	return unwind_file_is_valid(&table, LEN);
}

static void a_table(void **state)
{
	assert_true(valid());
	table.file.ext_cnt = 0;
	assert_true(valid());
	table.file.ext_cnt = NATIVE_CHUNK / 16 - 53;
	assert_true(valid());
}

static void other_lengths(void **state)
{
	assert_false(unwind_file_is_valid(&table, 0));
	assert_false(unwind_file_is_valid(&table, sizeof(table.file)));
	assert_false(unwind_file_is_valid(&table, LEN - 1));
	assert_false(unwind_file_is_valid(&table, NATIVE_CHUNK));
	assert_false(unwind_file_is_valid(&table, LEN + NATIVE_CHUNK));
}

/* Each field that could lead beyond the end, with values that do. */
#define REFUSED(field, value) do {		\
	begin(NULL);				\
	table.file.field = (value);		\
	if (valid())				\
		fail_msg("%s = %s", #field, #value);	\
} while (0)

static void false_headers(void **state)
{
	REFUSED(magic, 1);
	REFUSED(version, UNWIND_FILE_VERSION + 1);
	REFUSED(total, NATIVE_CHUNK + 1);
	REFUSED(total, 0);
	REFUSED(total, UINT64_MAX);
	REFUSED(total, (uint64_t)-NATIVE_CHUNK);
	REFUSED(row_cnt, 0);
	REFUSED(row_cnt, 101);			/* into the index */
	REFUSED(row_cnt, NATIVE_CHUNK / 8 + 1);
	REFUSED(row_cnt, UINT32_MAX);
	REFUSED(bytes, 0);
	REFUSED(bytes, UINT32_MAX);
	REFUSED(shift, 32);
	REFUSED(shift, 0);
	REFUSED(index_at, 199);
	REFUSED(index_at, NATIVE_CHUNK / 4);
	REFUSED(index_at, UINT32_MAX);
	REFUSED(ext_at, 52);			/* into the index */
	REFUSED(ext_at, NATIVE_CHUNK / 16);
	REFUSED(ext_at, UINT32_MAX);
	REFUSED(ext_cnt, NATIVE_CHUNK / 16 - 52);
	REFUSED(ext_cnt, UINT32_MAX);
}

static void the_maps_value(void **state)
{
	const struct unwind_table want = {
		.start = 0x1000, .bytes = 1100, .chunk = 77, .row_cnt = 100, .index_at = 200,
		.ext_at = 53, .ext_cnt = 3, .shift = 7, .stamp = 5,
	};
	struct unwind_table have = unwind_file_table(&table.file, 77, 5);

	assert_memory_equal(&have, &want, sizeof(want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_table, begin),
		cmocka_unit_test_setup(other_lengths, begin),
		cmocka_unit_test_setup(false_headers, begin),
		cmocka_unit_test_setup(the_maps_value, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
