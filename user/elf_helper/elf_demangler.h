/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_demangler.h - demangles names in a process of its own. A short name can stand for more than
 * any computer could print or search, so that process gets only so much CPU time for each name, and
 * is killed at the limit; another one takes its place.
 */
#ifndef TACHBPF_ELF_DEMANGLER_H
#define TACHBPF_ELF_DEMANGLER_H

#include <stdbool.h>
#include <stddef.h>

/* CPU time of one name, in microseconds; the kernel checks it at its ticks. Common: 1 to 100. */
#define ELF_DEMANGLE_US 10000

/* Starts the process. It ends with this one. Returns 0 or -errno. */
int elf_demangler_start(void);

/*
 * As elf_demangle(), of at most ELF_NAME_BYTES. *costly: the name takes too long, so out has it as
 * it is. Returns the length, without the NUL; -EPIPE: the process was lost; another -errno.
 */
int elf_demangler_name(const char *name, char *out, size_t size, bool *costly);

#endif
