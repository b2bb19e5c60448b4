/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_lines.h - source lines and inlined functions of a file, from its DWARF (elfutils). libdw
 * reads the files with pread(), and never maps them: truncating a file cannot kill us.
 */
#ifndef TACHBPF_ELF_LINES_H
#define TACHBPF_ELF_LINES_H

#include <stdint.h>

#include "elf_helper/elf_wire.h"

struct elf_lines;

/* A function at an address; the strings live as long as the struct elf_lines. */
struct elf_line {
	const char *name;	/* mangled, if its language does that; NULL: unknown */
	const char *source;	/* NULL: unknown */
	uint32_t line;		/* 0: unknown */
};

/*
 * Reads the compilation units of the file, and of the one that it shares with others (-1: none).
 * The caller keeps the descriptors, and they must stay open. Returns NULL with errno.
 */
struct elf_lines *elf_lines_new(int fd, int alt_fd);
void elf_lines_free(struct elf_lines *l);

/*
 * Finds the functions at an address, innermost first; all but the last were inlined. Returns their
 * number, at most ELF_INLINED_MAX: the outermost ones are kept. 0: the file has no information.
 */
unsigned int elf_lines_find(struct elf_lines *l, uint64_t addr,
			    struct elf_line out[ELF_INLINED_MAX]);

#endif
