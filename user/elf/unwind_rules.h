/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_rules.h - converts the call frame information of an address to the rule of a row
 * (abi_native.h); also keeps the list of long rules, which do not fit into a row.
 */
#ifndef TACHBPF_ELF_UNWIND_RULES_H
#define TACHBPF_ELF_UNWIND_RULES_H

#include "base/hash_index.h"
#include "bpf/abi_native.h"
#include "elf/cfi_machine.h"

#define UNWIND_LONG_RULES_MAX 65536u

struct unwind_rules {
	const struct cfi_registers *registers;
	uint64_t seed;		/* secret of the hash table */
	struct unwind_rule *long_rules;
	size_t long_cnt, long_cap;
	struct hash_index index;
};

/* Freed by unwind_rules_free(), also after an error. */
void unwind_rules_begin(struct unwind_rules *r, const struct cfi_registers *registers,
			uint64_t seed);
void unwind_rules_free(struct unwind_rules *r);

/*
 * Pack a state's rule into *packed (struct unwind_row's rule), with a long rule if necessary.
 * Beyond the limit of long rules, it is UNWIND_UNSUPPORTED. 0 or -ENOMEM.
 */
int unwind_rules_pack(struct unwind_rules *r, const struct cfi_state *state, uint32_t *packed);

#endif
