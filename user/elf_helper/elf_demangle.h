/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_demangle.h - names of C++ and Rust functions as in their sources (libiberty). */
#ifndef TACHBPF_ELF_DEMANGLE_H
#define TACHBPF_ELF_DEMANGLE_H

#include <stddef.h>

/*
 * Demangles a name, without parameters ("ns::foo"); other names are copied. out: size bytes, with
 * the NUL; a name that is too long is cut and ends with "...". Returns the length, without the NUL.
 */
size_t elf_demangle(const char *name, char *out, size_t size);

#endif
