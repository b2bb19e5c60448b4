/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cfi_machine.h - executes the instructions of a CIE and an FDE (DWARF 5, 6.4.2). The result is a
 * table: from which address on, which rules lead to the caller's frame.
 *
 * Knows three registers: the stack pointer, the frame pointer, and the column of the return
 * address.
 */
#ifndef TACHBPF_ELF_CFI_MACHINE_H
#define TACHBPF_ELF_CFI_MACHINE_H

#include "elf/cfi_entries.h"
#include "elf/cfi_expression.h"

/* Where the caller's value of a register is. */
enum cfi_where {
	CFI_UNSAID = 0,		/* by the machine's calling convention: see unwind_rules.c */
	CFI_UNDEFINED,
	CFI_UNCHANGED,
	CFI_AT,			/* in memory, at the address `value` */
	CFI_IS,			/* it is `value` itself */
	CFI_ELSEWHERE,		/* in another register */
};

struct cfi_register {
	uint8_t where;		/* enum cfi_where */
	struct cfi_value value;
};

struct cfi_state {
	struct cfi_value cfa;
	struct cfi_register sp, fp, ra;
};

/* DWARF register numbers of a machine type. */
struct cfi_registers {
	uint16_t machine;	/* EM_* */
	uint8_t sp, fp, ra;
};
/* NULL: unknown machine type. */
const struct cfi_registers *cfi_registers_of(uint16_t machine);

struct cfi_machine {
	const struct cfi_registers *registers;
	/* Number of instructions that may still be executed, for all FDEs together. */
	uint64_t steps;
	/*
	 * Called for each row, in the order of addresses; if several have the same address, the
	 * last one counts. Returns 0, or -errno, which ends the FDE.
	 */
	int (*row)(void *ctx, uint64_t addr, const struct cfi_state *state);
	void *ctx;
};

/*
 * Execute an FDE. 0; -EBADMSG: an instruction is unknown or damaged; -EFBIG: steps are used up; or
 * the result of row().
 */
int cfi_machine_run(struct cfi_machine *m, const struct cfi_fde *fde);

#endif
