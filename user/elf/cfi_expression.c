// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cfi_expression.c - see cfi_expression.h. Numbers of operations: DWARF 5, 7.7.1. */
#include "elf/cfi_expression.h"

#define STACK 4
/* Longer expressions are not among the known ones. */
#define EXPRESSION_MAX 32

enum {
	OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S = 0x09, OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b, OP_CONST4U = 0x0c, OP_CONST4S = 0x0d, OP_CONSTU = 0x10,
	OP_CONSTS = 0x11, OP_AND = 0x1a, OP_MINUS = 0x1c, OP_PLUS = 0x22, OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24, OP_GE = 0x2a, OP_LIT0 = 0x30, OP_BREG0 = 0x70, OP_BREGX = 0x92,
};

struct stack {
	struct cfi_value values[STACK];
	unsigned int cnt;
};

static int64_t add_wrapping(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static bool stack_push(struct stack *s, struct cfi_value v)
{
	if (s->cnt == STACK)
		return false;
	s->values[s->cnt++] = v;
	return true;
}

static bool push_number(struct stack *s, int64_t n)
{
	return stack_push(s, (struct cfi_value){ .how = CFI_VALUE_NUMBER, .off = n });
}

static bool push_register(struct stack *s, uint64_t reg, int64_t off)
{
	return stack_push(s, (struct cfi_value){ .how = CFI_VALUE_REG, .reg = reg, .off = off });
}

/* Add to the value on top. */
static bool stack_plus(struct stack *s, int64_t n)
{
	struct cfi_value *top = s->cnt ? &s->values[s->cnt - 1] : NULL;

	if (!top)
		return false;
	if (top->how == CFI_VALUE_AT_REG)
		top->add = add_wrapping(top->add, n);
	else
		top->off = add_wrapping(top->off, n);
	return true;
}

/* Add or subtract the number on top to or from the value below it. */
static bool plus_number(struct stack *s, bool negative)
{
	const struct cfi_value *top = s->cnt ? &s->values[s->cnt - 1] : NULL;
	int64_t n;

	if (!top || top->how != CFI_VALUE_NUMBER)
		return false;
	n = negative ? add_wrapping(0, (int64_t)-(uint64_t)top->off) : top->off;
	s->cnt--;
	return stack_plus(s, n);
}

static bool stack_deref(struct stack *s)
{
	struct cfi_value *top = s->cnt ? &s->values[s->cnt - 1] : NULL;

	if (!top || top->how != CFI_VALUE_REG)
		return false;
	top->how = CFI_VALUE_AT_REG;
	return true;
}

static bool run_one(struct stack *s, struct cfi_reader *r)
{
	unsigned int op = (unsigned int)cfi_uint(r, 1);
	uint64_t reg;

	if (op >= OP_LIT0 && op < OP_LIT0 + 32)
		return push_number(s, op - OP_LIT0);
	if (op >= OP_BREG0 && op < OP_BREG0 + 32)
		return push_register(s, op - OP_BREG0, cfi_sleb(r));
	switch (op) {
	case OP_CONST1U:
		return push_number(s, (int64_t)cfi_uint(r, 1));
	case OP_CONST1S:
		return push_number(s, cfi_int(r, 1));
	case OP_CONST2U:
		return push_number(s, (int64_t)cfi_uint(r, 2));
	case OP_CONST2S:
		return push_number(s, cfi_int(r, 2));
	case OP_CONST4U:
		return push_number(s, (int64_t)cfi_uint(r, 4));
	case OP_CONST4S:
		return push_number(s, cfi_int(r, 4));
	case OP_CONSTU:
		return push_number(s, (int64_t)cfi_uleb(r));
	case OP_CONSTS:
		return push_number(s, cfi_sleb(r));
	case OP_BREGX:
		reg = cfi_uleb(r);
		return push_register(s, reg, cfi_sleb(r));
	case OP_PLUS_UCONST:
		return stack_plus(s, (int64_t)cfi_uleb(r));
	case OP_PLUS:
		return plus_number(s, false);
	case OP_MINUS:
		return plus_number(s, true);
	case OP_DEREF:
		return stack_deref(s);
	}
	return false;
}

/*
 * Used by GNU ld for the PLT of x86-64 (bfd/elfxx-x86.c, elf_x86_64_eh_frame_lazy_plt): an entry's
 * second half has pushed a number.
 */
static bool is_plt(struct cfi_reader r, struct cfi_value *out)
{
	static const uint8_t before[] = { OP_BREG0 + 7, 8, OP_BREG0 + 16, 0, OP_LIT0 + 15, OP_AND };
	static const uint8_t after[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	size_t lit = sizeof(before);

	if (cfi_left(&r) != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(r.at, before, sizeof(before)) ||
	    memcmp(r.at + lit + 1, after, sizeof(after)) ||
	    r.at[lit] < OP_LIT0 || r.at[lit] > OP_LIT0 + 15)
		return false;
	*out = (struct cfi_value){ .how = CFI_VALUE_PLT, .off = r.at[lit] - OP_LIT0 };
	return true;
}

struct cfi_value cfi_expression_value(struct cfi_reader r, bool with_cfa)
{
	struct stack s = { .cnt = with_cfa, .values[0].how = CFI_VALUE_CFA };
	struct cfi_value other = { .how = CFI_VALUE_OTHER }, plt;

	if (r.broken || cfi_left(&r) > EXPRESSION_MAX)
		return other;
	if (!with_cfa && is_plt(r, &plt))
		return plt;
	while (cfi_left(&r))
		if (!run_one(&s, &r) || r.broken)
			return other;
	return s.cnt ? s.values[s.cnt - 1] : other;
}
