// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * arm64.c - evaluates a short sequence of instructions without branches. See arm64.h.
 *
 * Encodings: Arm Architecture Reference Manual (DDI 0487), C4.1. TLS descriptors are called as in
 * "ELF for the Arm 64-bit Architecture" (aaelf64, TLS descriptors): x0 has the descriptor's
 * address, the function's address is the descriptor's first word, the result is in x0, and no other
 * register except the link register changes.
 */
#include "cpython/arm64.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SP 31

struct machine {
	struct arm64_value x[32];	/* 31: the stack pointer, never known */
	uint64_t pc;
};

static const struct arm64_value unknown;

/* The n bits of v starting at bit `at`. */
static uint32_t bits_at(uint32_t v, unsigned int at, unsigned int n)
{
	return v >> at & ((1u << n) - 1);
}

static struct arm64_value value_sum(struct arm64_value a, struct arm64_value b)
{
	if (a.kind == ARM64_NUMBER || b.kind == ARM64_NUMBER) {
		struct arm64_value v = a.kind == ARM64_NUMBER ? b : a;

		v.off = a.off + b.off;
		if (v.kind == ARM64_NUMBER || v.kind == ARM64_TP || v.kind == ARM64_DESC ||
		    v.kind == ARM64_TP_DESC)
			return v;
	} else if (a.kind == ARM64_TP && b.kind == ARM64_DESC) {
		return (struct arm64_value){ ARM64_TP_DESC, a.off + b.off, b.desc };
	} else if (a.kind == ARM64_DESC && b.kind == ARM64_TP) {
		return (struct arm64_value){ ARM64_TP_DESC, a.off + b.off, a.desc };
	}
	return unknown;
}

static struct arm64_value value_load(struct arm64_value at)
{
	if (at.kind == ARM64_NUMBER)
		at.kind = ARM64_WORD;
	else if (at.kind == ARM64_TP)
		at.kind = ARM64_TP_WORD;
	else if (at.kind == ARM64_TP_DESC)
		at.kind = ARM64_TP_DESC_WORD;
	else
		return unknown;
	return at;
}

static struct arm64_value value_number(uint64_t n)
{
	return (struct arm64_value){ ARM64_NUMBER, n, 0 };
}

static void set_reg(struct machine *m, uint32_t reg, struct arm64_value v)
{
	if (reg != SP)
		m->x[reg] = v;
}

/* Instructions of the frame record, and those without effect here: nop, bti, paciasp, autiasp. */
static bool step_frame(struct machine *m, uint32_t insn)
{
	if ((insn & 0xfffff01f) == 0xd503201f ||	/* hints */
	    (insn & 0xffc07fff) == 0xa9807bfd)		/* stp x29, x30, [sp, #-n]! */
		return true;
	if (insn == 0x910003fd) {			/* mov x29, sp */
		m->x[29] = unknown;
		return true;
	}
	if ((insn & 0xffc07fff) == 0xa8c07bfd) {	/* ldp x29, x30, [sp], #n */
		m->x[29] = m->x[30] = unknown;
		return true;
	}
	return false;
}

static bool step_number(struct machine *m, uint32_t insn)
{
	uint32_t rd = bits_at(insn, 0, 5), rn = bits_at(insn, 5, 5);
	uint32_t shift = bits_at(insn, 21, 2) * 16;
	uint64_t imm;

	if ((insn & 0x9f000000) == 0x90000000) {	/* adrp */
		imm = (uint64_t)bits_at(insn, 5, 19) << 2 | bits_at(insn, 29, 2);
		imm = (imm ^ 1 << 20) - (1 << 20);	/* 21 bits, signed */
		set_reg(m, rd, value_number((m->pc & ~0xfffull) + (imm << 12)));
	} else if ((insn & 0xbf800000) == 0x91000000) {	/* add, sub rd, rn, #imm */
		imm = (uint64_t)bits_at(insn, 10, 12) << 12 * bits_at(insn, 22, 1);
		if (insn & 0x40000000)			/* sub */
			imm = -imm;
		if (rd == SP)
			return false;
		set_reg(m, rd, value_sum(m->x[rn], value_number(imm)));
	} else if ((insn & 0xff800000) == 0xd2800000) {	/* movz */
		set_reg(m, rd, value_number((uint64_t)bits_at(insn, 5, 16) << shift));
	} else if ((insn & 0xff800000) == 0xf2800000) {	/* movk */
		if (m->x[rd].kind != ARM64_NUMBER)
			return false;
		imm = m->x[rd].off & ~(0xffffull << shift);
		set_reg(m, rd, value_number(imm | (uint64_t)bits_at(insn, 5, 16) << shift));
	} else {
		return false;
	}
	return true;
}

static bool step_register(struct machine *m, uint32_t insn)
{
	uint32_t rd = bits_at(insn, 0, 5), rn = bits_at(insn, 5, 5), rm = bits_at(insn, 16, 5);

	if ((insn & 0xffffffe0) == 0xd53bd040) {	/* mrs rd, tpidr_el0 */
		set_reg(m, rd, (struct arm64_value){ ARM64_TP, 0, 0 });
	} else if ((insn & 0xffc00000) == 0xf9400000) {	/* ldr rd, [rn, #imm] */
		set_reg(m, rd, value_load(value_sum(m->x[rn],
						    value_number(8ull * bits_at(insn, 10, 12)))));
	} else if ((insn & 0xffe0fc00) == 0xf8606800 && rm != SP) {	/* ldr rd, [rn, rm] */
		set_reg(m, rd, value_load(value_sum(m->x[rn], m->x[rm])));
	} else if ((insn & 0xffe0fc00) == 0x8b000000 && rm != SP && rn != SP) {	/* add rd, rn, rm */
		set_reg(m, rd, value_sum(m->x[rn], m->x[rm]));
	} else if ((insn & 0xfffffc1f) == 0xd63f0000) {	/* blr rn: only valid as
							 * the call of a descriptor */
		if (m->x[0].kind != ARM64_NUMBER || m->x[rn].kind != ARM64_WORD ||
		    m->x[rn].off != m->x[0].off)
			return false;
		m->x[0] = (struct arm64_value){ ARM64_DESC, 0, m->x[0].off };
		m->x[30] = unknown;
	} else {
		return false;
	}
	return true;
}

int arm64_returns(const uint8_t *code, size_t len, uint64_t vaddr, struct arm64_value *v)
{
	struct machine m = { .pc = vaddr };
	uint32_t insn;

	for (; len >= 4; code += 4, len -= 4, m.pc += 4) {
		memcpy(&insn, code, 4);
		if (insn == 0xd65f03c0) {	/* ret */
			*v = m.x[0];
			return 0;
		}
		if (!step_frame(&m, insn) && !step_number(&m, insn) && !step_register(&m, insn))
			return -ENOENT;
	}
	return -ENOENT;
}
