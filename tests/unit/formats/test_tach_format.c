// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_tach_format.c - the header table against the offsets in docs/tach.md, and
 * the thread table.
 */
#include "tests/unit/tach_test.h"

#include "formats/tach/tach_format.h"

static void assert_at(enum profile_layout layout, enum tach_field field, size_t off, size_t size)
{
	uint8_t header[TACH_HEADER_BYTES] = { 0 };
	uint64_t v = 0x1122334455667788ULL;
	size_t i;

	tach_field_put(header, layout, field, v);
	for (i = 0; i < sizeof(header); i++)
		assert_int_equal(!!header[i], i >= off && i < off + size);
	if (size < 8)
		v &= (1ULL << size * 8) - 1;
	assert_true(tach_field_get(header, layout, field, false) == v);
	assert_true(tach_field_get(header, layout, field, true) ==
		    (size ? __builtin_bswap64(v) >> (64 - size * 8) : 0));
	assert_true(tach_field_max(layout, field) == (size ? UINT64_MAX >> (64 - size * 8) : 0));
}

static void test_fields(void **state)
{
	assert_at(LAYOUT_RELEASE, TACH_F_START_US, 12, 8);
	assert_at(LAYOUT_RELEASE, TACH_F_SAMPLES, 28, 8);
	assert_at(LAYOUT_RELEASE, TACH_F_THREADS, 36, 4);
	assert_at(LAYOUT_RELEASE, TACH_F_STRING_TABLE, 40, 8);
	assert_at(LAYOUT_RELEASE, TACH_F_CONFIG, 60, 4);
	assert_at(LAYOUT_DRAFT1, TACH_F_PY_MICRO, 10, 1);
	assert_at(LAYOUT_DRAFT1, TACH_F_SAMPLES, 28, 4);
	assert_at(LAYOUT_DRAFT1, TACH_F_STRING_TABLE, 36, 8);
	assert_at(LAYOUT_DRAFT1, TACH_F_COMPRESSION, 52, 4);
	assert_at(LAYOUT_DRAFT1, TACH_F_CONFIG, 0, 0);
	assert_at(LAYOUT_DRAFT2, TACH_F_PY_MAJOR, 0, 0);
	assert_at(LAYOUT_DRAFT2, TACH_F_START_US, 8, 8);
	assert_at(LAYOUT_DRAFT2, TACH_F_FRAME_TABLE, 40, 8);
	assert_int_equal(tach_layout_version(LAYOUT_RELEASE), 1);
	assert_int_equal(tach_layout_version(LAYOUT_DRAFT1), 1);
	assert_int_equal(tach_layout_version(LAYOUT_DRAFT2), 2);
}

static void test_threads(void **state)
{
	struct tach_threads t = { 0 };
	struct tach_thread *th;
	uint32_t i;

	assert_null(tach_threads_find(&t, 0, 0));
	for (i = 0; i < 10000; i++) {
		th = tach_threads_add(&t, i / 2, i & 1, 77);
		assert_non_null(th);
		assert_int_equal(tach_thread_reserve(th, i % 257), 0);
	}
	for (i = 0; i < 10000; i++) {
		th = tach_threads_find(&t, i / 2, i & 1);
		assert_non_null(th);
		assert_true(th->thread_id == i / 2 && th->interp_id == (i & 1));
		assert_true(th->time_us == 77 && th->stack_cap >= i % 257);
	}
	assert_null(tach_threads_find(&t, 10000, 0));
	assert_null(tach_threads_find(&t, 0, 2));
	tach_threads_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
