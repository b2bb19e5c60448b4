// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_elf_demangle.c - names of C++ and Rust functions without parameters and hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/util.h"
#include "elf_helper/elf_demangle.h"

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{ "scanstring_unicode", "scanstring_unicode" },
		{ "scanstring_unicode.isra.0", "scanstring_unicode.isra.0" },
		{ "_PyEval_EvalFrameDefault.cold", "_PyEval_EvalFrameDefault.cold" },
		{ "_ZN2ns5Thing6methodEi", "ns::Thing::method" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
		  "std::vector<int, std::allocator<int> >::push_back" },
		{ "_ZN5thing5inner5count17h0123456789abcdefE", "thing::inner::count" },
		{ "_RNvNtCs1234_5thing5inner5count", "thing::inner::count" },
		{ "_Z", "_Z" },
		{ "_ZN", "_ZN" },
		{ "_RNv", "_RNv" },
		{ "", "" },
	};
	char out[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(elf_demangle(names[i][0], out, sizeof(out)),
				 strlen(names[i][1]));
		assert_string_equal(out, names[i][1]);
	}
}

static void test_cut(void **state)
{
	char out[8];

	assert_int_equal(elf_demangle("1234567", out, sizeof(out)), 7);
	assert_string_equal(out, "1234567");
	assert_int_equal(elf_demangle("12345678", out, sizeof(out)), 7);
	assert_string_equal(out, "1234...");
	assert_int_equal(elf_demangle("_ZN2ns5Thing6methodEi", out, sizeof(out)), 7);
	assert_string_equal(out, "ns::...");
}

/* Each substitution doubles what it stands for: it is left as soon as there is enough. */
static void test_names_that_grow(void **state)
{
	static const char *const names[] = {
		"_Z1fI1a1AIS0_S0_ES1_IS2_S2_ES1_IS3_S3_ES1_IS4_S4_ES1_IS5_S5_ES1_IS6_S6_E"
		"S1_IS7_S7_ES1_IS8_S8_ES1_IS9_S9_ES1_ISA_SA_ES1_ISB_SB_ES1_ISC_SC_ES1_ISD_SD_E"
		"S1_ISE_SE_ES1_ISF_SF_ES1_ISG_SG_ES1_ISH_SH_ES1_ISI_SI_ES1_ISJ_SJ_ES1_ISK_SK_E"
		"S1_ISL_SL_ES1_ISM_SM_ES1_ISN_SN_ES1_ISO_SO_ES1_ISP_SP_ES1_ISQ_SQ_ES1_ISR_SR_E"
		"S1_ISS_SS_ES1_IST_ST_ES1_ISU_SU_ES1_ISV_SV_ES1_ISW_SW_ES1_ISX_SX_ES1_ISY_SY_E"
		"S1_ISZ_SZ_ES1_IS10_S10_ES1_IS11_S11_ES1_IS12_S12_ES1_IS13_S13_EEvv",
		"_RINvC1c1fTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTaaEB6_EB5_EB4_EB3_EB2_EB1_"
		"EB0_EB_E",
	};
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(elf_demangle(names[i], text, sizeof(text)) < sizeof(text));
	assert_int_equal(elf_demangle(names[0], text, sizeof(text)), sizeof(text) - 1);
	assert_string_equal(text, "f<a, A<a, a>, A<A<a, a>, A<a, a> >, "
				  "A<A<A<a, a>, A<a, a> >, ...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_names_that_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
