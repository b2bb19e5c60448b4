/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_demangle.h - names of C++ and Rust functions as in their sources (libiberty). It may take
 * forever: elf_demangler.h does it with a limit.
 */
#ifndef TACHBPF_ELF_DEMANGLE_H
#define TACHBPF_ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Longer names are shown as they are: the demangler's stack grows with them. */
#define ELF_DEMANGLE_MAX 2048u

/* Returns true if the name looks like one that can be demangled. */
bool elf_is_mangled(const char *name);

/*
 * Demangles a name, without parameters ("ns::foo"); other names are copied. out: size bytes, with
 * the NUL; a name that is too long is cut and ends with "...". Returns the length, without the NUL.
 */
size_t elf_demangle(const char *name, char *out, size_t size);
/* Copies the name as it is, cut in the same way. */
size_t elf_name_copy(const char *name, char *out, size_t size);

#endif
