// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_unwind_rules.c - what rows say of states, in rows themselves and in long rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elf/unwind_rules.h"

static struct unwind_rules rules;
static uint16_t machine;

static int begin(void **state)
{
	machine = EM_X86_64;
	unwind_rules_begin(&rules, cfi_registers_of(machine), 42);
	return 0;
}

static int begin_arm64(void **state)
{
	machine = EM_AARCH64;
	unwind_rules_begin(&rules, cfi_registers_of(machine), 42);
	return 0;
}

static int end(void **state)
{
	unwind_rules_free(&rules);
	return 0;
}

static struct cfi_value reg(uint64_t number, int64_t off)
{
	return (struct cfi_value){ .how = CFI_VALUE_REG, .reg = number, .off = off };
}

static struct cfi_value at(uint64_t number, int64_t off, int64_t add)
{
	return (struct cfi_value){ CFI_VALUE_AT_REG, number, off, add };
}

static struct cfi_register at_cfa(int64_t off)
{
	return (struct cfi_register){ CFI_AT, { .how = CFI_VALUE_CFA, .off = off } };
}

/* The state of a function of x86-64, or of an arm64 one that has saved LR. */
static struct cfi_state usual(struct cfi_value cfa)
{
	return (struct cfi_state){ .cfa = cfa, .ra = at_cfa(-8) };
}

static uint32_t pack(struct cfi_state state)
{
	uint32_t packed = ~0u;

	assert_int_equal(unwind_rules_pack(&rules, &state, &packed), 0);
	return packed;
}

/* The rule as the BPF side gets it; is_long: it did not fit into the row. */
static struct unwind_rule rule_of(struct cfi_state state, bool is_long)
{
	uint32_t packed = pack(state);
	struct unwind_rule rule;

	assert_int_equal((packed & 7) == UNWIND_EXT, is_long);
	if (is_long) {
		assert_in_range(packed >> 3, 0, rules.long_cnt - 1);
		return rules.long_rules[packed >> 3];
	}
	unwind_unpack(packed, &rule);
	return rule;
}

static void assert_rule(struct unwind_rule r, struct unwind_rule want)
{
	assert_memory_equal(&r, &want, sizeof(r));
}

static void short_rules(void **state)
{
	struct cfi_state s = usual(reg(7, 8));

	assert_rule(rule_of(s, false), (struct unwind_rule){
		.cfa = UNWIND_SP, .cfa_off = 8, .ra = UNWIND_AT_CFA, .ra_off = -8 });
	s = usual(reg(6, 16));
	s.fp = at_cfa(-16);
	assert_rule(rule_of(s, false), (struct unwind_rule){
		.cfa = UNWIND_FP, .cfa_off = 16, .fp = UNWIND_AT_CFA, .fp_off = -16,
		.ra = UNWIND_AT_CFA, .ra_off = -8 });
	s = usual(reg(7, 65528));
	s.fp = at_cfa(-2040);
	assert_rule(rule_of(s, false), (struct unwind_rule){
		.cfa = UNWIND_SP, .cfa_off = 65528, .fp = UNWIND_AT_CFA, .fp_off = -2040,
		.ra = UNWIND_AT_CFA, .ra_off = -8 });
	s.fp = (struct cfi_register){ .where = CFI_UNCHANGED };
	assert_int_equal(rule_of(s, false).fp, UNWIND_SAME);
	assert_int_equal(rules.long_cnt, 0);
}

static void rules_that_do_not_fit_a_row(void **state)
{
	static const int64_t cfas[] = { 65536, 12, -8, INT32_MAX, INT32_MIN };
	static const int64_t fps[] = { -2048, -12, 8, 0, INT16_MIN, INT16_MAX };
	struct cfi_state s;
	size_t i;

	for (i = 0; i < sizeof(cfas) / sizeof(cfas[0]); i++)
		assert_rule(rule_of(usual(reg(7, cfas[i])), true), (struct unwind_rule){
			.cfa = UNWIND_SP, .cfa_off = (int32_t)cfas[i], .ra = UNWIND_AT_CFA,
			.ra_off = -8 });
	for (i = 0; i < sizeof(fps) / sizeof(fps[0]); i++) {
		s = usual(reg(6, 16));
		s.fp = at_cfa(fps[i]);
		assert_rule(rule_of(s, true), (struct unwind_rule){
			.cfa = UNWIND_FP, .cfa_off = 16, .fp = UNWIND_AT_CFA,
			.fp_off = (int16_t)fps[i], .ra = UNWIND_AT_CFA, .ra_off = -8 });
	}
	assert_int_equal(rules.long_cnt, 11);
}

static void a_long_rule_is_there_once(void **state)
{
	uint32_t first = pack(usual(reg(7, 65536))), second = pack(usual(reg(7, 65544)));

	assert_int_not_equal(first, second);
	assert_int_equal(pack(usual(reg(7, 65536))), first);
	assert_int_equal(pack(usual(reg(7, 65544))), second);
	assert_int_equal(rules.long_cnt, 2);
}

static void one_long_rule_too_many(void **state)
{
	uint32_t i;

	for (i = 0; i < UNWIND_LONG_RULES_MAX; i++)
		if (pack(usual(reg(7, 65536 + 8 * (int64_t)i))) != (UNWIND_EXT | i << 3))
			fail_msg("rule %u", i);
	assert_int_equal(pack(usual(reg(7, 1 << 30))), UNWIND_UNSUPPORTED);
	assert_int_equal(pack(usual(reg(7, 65536))), UNWIND_EXT);
}

/* A function that aligns its stack: DRAP in r10, saved at rbp - 8. */
static void a_frame_behind_a_pointer(void **state)
{
	struct cfi_state s = usual(at(6, -8, 0));

	s.fp = (struct cfi_register){ CFI_AT, reg(6, 0) };
	assert_rule(rule_of(s, true), (struct unwind_rule){
		.cfa = UNWIND_AT_FP, .cfa_off = -8, .fp = UNWIND_AT_FRAME, .ra = UNWIND_AT_CFA,
		.ra_off = -8 });
	assert_rule(rule_of(usual(at(7, 56, 8)), true), (struct unwind_rule){
		.cfa = UNWIND_AT_SP, .cfa_off = 56, .cfa_add = 8, .ra = UNWIND_AT_CFA,
		.ra_off = -8 });
}

static void plt(void **state)
{
	struct cfi_state s = usual((struct cfi_value){ .how = CFI_VALUE_PLT, .off = 11 });
	struct unwind_rule rule = rule_of(s, false);

	assert_int_equal(rule.cfa, UNWIND_PLT);
	assert_int_equal(rule.cfa_off, 11);
}

static void the_frame_pointer_is_lost(void **state)
{
	const struct cfi_register where[] = {
		{ .where = CFI_UNDEFINED }, { .where = CFI_ELSEWHERE },
		{ CFI_IS, { .how = CFI_VALUE_CFA, .off = -16 } },
		{ CFI_AT, { .how = CFI_VALUE_OTHER } }, { CFI_AT, reg(3, 8) },
		{ CFI_AT, at(6, 8, 0) }, at_cfa(INT16_MAX + 1), at_cfa(INT16_MIN - 1),
	};
	struct cfi_state s = usual(reg(7, 8));
	struct unwind_rule rule;
	size_t i;

	for (i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		s.fp = where[i];
		rule = rule_of(s, true);
		assert_int_equal(rule.cfa, UNWIND_SP);
		assert_int_equal(rule.fp, UNWIND_LOST);
	}
	assert_int_equal(rules.long_cnt, 1);
}

/* A place relative to the stack pointer is relative to the CFA if that is. */
static void places_relative_to_the_stack_pointer(void **state)
{
	struct cfi_state s = usual(reg(7, 48));

	s.fp = (struct cfi_register){ CFI_AT, reg(7, 16) };
	assert_int_equal(rule_of(s, false).fp_off, -32);
	s.cfa = reg(6, 48);
	assert_int_equal(rule_of(s, true).fp, UNWIND_LOST);
	s.cfa = reg(7, INT32_MAX);
	s.fp.value.off = INT64_MIN;
	assert_int_equal(rule_of(s, true).fp, UNWIND_LOST);
}

static void the_end(void **state)
{
	struct cfi_state s = usual(reg(3, 8));

	s.ra.where = CFI_UNDEFINED;
	assert_int_equal(pack(s), UNWIND_END);
}

static void what_cannot_be_said(void **state)
{
	struct cfi_state s;
	size_t i;

	assert_int_equal(pack(usual(reg(10, 0))), UNWIND_UNSUPPORTED);	/* r10, rbx */
	assert_int_equal(pack(usual(reg(3, 16))), UNWIND_UNSUPPORTED);
	assert_int_equal(pack(usual(at(10, 0, 0))), UNWIND_UNSUPPORTED);
	assert_int_equal(pack(usual((struct cfi_value){ 0 })), UNWIND_UNSUPPORTED);
	assert_int_equal(pack(usual((struct cfi_value){ .how = CFI_VALUE_NUMBER })),
			 UNWIND_UNSUPPORTED);
	assert_int_equal(pack(usual(reg(7, 1ll << 31))), UNWIND_UNSUPPORTED);
	assert_int_equal(pack(usual(at(7, 0, 1ll << 31))), UNWIND_UNSUPPORTED);
	/* x86-64: the return address is where a call puts it. */
	for (i = CFI_UNSAID; i <= CFI_ELSEWHERE; i++) {
		s = usual(reg(7, 8));
		s.ra = (struct cfi_register){ .where = (uint8_t)i };
		if (i != CFI_UNDEFINED)
			assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
	}
	s.ra = at_cfa(-16);
	assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
	/* The caller's stack pointer is another one. */
	s = usual(reg(7, 8));
	s.sp = at_cfa(-24);
	assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
	s.sp = (struct cfi_register){ CFI_IS, { .how = CFI_VALUE_CFA, .off = 8 } };
	assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
	s.sp.value.off = 0;
	assert_int_equal(pack(s) & 7, UNWIND_SP);
	assert_int_equal(rules.long_cnt, 0);
}

static void arm64(void **state)
{
	struct cfi_state s = { .cfa = reg(31, 0) };

	assert_rule(rule_of(s, false), (struct unwind_rule){ .cfa = UNWIND_SP });
	s.cfa = reg(29, 48);
	s.fp = at_cfa(-48);
	s.ra = at_cfa(-40);
	assert_rule(rule_of(s, false), (struct unwind_rule){
		.cfa = UNWIND_FP, .cfa_off = 48, .fp = UNWIND_AT_CFA, .fp_off = -48,
		.ra = UNWIND_AT_CFA, .ra_off = -40 });
	s.ra = at_cfa(-4096);
	assert_int_equal(rule_of(s, true).ra_off, -4096);
	s.ra = at_cfa(-40000);
	assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
	s.ra = (struct cfi_register){ .where = CFI_ELSEWHERE };
	assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
	s.ra = (struct cfi_register){ .where = CFI_UNDEFINED };
	assert_int_equal(pack(s), UNWIND_END);
	/* x86-64's expression. */
	s = (struct cfi_state){ .cfa = { .how = CFI_VALUE_PLT, .off = 11 } };
	assert_int_equal(pack(s), UNWIND_UNSUPPORTED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(short_rules),
		TEST(rules_that_do_not_fit_a_row),
		TEST(a_long_rule_is_there_once),
		TEST(one_long_rule_too_many),
		TEST(a_frame_behind_a_pointer),
		TEST(plt),
		TEST(the_frame_pointer_is_lost),
		TEST(places_relative_to_the_stack_pointer),
		TEST(the_end),
		TEST(what_cannot_be_said),
		cmocka_unit_test_setup_teardown(arm64, begin_arm64, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
