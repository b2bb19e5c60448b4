/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_functions.h - finds functions of a file by name. */
#ifndef TACHBPF_ELF_FUNCTIONS_H
#define TACHBPF_ELF_FUNCTIONS_H

#include "elf/elf.h"

/*
 * Find functions that the file defines: names[i] → offsets[i], the file offset of its first
 * instruction; 0: the file has none of this name, or not in a part that is mapped executable.
 * Searches the symbols that the dynamic linker finds, and .symtab in an executable that exports
 * none of them. 0; -ENOENT: none was found; other -errno.
 */
int elf_functions_find(const struct elf_file *f, const char *const *names, uint64_t *offsets,
		       unsigned int cnt);

#endif
