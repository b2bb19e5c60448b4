/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cfi_entries.h - the entries of .eh_frame (LSB Core 5.0, 10.6.1) and .debug_frame (DWARF 5,
 * 6.4.1), one after another: each FDE describes one function, and names a CIE that it shares with
 * others.
 */
#ifndef TACHBPF_ELF_CFI_ENTRIES_H
#define TACHBPF_ELF_CFI_ENTRIES_H

#include "elf/cfi_reader.h"
#include "elf/cfi_section.h"

/* Limit on a CIE, because one that has no place in the cache is read again for each FDE. */
#define CFI_CIE_MAX 1024u	/* bytes; those of GCC and LLVM have less than 64 */
#define CFI_CIES 64u		/* in the cache */

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;		/* number of the column that contains the return address */
	uint8_t encoding;	/* of an FDE's addresses */
	bool augmented;		/* FDEs have augmentation data ("z") */
	bool signal;		/* the kernel calls its functions, for a signal ("S") */
	struct cfi_reader program;
};

struct cfi_fde {
	uint64_t start, end;	/* addresses in the file */
	const struct cfi_cie *cie;	/* valid until the next cfi_entries_next() */
	struct cfi_reader program;
	uint64_t program_vaddr;	/* of the program's first byte */
};

struct cfi_entries {
	const struct cfi_section *section;
	size_t at;		/* offset of the next entry */
	struct {
		uint64_t off_1;	/* offset + 1; 0: free */
		bool usable;
		struct cfi_cie cie;
	} cies[CFI_CIES];
};

/* Start. The section must outlive the entries. */
void cfi_entries_begin(struct cfi_entries *e, const struct cfi_section *s);
/*
 * The next FDE: 1; 0: there are no more; -EBADMSG: an FDE was skipped because it or its CIE is
 * damaged, and others may follow. Each call advances.
 */
int cfi_entries_next(struct cfi_entries *e, struct cfi_fde *fde);

#endif
