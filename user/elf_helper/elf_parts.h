/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_parts.h - parts of functions that the compiler has put elsewhere: what a symbol table calls
 * "foo.cold", in a file that has none. The file is hostile.
 *
 * A part has an FDE of its own. It does not begin as a function does, with nothing on the stack but
 * the return address. It belongs to the function whose code jumps into it. Only direct jumps are
 * looked at; if they lead from several functions, or back into another one, nothing is said.
 */
#ifndef TACHBPF_ELF_PARTS_H
#define TACHBPF_ELF_PARTS_H

#include "elf/elf.h"

struct elf_part {
	uint64_t start, end;	/* addresses in the file */
	uint64_t function;	/* where its function begins */
};

struct elf_parts {
	struct elf_part *parts;	/* sorted */
	size_t cnt;
};

/*
 * Finds all of them. *out is empty for a file with more than 64 MiB of code. Returns 0 or -errno;
 * *out must be freed in either case.
 */
int elf_parts_read(const struct elf_file *f, struct elf_parts *out);
void elf_parts_free(struct elf_parts *p);

#endif
