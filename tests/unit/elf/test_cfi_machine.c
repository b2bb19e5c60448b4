// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cfi_machine.c - each instruction of call frame information, and what is wrong with one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_cfi.h"
#include "elf/cfi_machine.h"

#define ROWS_MAX 16

struct result {
	int err;
	unsigned int cnt;
	struct {
		uint64_t at;	/* after the function's start */
		struct cfi_state state;
	} rows[ROWS_MAX];
};

static uint16_t machine_type = EM_X86_64;
static uint64_t steps = 1000;

static int keep(void *ctx, uint64_t addr, const struct cfi_state *state)
{
	struct result *r = ctx;

	if (r->cnt == ROWS_MAX)
		return -EFBIG;
	r->rows[r->cnt].at = addr - FAKE_CODE;
	r->rows[r->cnt++].state = *state;
	return 0;
}

/* Execute the instructions in a function of 100 bytes. */
static struct result run(const uint8_t *program, size_t len)
{
	struct fake_cfi c = { .vaddr = FAKE_BASE };
	struct cfi_machine m = { .registers = cfi_registers_of(machine_type), .steps = steps,
				 .row = keep };
	struct cfi_section s = { .bytes = c.bytes, .vaddr = FAKE_BASE, .measured = true };
	static struct cfi_entries entries;
	struct cfi_fde fde;
	struct result r = { 0 };

	if (machine_type == EM_X86_64)
		fake_cie(&c);
	else
		fake_cie_arm64(&c);
	fake_fde(&c, FAKE_CODE, 100, program, len);
	s.len = c.len;
	cfi_entries_begin(&entries, &s);
	assert_int_equal(cfi_entries_next(&entries, &fde), 1);
	m.ctx = &r;
	r.err = cfi_machine_run(&m, &fde);
	return r;
}

static void assert_cfa(const struct result *r, unsigned int row, uint64_t at, uint64_t reg,
		       int64_t off)
{
	assert_int_equal(r->err, 0);
	assert_in_range(row, 0, r->cnt - 1);
	assert_int_equal(r->rows[row].at, at);
	assert_int_equal(r->rows[row].state.cfa.how, CFI_VALUE_REG);
	assert_int_equal(r->rows[row].state.cfa.reg, reg);
	assert_int_equal(r->rows[row].state.cfa.off, off);
}

static void assert_fp(const struct result *r, unsigned int row, enum cfi_where where, int64_t off)
{
	assert_int_equal(r->err, 0);
	assert_int_equal(r->rows[row].state.fp.where, where);
	assert_int_equal(r->rows[row].state.fp.value.off, off);
}

static void a_function_without_instructions_is_as_its_cie_says(void **state)
{
	struct result r = run(CODE(0));

	assert_int_equal(r.cnt, 1);
	assert_cfa(&r, 0, 0, 7, 8);
	assert_int_equal(r.rows[0].state.ra.where, CFI_AT);
	assert_int_equal(r.rows[0].state.ra.value.off, -8);
	assert_fp(&r, 0, CFI_UNSAID, 0);
}

/* push rbp; mov rbp, rsp; ... leave */
static void frame_pointer(void **state)
{
	struct result r = run(CODE(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x50, 0xc6, 0x0c, 7, 8));

	assert_int_equal(r.cnt, 4);
	assert_cfa(&r, 0, 0, 7, 8);
	assert_cfa(&r, 1, 1, 7, 16);
	assert_fp(&r, 1, CFI_AT, -16);
	assert_cfa(&r, 2, 4, 6, 16);
	assert_cfa(&r, 3, 20, 7, 8);
	assert_fp(&r, 3, CFI_UNSAID, 0);
}

static void every_way_to_advance(void **state)
{
	struct result r = run(CODE(0x45, 0x0e, 16, 0x02, 7, 0x0e, 24, 0x03, 8, 0, 0x0e, 32,
				   0x04, 9, 0, 0, 0, 0x0e, 40, 0x1d, 1, 0, 0, 0, 0, 0, 0, 0,
				   0x0e, 48));
	static const uint64_t at[] = { 0, 5, 12, 20, 29, 30 };
	unsigned int i;

	assert_int_equal(r.cnt, 6);
	for (i = 0; i < 6; i++)
		assert_cfa(&r, i, at[i], 7, 8 + 8 * i);
}

static void set_loc_goes_to_an_address(void **state)
{
	/* The operand is pc-relative: 4 bytes at FAKE_BASE + its offset in the section. */
	uint8_t program[] = { 0x01, 0, 0, 0, 0, 0x0e, 16 };
	struct fake_cfi c = { .vaddr = FAKE_BASE };
	int32_t to;
	struct result r;

	fake_cie(&c);
	to = (int32_t)(FAKE_CODE + 40 - (FAKE_BASE + c.len + 17 + 1));
	memcpy(program + 1, &to, sizeof(to));
	r = run(program, sizeof(program));
	assert_int_equal(r.cnt, 2);
	assert_cfa(&r, 1, 40, 7, 16);
	to -= 41;	/* before the function */
	memcpy(program + 1, &to, sizeof(to));
	assert_int_equal(run(program, sizeof(program)).err, -EBADMSG);
}

static void rows_end_with_the_function(void **state)
{
	struct result r = run(CODE(0x02, 99, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 32));

	assert_int_equal(r.cnt, 2);
	assert_cfa(&r, 1, 99, 7, 16);
	r = run(CODE(0x02, 200, 0x0e, 16));
	assert_int_equal(r.cnt, 1);
}

static void cfa_of_every_kind(void **state)
{
	struct result r = run(CODE(0x0c, 6, 0x80, 1,		/* def_cfa rbp+128 */
				   0x41, 0x12, 7, 0x7e,		/* def_cfa_sf rsp, -2 * -8 */
				   0x41, 0x13, 0x7d,		/* def_cfa_offset_sf -3 * -8 */
				   0x41, 0x0d, 3,		/* def_cfa_register rbx */
				   0x41, 0x0f, 3, 0x76, 0x78, 6));	/* breg6 -8, deref */

	assert_int_equal(r.cnt, 5);
	assert_cfa(&r, 0, 0, 6, 128);
	assert_cfa(&r, 1, 1, 7, 16);
	assert_cfa(&r, 2, 2, 7, 24);
	assert_cfa(&r, 3, 3, 3, 24);
	assert_int_equal(r.rows[4].state.cfa.how, CFI_VALUE_AT_REG);
	assert_int_equal(r.rows[4].state.cfa.reg, 6);
	assert_int_equal(r.rows[4].state.cfa.off, -8);
}

static void a_part_of_an_expression_cannot_be_changed(void **state)
{
	struct result r = run(CODE(0x0f, 3, 0x76, 0x78, 6, 0x41, 0x0e, 16));

	assert_int_equal(r.err, 0);
	assert_int_equal(r.rows[1].state.cfa.how, CFI_VALUE_OTHER);
	r = run(CODE(0x0f, 3, 0x76, 0x78, 6, 0x41, 0x0d, 7, 0x41, 0x0c, 7, 8));
	assert_int_equal(r.rows[1].state.cfa.how, CFI_VALUE_OTHER);
	assert_cfa(&r, 2, 2, 7, 8);
}

static void a_register_of_every_kind(void **state)
{
	struct result r = run(CODE(0x86, 2,			/* offset rbp, 2 * -8 */
				   0x41, 0x05, 6, 3,		/* offset_extended */
				   0x41, 0x11, 6, 0x7c,		/* offset_extended_sf -4 */
				   0x41, 0x2f, 6, 5,		/* negative_offset_extended */
				   0x41, 0x14, 6, 6,		/* val_offset */
				   0x41, 0x15, 6, 0x79,		/* val_offset_sf -7 */
				   0x41, 0x07, 6,		/* undefined */
				   0x41, 0x08, 6,		/* same_value */
				   0x41, 0x09, 6, 3,		/* register rbp, rbx */
				   0x41, 0x10, 6, 2, 0x76, 0x70,	/* expression breg6 -16 */
				   0x41, 0x16, 6, 2, 0x77, 8,	/* val_expression breg7 8 */
				   0x41, 0x06, 6));		/* restore_extended */

	assert_int_equal(r.cnt, 12);
	assert_fp(&r, 0, CFI_AT, -16);
	assert_fp(&r, 1, CFI_AT, -24);
	assert_fp(&r, 2, CFI_AT, 32);
	assert_fp(&r, 3, CFI_AT, 40);
	assert_fp(&r, 4, CFI_IS, -48);
	assert_fp(&r, 5, CFI_IS, 56);
	assert_fp(&r, 6, CFI_UNDEFINED, 0);
	assert_fp(&r, 7, CFI_UNCHANGED, 0);
	assert_fp(&r, 8, CFI_ELSEWHERE, 0);
	assert_fp(&r, 9, CFI_AT, -16);
	assert_int_equal(r.rows[9].state.fp.value.how, CFI_VALUE_REG);
	assert_fp(&r, 10, CFI_IS, 8);
	assert_fp(&r, 11, CFI_UNSAID, 0);
}

static void other_registers_do_not_count(void **state)
{
	struct result r = run(CODE(0x83, 2, 0x8c, 3, 0x05, 0x90, 0x90, 1, 3, 0x07, 0, 0xc3,
				   0x09, 12, 6, 0x10, 13, 1, 0x30, 0x2e, 16));

	assert_int_equal(r.cnt, 1);
	assert_cfa(&r, 0, 0, 7, 8);
	assert_fp(&r, 0, CFI_UNSAID, 0);
}

static void remember_and_restore(void **state)
{
	struct result r = run(CODE(0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0a, 0x0e, 24, 0x41, 0xc6,
				   0x0e, 8, 0x41, 0x0b, 0x41, 0x0b, 0x0e, 64));

	assert_int_equal(r.cnt, 6);
	assert_cfa(&r, 2, 2, 7, 24);
	assert_cfa(&r, 3, 3, 7, 8);
	assert_cfa(&r, 4, 4, 7, 16);
	assert_fp(&r, 4, CFI_AT, -16);
	assert_cfa(&r, 5, 5, 7, 64);
	assert_fp(&r, 5, CFI_AT, -16);
}

static void broken_programs(void **state)
{
	static const uint8_t nested[20] = { 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
					    0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a };

	assert_int_equal(run(CODE(0x0b)).err, -EBADMSG);	/* nothing remembered */
	assert_int_equal(run(nested, 16).err, 0);
	assert_int_equal(run(nested, sizeof(nested)).err, -EBADMSG);
	assert_int_equal(run(CODE(0x17)).err, -EBADMSG);	/* not known */
	assert_int_equal(run(CODE(0x3f)).err, -EBADMSG);
	assert_int_equal(run(CODE(0x2d)).err, -EBADMSG);	/* arm64's */
	/* An operand that goes beyond the end: behind 3 bytes there is no padding. */
	assert_int_equal(run(CODE(0x0f, 100, 0x76, 0)).err, -EBADMSG);
	assert_int_equal(run(CODE(0, 0, 0x0c)).err, -EBADMSG);
	assert_int_equal(run(CODE(0, 0x03, 1)).err, -EBADMSG);
	/* A LEB128 of more than 64 bits. */
	assert_int_equal(run(CODE(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
				  0xff, 1)).err, -EBADMSG);
	/* An advance beyond the last address. */
	assert_int_equal(run(CODE(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)).err,
			 -EBADMSG);
}

static void steps_are_used_up(void **state)
{
	steps = 6;	/* two of them are the CIE's */
	assert_int_equal(run(CODE(0, 0, 0, 0, 0, 0, 0)).err, -EFBIG);
	steps = 1000;
	assert_int_equal(run(CODE(0, 0, 0, 0, 0, 0, 0)).err, 0);
}

static void arm64(void **state)
{
	struct result r;

	machine_type = EM_AARCH64;
	/* paciasp; stp x29, x30, [sp, -32]!; mov x29, sp; ... ldp; autiasp */
	r = run(CODE(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x44, 0xde, 0xdd,
		     0x0c, 31, 0, 0x41, 0x2d, 0x2c));
	machine_type = EM_X86_64;
	assert_int_equal(r.cnt, 6);
	assert_cfa(&r, 0, 0, 31, 0);
	assert_int_equal(r.rows[0].state.ra.where, CFI_UNSAID);
	assert_cfa(&r, 2, 8, 31, 32);
	assert_fp(&r, 2, CFI_AT, -32);
	assert_int_equal(r.rows[2].state.ra.value.off, -24);
	assert_cfa(&r, 3, 12, 29, 32);
	assert_cfa(&r, 4, 28, 31, 0);
	assert_fp(&r, 4, CFI_UNSAID, 0);
	assert_int_equal(r.rows[5].at, 32);
}

static void machine_types(void **state)
{
	assert_int_equal(cfi_registers_of(EM_X86_64)->ra, 16);
	assert_int_equal(cfi_registers_of(EM_AARCH64)->ra, 30);
	assert_null(cfi_registers_of(EM_RISCV));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_without_instructions_is_as_its_cie_says),
		cmocka_unit_test(frame_pointer),
		cmocka_unit_test(every_way_to_advance),
		cmocka_unit_test(set_loc_goes_to_an_address),
		cmocka_unit_test(rows_end_with_the_function),
		cmocka_unit_test(cfa_of_every_kind),
		cmocka_unit_test(a_part_of_an_expression_cannot_be_changed),
		cmocka_unit_test(a_register_of_every_kind),
		cmocka_unit_test(other_registers_do_not_count),
		cmocka_unit_test(remember_and_restore),
		cmocka_unit_test(broken_programs),
		cmocka_unit_test(steps_are_used_up),
		cmocka_unit_test(arm64),
		cmocka_unit_test(machine_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
