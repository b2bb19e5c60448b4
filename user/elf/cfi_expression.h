/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cfi_expression.h - the few DWARF expressions that compilers and assemblers use in call frame
 * information: a register, the memory at a register, and numbers added to them.
 */
#ifndef TACHBPF_ELF_CFI_EXPRESSION_H
#define TACHBPF_ELF_CFI_EXPRESSION_H

#include "elf/cfi_reader.h"

enum cfi_value_how {
	CFI_VALUE_OTHER = 0,	/* anything else */
	CFI_VALUE_NUMBER,	/* off */
	CFI_VALUE_REG,		/* register + off */
	CFI_VALUE_AT_REG,	/* *(register + off) + add */
	CFI_VALUE_CFA,		/* CFA + off */
	CFI_VALUE_PLT,		/* rsp + 8, and 8 more if (rip & 15) >= off */
};

struct cfi_value {
	uint8_t how;		/* enum cfi_value_how */
	uint64_t reg;		/* DWARF's number */
	int64_t off, add;
};

/*
 * What the expression computes. with_cfa: its stack contains the CFA at the start, as for
 * expressions that locate a register. A damaged expression is CFI_VALUE_OTHER, too.
 */
struct cfi_value cfi_expression_value(struct cfi_reader expression, bool with_cfa);

#endif
