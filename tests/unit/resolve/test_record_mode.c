// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_record_mode.c - rules that all rows of the table of modes obey.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "resolve/record_mode.h"

/* Ticks and waits are samples of a clock: their weights count samples. Memory's count bytes. */
static void test_units(void **state)
{
	int i;

	for (i = 0; i < RECORD_MODE_CNT; i++) {
		const struct record_mode_def *m = &record_modes[i];

		assert_true(m->ticks || m->waits || m->memory);
		assert_int_equal(m->unit, m->memory ? UNIT_BYTES : UNIT_SAMPLES);
	}
}

static void test_names(void **state)
{
	int i, k;

	for (i = 0; i < RECORD_MODE_CNT; i++) {
		assert_non_null(record_modes[i].name);
		if (record_modes[i].memory)	/* it makes no TACH file */
			assert_int_equal(record_modes[i].header, MODE_UNKNOWN);
		else
			assert_in_range(record_modes[i].header, MODE_WALL, MODE_EXCEPTION);
		for (k = 0; k < i; k++)
			assert_string_not_equal(record_modes[i].name, record_modes[k].name);
	}
}

/* Only modes with waits have frames of waits. */
static void test_waits(void **state)
{
	int i;

	for (i = 0; i < RECORD_MODE_CNT; i++) {
		const struct record_mode_def *m = &record_modes[i];

		if (!m->waits)
			assert_false(m->runnable || m->wait_frames || m->runnable_frames);
		if (m->runnable_frames)
			assert_true(m->runnable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
