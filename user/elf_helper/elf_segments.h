/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_segments.h - what elf/elf.h does not read from a file's program headers: its executable
 * segments, its build id, and where unnamed functions begin. The file is hostile.
 */
#ifndef TACHBPF_ELF_SEGMENTS_H
#define TACHBPF_ELF_SEGMENTS_H

#include "elf/elf.h"
#include "elf_helper/elf_wire.h"

#define ELF_STARTS_MAX (2u << 20)

struct elf_segments {
	uint8_t build_id[20];
	uint32_t build_id_bytes;	/* 0: none */
	uint32_t text_cnt;
	struct elf_load text[8];	/* executable PT_LOADs */
	uint64_t frame_hdr;		/* address of .eh_frame_hdr; 0: none */
};

/* Returns 0 or -errno. */
int elf_segments_read(const struct elf_file *f, struct elf_segments *out);

/*
 * Returns where the code at the address begins: the first address of its FDE, by the search table
 * of .eh_frame_hdr (Linux Standard Base, 10.6.2). 0: unknown.
 */
uint64_t elf_segments_start(const struct elf_file *f, const struct elf_segments *s, uint64_t addr);

/*
 * Returns the addresses at which functions begin, by the same table, or by .eh_frame if there is
 * none (as where musl-gcc has linked), sorted, and their number; the caller frees them. NULL: there
 * are none, or no memory. At most ELF_STARTS_MAX are read.
 */
uint64_t *elf_segments_starts(const struct elf_file *f, const struct elf_segments *s, size_t *cnt);

/* Fills in the facts about a file: all of *out except cached and build_us. */
void elf_facts_fill(const struct elf_file *f, const struct elf_segments *s, struct elf_facts *out);

#endif
