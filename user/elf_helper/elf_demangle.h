/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_demangle.h - names of C++ and Rust functions as their sources have them (libiberty). */
#ifndef TACHBPF_ELF_DEMANGLE_H
#define TACHBPF_ELF_DEMANGLE_H

#include <stddef.h>

/*
 * The name without parameters ("ns::foo") if it is a mangled one, else as it is. out: size bytes,
 * with its NUL; what is too long is cut and ends with "...". Returns the length, without the NUL.
 */
size_t elf_demangle(const char *name, char *out, size_t size);

/* The name as it is, cut in the same way. */
size_t elf_name_cut(const char *name, char *out, size_t size);

#endif
