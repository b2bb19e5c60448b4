/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_symbols.h - the functions of a file by address, from its symbol tables, those of separate
 * debug files, CPython's tables of methods, and parts of functions. The files are hostile. Names of
 * symbols stay in them, and are read on request.
 */
#ifndef TACHBPF_ELF_SYMBOLS_H
#define TACHBPF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_helper/elf_methods.h"
#include "elf_helper/elf_parts.h"

#define ELF_SYMBOLS_MAX (8u << 20)	/* of a file; others are ignored */
#define ELF_MATCHES_MAX 131072	/* libtorch_cpu exports 58,775 functions */
#define ELF_MANGLED_BYTES 4096u		/* of a name in the file; longer ones are cut */

struct elf_symbols;

/* Returns NULL without memory. */
struct elf_symbols *elf_symbols_new(void);
void elf_symbols_free(struct elf_symbols *s);

/*
 * Adds the functions of the file's .symtab (type SHT_SYMTAB) or .dynsym (SHT_DYNSYM). The caller
 * keeps the descriptor, which must stay open as long as the symbols. Returns their number; -ENOENT:
 * there is no table; another -errno.
 */
int elf_symbols_add(struct elf_symbols *s, int fd, uint32_t type);
/*
 * Adds functions that have no symbol; one that has both is named by its symbol. Takes m->text over.
 * Returns 0 or -errno.
 */
int elf_symbols_add_methods(struct elf_symbols *s, struct elf_methods *m);
/* Call this after the last file. */
void elf_symbols_sort(struct elf_symbols *s);
/*
 * Adds parts of functions, which get the name of theirs if it has one. Call it when they are
 * sorted; they are again. Returns 0 or -ENOMEM.
 */
int elf_symbols_add_parts(struct elf_symbols *s, const struct elf_parts *p);

/* Returns the bytes of memory that the symbols use. */
size_t elf_symbols_bytes(const struct elf_symbols *s);

/*
 * Finds the function at an address: one with a size rather than one without, a global one rather
 * than a local one at the same address. Fills in its name in the file (ELF_MANGLED_BYTES), without
 * "@VERSION". Returns false if there is none.
 */
bool elf_symbols_find(const struct elf_symbols *s, uint64_t addr, char *name, uint64_t *start);

/*
 * Finds all functions that match one of cnt concatenated patterns, each with its NUL; "x*" is a
 * prefix. others: also those that match none, as pattern cnt. *out: sorted by start; the caller
 * frees it. Returns their number; -E2BIG: more than ELF_MATCHES_MAX; -ENOMEM.
 */
int elf_symbols_match(const struct elf_symbols *s, const char *patterns, uint32_t cnt, bool others,
		      struct elf_match **out);

#endif
