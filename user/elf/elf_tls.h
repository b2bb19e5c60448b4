/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_tls.h - how the dynamic linker shows the location of a thread-local variable of a file.
 *
 * The variable is in each thread's copy of the file's TLS segment. The linker writes the location
 * of that copy into words of the loaded file, which relocations name (ELF Handling For Thread-Local
 * Storage, and TLSDESC in the psABIs of x86-64 and arm64).
 */
#ifndef TACHBPF_ELF_TLS_H
#define TACHBPF_ELF_TLS_H

#include "elf/elf.h"

enum elf_tls_model {
	ELF_TLS_FIXED,		/* at thread pointer + add: an executable's own (local exec) */
	ELF_TLS_OFFSET,		/* the word has the offset from the thread pointer (initial exec) */
	ELF_TLS_INDEX,		/* two words: module number, offset in its block (general
				 * dynamic) */
	ELF_TLS_MODULE,		/* module number in one word; add is the offset (local dynamic) */
	ELF_TLS_DESC,		/* two words: a descriptor. Its second word is an offset from the
				 * thread pointer, or the address of two words as of ELF_TLS_INDEX */
};

struct elf_tls {
	uint8_t model;		/* enum elf_tls_model */
	bool musl, glibc;	/* C libraries that the file names */
	int64_t add;		/* added to the offset in the words */
	uint64_t vaddr;		/* of the words in the file's memory image; FIXED: 0 */
	uint64_t first_load;	/* page-aligned vaddr of the segment that begins the file */
};

/*
 * Find the exported thread-local variable name. 0; -ENOENT: the file does not define it, or no
 * relocation refers to it; other -errno. Reads at most 32 MiB of relocations.
 */
int elf_tls_find(const struct elf_file *f, const char *name, struct elf_tls *out);

#endif
