// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cfi_machine.c - see cfi_machine.h. Numbers of instructions: DWARF 5, 7.24; binutils,
 * include/dwarf2.def.
 */
#include "elf/cfi_machine.h"

#include <errno.h>

/* Limit on nested remember_state. Compilers use one. */
#define REMEMBERED_MAX 16

enum {
	CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0,	/* the two highest bits */
	CFA_NOP = 0x00, CFA_SET_LOC, CFA_ADVANCE_LOC1, CFA_ADVANCE_LOC2, CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED, CFA_RESTORE_EXTENDED, CFA_UNDEFINED, CFA_SAME_VALUE, CFA_REGISTER,
	CFA_REMEMBER_STATE, CFA_RESTORE_STATE, CFA_DEF_CFA, CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET, CFA_DEF_CFA_EXPRESSION, CFA_EXPRESSION, CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF, CFA_DEF_CFA_OFFSET_SF, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d, CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d, CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* An FDE that is being executed. */
struct run {
	struct cfi_machine *machine;
	const struct cfi_fde *fde;
	uint64_t loc;
	bool initial;		/* the CIE's instructions: there are no addresses so far */
	struct cfi_state now, first;	/* first: after the CIE's instructions */
	struct cfi_state remembered[REMEMBERED_MAX];
	unsigned int remembered_cnt;
};

const struct cfi_registers *cfi_registers_of(uint16_t machine)
{
	/* System V psABI for x86-64, figure 3.36; DWARF for the Arm 64-bit Architecture, 4.1. */
	static const struct cfi_registers known[] = {
		{ EM_X86_64, .sp = 7, .fp = 6, .ra = 16 },
		{ EM_AARCH64, .sp = 31, .fp = 29, .ra = 30 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].machine == machine)
			return &known[i];
	return NULL;
}

/* The rule of a register; NULL: not one of the three. */
static struct cfi_register *rule_of(const struct run *run, struct cfi_state *state, uint64_t reg)
{
	const struct cfi_registers *known = run->machine->registers;

	if (reg == known->ra)
		return &state->ra;
	if (reg == known->fp)
		return &state->fp;
	return reg == known->sp ? &state->sp : NULL;
}

static void put_rule(struct run *run, uint64_t reg, enum cfi_where where, struct cfi_value value)
{
	struct cfi_register *rule = rule_of(run, &run->now, reg);

	if (rule)
		*rule = (struct cfi_register){ .where = where, .value = value };
}

static void put_plain(struct run *run, uint64_t reg, enum cfi_where where)
{
	put_rule(run, reg, where, (struct cfi_value){ 0 });
}

/* off: in units of the CIE's data alignment. */
static void put_offset(struct run *run, uint64_t reg, enum cfi_where where, uint64_t off)
{
	put_rule(run, reg, where, (struct cfi_value){
		.how = CFI_VALUE_CFA,
		.off = (int64_t)(off * (uint64_t)run->fde->cie->data_align),
	});
}

static void put_expression(struct run *run, struct cfi_reader *r, enum cfi_where where)
{
	uint64_t reg = cfi_uleb(r);
	struct cfi_reader expression = cfi_block(r, cfi_uleb(r));

	put_rule(run, reg, where, cfi_expression_value(expression, true));
}

static void restore_reg(struct run *run, uint64_t reg)
{
	struct cfi_register *rule = rule_of(run, &run->now, reg);

	if (rule)
		*rule = *rule_of(run, &run->first, reg);
}

static void def_cfa(struct run *run, uint64_t reg, int64_t off)
{
	run->now.cfa = (struct cfi_value){ .how = CFI_VALUE_REG, .reg = reg, .off = off };
}

/* Change one part of a CFA that is a register and an offset; an expression has no such parts. */
static void change_cfa(struct run *run, const uint64_t *reg, int64_t off)
{
	struct cfi_value *cfa = &run->now.cfa;

	if (cfa->how != CFI_VALUE_REG)
		*cfa = (struct cfi_value){ .how = CFI_VALUE_OTHER };
	else if (reg)
		cfa->reg = *reg;
	else
		cfa->off = off;
}

static int remember_state(struct run *run)
{
	if (run->remembered_cnt == REMEMBERED_MAX)
		return -EBADMSG;
	run->remembered[run->remembered_cnt++] = run->now;
	return 0;
}

static int recall_state(struct run *run)
{
	if (!run->remembered_cnt)
		return -EBADMSG;
	run->now = run->remembered[--run->remembered_cnt];
	return 0;
}

static int emit_row(struct run *run)
{
	return run->machine->row(run->machine->ctx, run->loc, &run->now);
}

/* The current row ends before the address `to`. */
static int go_to(struct run *run, uint64_t to)
{
	int err;

	if (run->initial || to < run->loc)
		return -EBADMSG;
	if (to == run->loc)
		return 0;
	err = emit_row(run);
	run->loc = to;
	return err;
}

static int advance_pc(struct run *run, uint64_t by)
{
	uint64_t bytes, to;

	if (__builtin_mul_overflow(by, run->fde->cie->code_align, &bytes) ||
	    __builtin_add_overflow(run->loc, bytes, &to))
		return -EBADMSG;
	return go_to(run, to);
}

static int set_loc(struct run *run, struct cfi_reader *r)
{
	const struct cfi_fde *fde = run->fde;

	if (run->initial)
		return -EBADMSG;
	return go_to(run, cfi_pointer(r, fde->cie->encoding, fde->program_vaddr +
				      (uint64_t)(r->at - fde->program.at)));
}

/* Instructions of a single machine type, or of old compilers. */
static int run_special(struct run *run, struct cfi_reader *r, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case CFA_GNU_ARGS_SIZE:
		cfi_uleb(r);
		return 0;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = cfi_uleb(r);
		put_offset(run, reg, CFI_AT, -cfi_uleb(r));
		return 0;
	case CFA_MIPS_ADVANCE_LOC8:
		return advance_pc(run, cfi_uint(r, 8));
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		/* Return addresses are signed from here on, or not: the reader masks them. */
		return run->machine->registers->machine == EM_AARCH64 ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

/* Instructions that locate a register. */
static int run_register(struct run *run, struct cfi_reader *r, unsigned int op)
{
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = cfi_uleb(r);
		put_offset(run, reg, CFI_AT, cfi_uleb(r));
		return 0;
	case CFA_OFFSET_EXTENDED_SF:
		reg = cfi_uleb(r);
		put_offset(run, reg, CFI_AT, (uint64_t)cfi_sleb(r));
		return 0;
	case CFA_VAL_OFFSET:
		reg = cfi_uleb(r);
		put_offset(run, reg, CFI_IS, cfi_uleb(r));
		return 0;
	case CFA_VAL_OFFSET_SF:
		reg = cfi_uleb(r);
		put_offset(run, reg, CFI_IS, (uint64_t)cfi_sleb(r));
		return 0;
	case CFA_RESTORE_EXTENDED:
		restore_reg(run, cfi_uleb(r));
		return 0;
	case CFA_UNDEFINED:
		put_plain(run, cfi_uleb(r), CFI_UNDEFINED);
		return 0;
	case CFA_SAME_VALUE:
		put_plain(run, cfi_uleb(r), CFI_UNCHANGED);
		return 0;
	case CFA_REGISTER:
		put_plain(run, cfi_uleb(r), CFI_ELSEWHERE);
		cfi_uleb(r);
		return 0;
	case CFA_EXPRESSION:
		put_expression(run, r, CFI_AT);
		return 0;
	case CFA_VAL_EXPRESSION:
		put_expression(run, r, CFI_IS);
		return 0;
	}
	return run_special(run, r, op);
}

/* Instructions for the CFA, and for the state as a whole. */
static int run_cfa(struct run *run, struct cfi_reader *r, unsigned int op)
{
	int64_t align = run->fde->cie->data_align;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cfi_uleb(r);
		def_cfa(run, reg, (int64_t)cfi_uleb(r));
		return 0;
	case CFA_DEF_CFA_SF:
		reg = cfi_uleb(r);
		def_cfa(run, reg, (int64_t)((uint64_t)cfi_sleb(r) * (uint64_t)align));
		return 0;
	case CFA_DEF_CFA_REGISTER:
		reg = cfi_uleb(r);
		change_cfa(run, &reg, 0);
		return 0;
	case CFA_DEF_CFA_OFFSET:
		change_cfa(run, NULL, (int64_t)cfi_uleb(r));
		return 0;
	case CFA_DEF_CFA_OFFSET_SF:
		change_cfa(run, NULL, (int64_t)((uint64_t)cfi_sleb(r) * (uint64_t)align));
		return 0;
	case CFA_DEF_CFA_EXPRESSION:
		run->now.cfa = cfi_expression_value(cfi_block(r, cfi_uleb(r)), false);
		return 0;
	case CFA_REMEMBER_STATE:
		return remember_state(run);
	case CFA_RESTORE_STATE:
		return recall_state(run);
	}
	return run_register(run, r, op);
}

static int run_one(struct run *run, struct cfi_reader *r)
{
	unsigned int op = (unsigned int)cfi_uint(r, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance_pc(run, low);
	case CFA_OFFSET:
		put_offset(run, low, CFI_AT, cfi_uleb(r));
		return 0;
	case CFA_RESTORE:
		restore_reg(run, low);
		return 0;
	}
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return set_loc(run, r);
	case CFA_ADVANCE_LOC1:
		return advance_pc(run, cfi_uint(r, 1));
	case CFA_ADVANCE_LOC2:
		return advance_pc(run, cfi_uint(r, 2));
	case CFA_ADVANCE_LOC4:
		return advance_pc(run, cfi_uint(r, 4));
	}
	return run_cfa(run, r, op);
}

static int run_program(struct run *run, struct cfi_reader r)
{
	int err = 0;

	while (!err && cfi_left(&r) && run->loc < run->fde->end) {
		if (!run->machine->steps)
			return -EFBIG;
		run->machine->steps--;
		err = run_one(run, &r);
		if (r.broken)
			return -EBADMSG;
	}
	return err;
}

int cfi_machine_run(struct cfi_machine *m, const struct cfi_fde *fde)
{
	struct run run;
	int err;

	run.machine = m;
	run.fde = fde;
	run.loc = fde->start;
	run.remembered_cnt = 0;
	run.now = (struct cfi_state){ 0 };
	run.first = run.now;
	run.initial = true;
	err = run_program(&run, fde->cie->program);
	if (err)
		return err;
	run.first = run.now;
	run.initial = false;
	err = run_program(&run, fde->program);
	if (err)
		return err;
	return run.loc < fde->end ? emit_row(&run) : 0;
}
