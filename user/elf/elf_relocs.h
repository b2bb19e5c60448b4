/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_relocs.h - the relocations of a file, which is hostile, one after another. */
#ifndef TACHBPF_ELF_RELOCS_H
#define TACHBPF_ELF_RELOCS_H

#include "elf/elf.h"

/* Limit for all tables of a file. PyTorch's largest library has 600,000 relocations. */
#define ELF_RELOCS_MAX (32u * 1024 * 1024 / sizeof(Elf64_Rela))

/* Takes one relocation. Returns false to end the search. */
typedef bool (*elf_reloc_fn)(void *ctx, const Elf64_Rela *r);

/*
 * Calls fn for each relocation of the table of `bytes` at vaddr (0: there is none), except for the
 * first `skip`. Reads at most *left of them, and takes them from *left. A table that ends early is
 * read up to its end.
 */
void elf_relocs_each(const struct elf_file *f, uint64_t vaddr, uint64_t bytes, uint64_t skip,
		     uint64_t *left, elf_reloc_fn fn, void *ctx);

#endif
