/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cfi_machine.h - executes the instructions of a CIE and an FDE (DWARF 5, 6.4.2). What comes out is
 * a table: from which address on the caller's frame is found by which rules.
 *
 * Of the registers it knows three: the stack pointer, the frame pointer, and the column that has
 * the return address.
 */
#ifndef TACHBPF_ELF_CFI_MACHINE_H
#define TACHBPF_ELF_CFI_MACHINE_H

#include "elf/cfi_entries.h"
#include "elf/cfi_expression.h"

/* Where the caller's value of a register is. */
enum cfi_where {
	CFI_UNSAID = 0,		/* as the machine's calling convention says: see unwind_rules.c */
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

/* DWARF's numbers of a machine type's registers. */
struct cfi_registers {
	uint16_t machine;	/* EM_* */
	uint8_t sp, fp, ra;
};
/* NULL: no machine type that we know. */
const struct cfi_registers *cfi_registers_of(uint16_t machine);

struct cfi_machine {
	const struct cfi_registers *registers;
	/* So many instructions may still be executed, of all FDEs together. */
	uint64_t steps;
	/*
	 * Called for each row, in the order of addresses; of several with the same address the last
	 * one counts. Returns 0, or -errno, which ends the FDE.
	 */
	int (*row)(void *ctx, uint64_t addr, const struct cfi_state *state);
	void *ctx;
};

/*
 * Execute an FDE. 0; -EBADMSG: an instruction is not known, or broken; -EFBIG: steps are used up;
 * what row() returned.
 */
int cfi_machine_run(struct cfi_machine *m, const struct cfi_fde *fde);

#endif
