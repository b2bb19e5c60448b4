// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cfi_expression.c - the expressions that are known; others are not taken for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_cfi.h"
#include "elf/cfi_expression.h"

static struct cfi_value value(bool with_cfa, const uint8_t *bytes, size_t len)
{
	return cfi_expression_value((struct cfi_reader){ bytes, bytes + len, false }, with_cfa);
}

#define CFA(...) value(false, CODE(__VA_ARGS__))
#define PLACE(...) value(true, CODE(__VA_ARGS__))

static void assert_value(struct cfi_value v, enum cfi_value_how how, uint64_t reg, int64_t off,
			 int64_t add)
{
	assert_int_equal(v.how, how);
	assert_int_equal(v.reg, reg);
	assert_int_equal(v.off, off);
	assert_int_equal(v.add, add);
}

static void registers(void **state)
{
	assert_value(CFA(0x77, 16), CFI_VALUE_REG, 7, 16, 0);
	assert_value(CFA(0x76, 0x78), CFI_VALUE_REG, 6, -8, 0);
	assert_value(CFA(0x92, 31, 0x80, 1), CFI_VALUE_REG, 31, 128, 0);
	assert_value(CFA(0x77, 16, 0x23, 8), CFI_VALUE_REG, 7, 24, 0);
}

static void memory(void **state)
{
	assert_value(CFA(0x76, 0x78, 6), CFI_VALUE_AT_REG, 6, -8, 0);
	/* OpenSSL's: %rsp+56,deref,+8 */
	assert_value(CFA(0x77, 56, 6, 0x23, 8), CFI_VALUE_AT_REG, 7, 56, 8);
	assert_value(CFA(0x77, 56, 6, 0x38, 0x22), CFI_VALUE_AT_REG, 7, 56, 8);
	assert_value(CFA(0x77, 56, 6, 0x11, 0x70, 0x22), CFI_VALUE_AT_REG, 7, 56, -16);
	assert_value(CFA(0x77, 56, 6, 0x38, 0x1c), CFI_VALUE_AT_REG, 7, 56, -8);
}

static void numbers_of_every_size(void **state)
{
	assert_value(CFA(0x08, 0xff), CFI_VALUE_NUMBER, 0, 255, 0);
	assert_value(CFA(0x09, 0xff), CFI_VALUE_NUMBER, 0, -1, 0);
	assert_value(CFA(0x0a, 0, 0xff), CFI_VALUE_NUMBER, 0, 0xff00, 0);
	assert_value(CFA(0x0b, 0, 0xff), CFI_VALUE_NUMBER, 0, -256, 0);
	assert_value(CFA(0x0c, 0, 0, 0, 0x80), CFI_VALUE_NUMBER, 0, 0x80000000ll, 0);
	assert_value(CFA(0x0d, 0, 0, 0, 0x80), CFI_VALUE_NUMBER, 0, -0x80000000ll, 0);
	assert_value(CFA(0x10, 0x80, 1), CFI_VALUE_NUMBER, 0, 128, 0);
	assert_value(CFA(0x11, 0x7f), CFI_VALUE_NUMBER, 0, -1, 0);
	assert_value(CFA(0x4f), CFI_VALUE_NUMBER, 0, 31, 0);
}

static void places_begin_with_the_cfa(void **state)
{
	assert_value(PLACE(0x76, 0), CFI_VALUE_REG, 6, 0, 0);
	assert_value(PLACE(0x23, 16), CFI_VALUE_CFA, 0, 16, 0);
	assert_value(PLACE(0x38, 0x1c), CFI_VALUE_CFA, 0, -8, 0);
	assert_value(CFA(0x23, 16), CFI_VALUE_OTHER, 0, 0, 0);
}

static void plt(void **state)
{
	assert_value(CFA(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		     CFI_VALUE_PLT, 0, 11, 0);
	assert_value(CFA(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22),
		     CFI_VALUE_PLT, 0, 10, 0);
	/* Another shift; another mask; a longer one. */
	assert_value(CFA(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22),
		     CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		     CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x96),
		     CFI_VALUE_OTHER, 0, 0, 0);
}

static void others(void **state)
{
	static const uint8_t none[1], longer[40] = { 0x77, 8, 0x23, 8, 0x23, 8 };

	assert_value(value(false, none, 0), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(value(false, longer, sizeof(longer)), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x06), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x22), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x76, 0, 6, 6), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x76, 0, 0x77, 0, 0x22), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x38, 0x22), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x30, 0x30, 0x30, 0x30, 0x30), CFI_VALUE_OTHER, 0, 0, 0);
	/* Operands that are not there. */
	assert_value(CFA(0x77), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x92, 7), CFI_VALUE_OTHER, 0, 0, 0);
	assert_value(CFA(0x77, 8, 0x0c, 1), CFI_VALUE_OTHER, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers),
		cmocka_unit_test(memory),
		cmocka_unit_test(numbers_of_every_size),
		cmocka_unit_test(places_begin_with_the_cfa),
		cmocka_unit_test(plt),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
