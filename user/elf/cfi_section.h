/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cfi_section.h - copies of the sections of a file that contain call frame information. */
#ifndef TACHBPF_ELF_CFI_SECTION_H
#define TACHBPF_ELF_CFI_SECTION_H

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

#endif
