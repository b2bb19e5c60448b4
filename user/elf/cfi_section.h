/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cfi_section.h - copies of the sections of a file that contain call frame information, and their
 * entries.
 */
#ifndef TACHBPF_ELF_CFI_SECTION_H
#define TACHBPF_ELF_CFI_SECTION_H

#include "elf/cfi_reader.h"
#include "elf/elf.h"

/* A larger section is refused. libtorch_cpu's .eh_frame has 20 MiB, Chrome's 25. */
#define CFI_SECTION_MAX (256u << 20)

struct cfi_section {
	uint8_t *bytes;
	size_t len;
	uint64_t vaddr;		/* of the first byte; .debug_frame is not mapped: 0 */
	bool debug;		/* .debug_frame: its entries have another format */
	bool measured;		/* the section table has its length; else it may end earlier */
};

/*
 * Read .eh_frame, located by the section table, or by PT_GNU_EH_FRAME if there is none. 0; -ENOENT:
 * the file has none; -EFBIG; other -errno. Freed by cfi_section_free().
 */
int cfi_section_read_eh(const struct elf_file *elf, struct cfi_section *s);
/* Read .debug_frame; decompresses it (SHF_COMPRESSED with zlib; another method: -ENOENT). */
int cfi_section_read_debug(const struct elf_file *elf, struct cfi_section *s);
/* Call it also after an error. */
void cfi_section_free(struct cfi_section *s);

/*
 * The entries of .eh_frame (LSB Core 5.0, 10.6.1) and .debug_frame (DWARF 5, 6.4.1), one after
 * another: each FDE describes one function, and names a CIE that it shares with others.
 */

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
