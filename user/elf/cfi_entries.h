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

/* A CIE is read again for each FDE that the cache has no place for, so it may not be long. */
#define CFI_CIE_MAX 1024u	/* bytes; GCC's and LLVM's have less than 64 */
#define CFI_CIES 64u		/* in the cache */

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;		/* number of the column that has the return address */
	uint8_t encoding;	/* of an FDE's addresses */
	bool augmented;		/* FDEs have augmentation data ("z") */
	bool signal;		/* its functions are called by the kernel, for a signal ("S") */
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

/* Begin. The section must outlive the entries. */
void cfi_entries_begin(struct cfi_entries *e, const struct cfi_section *s);
/*
 * The next FDE: 1; 0: there are no more; -EBADMSG: an FDE that is broken, or has a broken CIE, was
 * passed over, and others may follow. Each call moves on.
 */
int cfi_entries_next(struct cfi_entries *e, struct cfi_fde *fde);

#endif
