/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_functions.h - where functions of a file are, by their names. */
#ifndef TACHBPF_ELF_FUNCTIONS_H
#define TACHBPF_ELF_FUNCTIONS_H

#include "elf/elf.h"

/*
 * Find functions that the file defines: names[i] → offsets[i], where in the file its first
 * instruction is; 0: the file has none of this name, or not in a part that is mapped executable.
 * Looks for what the dynamic linker finds, and in an executable that exports none of them, in
 * .symtab. 0; -ENOENT: none is there; other -errno.
 */
int elf_functions_find(const struct elf_file *f, const char *const *names, uint64_t *offsets,
		       unsigned int cnt);

#endif
