/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_link.h - what the dynamic linker does with a file: where it stores addresses of functions,
 * and which libraries it loads; also the bytes that identify a loaded file.
 */
#ifndef TACHBPF_ELF_LINK_H
#define TACHBPF_ELF_LINK_H

#include "elf/elf.h"

/*
 * Find a slot (GOT entry) in the program exe that the linker sets to the address of a function of
 * the library lib, and that function's address in lib. If there are several, the one that is set
 * first. 0 or -ENOENT.
 */
int elf_link_slot(const struct elf_file *exe, const struct elf_file *lib, uint64_t *slot,
		  uint64_t *symbol);

/*
 * Find len bytes of the loaded file that differ from those of any other build: in its build id or,
 * without one, in its header. Copies them to buf. 0 or -errno.
 */
int elf_link_identity(const struct elf_file *f, uint64_t *vaddr, void *buf, size_t len);

/* Find the address of the program headers in the loaded file. 0 or -errno. */
int elf_link_phdrs(const struct elf_file *f, uint64_t *vaddr);

/* Copy PT_INTERP, truncated to size: the dynamic linker. 0; -ENOENT: there is none; -errno. */
int elf_link_interpreter(const struct elf_file *f, char *path, size_t size);

/*
 * Call cb with the name of each DT_NEEDED library, except paths, until it returns non-zero; returns
 * that value. Else 0 or -errno.
 */
int elf_link_libraries(const struct elf_file *f, int (*cb)(void *ctx, const char *name), void *ctx);

/*
 * Find the first DT_NEEDED library whose name begins with prefix, and DT_RUNPATH or
 * DT_RPATH unchanged ("" if there is none). 0 or -ENOENT.
 */
int elf_link_needed(const struct elf_file *f, const char *prefix, char *name, size_t size);
/* Copy DT_RUNPATH or DT_RPATH unchanged; "" if there is none. */
void elf_link_runpath(const struct elf_file *f, char *path, size_t size);

#endif
