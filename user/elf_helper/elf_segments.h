/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_segments.h - what the program headers of a file say beyond elf/elf.h: its executable
 * segments, its build id, and where functions without a name begin. The file is hostile.
 */
#ifndef TACHBPF_ELF_SEGMENTS_H
#define TACHBPF_ELF_SEGMENTS_H

#include "elf/elf.h"
#include "elf_helper/elf_wire.h"

struct elf_segments {
	uint8_t build_id[20];
	uint32_t build_id_bytes;	/* 0: it has none */
	uint32_t text_cnt;
	struct elf_load text[8];	/* executable PT_LOADs */
	uint64_t frame_hdr;		/* address of .eh_frame_hdr; 0: there is none */
};

/* 0 or -errno. */
int elf_segments_read(const struct elf_file *f, struct elf_segments *out);

/*
 * Where the code begins that has the address: the FDE's first address, by the search table of
 * .eh_frame_hdr (Linux Standard Base, 10.6.2). 0: not known.
 */
uint64_t elf_segments_start(const struct elf_file *f, const struct elf_segments *s, uint64_t addr);

/* What is to be known of a file: all of *out but cached and build_us. */
void elf_facts_fill(const struct elf_file *f, const struct elf_segments *s, struct elf_facts *out);

#endif
