/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_symbols.h - the functions of a file by address, from its symbol tables and those of separate
 * debug files. The files are hostile. Names stay in them, and are read when they are asked for.
 */
#ifndef TACHBPF_ELF_SYMBOLS_H
#define TACHBPF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_helper/elf_wire.h"

#define ELF_SYMBOLS_MAX (8u << 20)	/* of a file; others are left out */
#define ELF_MANGLED_BYTES 4096u		/* of a name as it is in the file; longer ones are cut */

struct elf_symbols;

/* NULL: no memory. */
struct elf_symbols *elf_symbols_new(void);
void elf_symbols_free(struct elf_symbols *s);

/*
 * Add the functions of the file's .symtab (type SHT_SYMTAB) or .dynsym (SHT_DYNSYM). The descriptor
 * stays the caller's, and must stay open as long as the symbols. Returns how many there are, or
 * -ENOENT: there is no table; other -errno.
 */
int elf_symbols_add(struct elf_symbols *s, int fd, uint32_t type);
/* After the last file. */
void elf_symbols_sort(struct elf_symbols *s);

/* The memory that they take. */
size_t elf_symbols_bytes(const struct elf_symbols *s);

/*
 * Find the function at an address: one with a size rather than one without, a global one rather
 * than a local one of the same address. Fills its name (ELF_MANGLED_BYTES) as it is in the file,
 * but without "@VERSION". Returns false if there is none.
 */
bool elf_symbols_find(const struct elf_symbols *s, uint64_t addr, char *name, uint64_t *start);

/*
 * Find all functions with such a name: patterns are cnt texts, one behind another, each with its
 * NUL; "x*" is a prefix. *out: sorted by start; to be freed. Returns how many, or -ENOMEM.
 */
int elf_symbols_match(const struct elf_symbols *s, const char *patterns, uint32_t cnt,
		      struct elf_match **out);

#endif
