/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_link.h - what the dynamic linker will do with a file: where it leaves addresses
 * of functions, which libraries it looks for; and by what bytes a file is known when
 * it is in memory.
 */
#ifndef TACHBPF_ELF_LINK_H
#define TACHBPF_ELF_LINK_H

#include "elf/elf.h"

/*
 * A pointer in program exe that the linker sets to a function of library lib, and
 * that function's address in lib. Of several, the one that is set first. 0 or -ENOENT.
 */
int elf_link_slot(const struct elf_file *exe, const struct elf_file *lib, uint64_t *slot,
		  uint64_t *symbol);

/*
 * Where in the loaded file are len bytes that no other build has: its build id, or
 * for want of one its header's. Fills buf with them. 0 or -errno.
 */
int elf_link_identity(const struct elf_file *f, uint64_t *vaddr, void *buf, size_t len);

/* The address of the program headers in the loaded file. 0 or -errno. */
int elf_link_phdrs(const struct elf_file *f, uint64_t *vaddr);

/*
 * The first DT_NEEDED library whose name begins with prefix. 0 or -ENOENT. And
 * DT_RUNPATH or DT_RPATH as it is, "" if there is none.
 */
int elf_link_needed(const struct elf_file *f, const char *prefix, char *name, size_t size);
void elf_link_runpath(const struct elf_file *f, char *path, size_t size);

#endif
