/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libc.h - where a C library keeps what it knows of a thread.
 */
#ifndef TACHBPF_CPYTHON_LIBC_H
#define TACHBPF_CPYTHON_LIBC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Where struct pthread ends at the thread pointer (arm64), its size, and so the way to
 * its begin, which pthread_self() returns, is the C library's own affair.
 */
bool libc_self_is_below(uint16_t elf_machine);

/*
 * How far below: from the machine code of pthread_self() in the ELF file behind fd (not
 * closed). 0, -ENOENT: it has none, or one that does something else; other -errno.
 */
int libc_self_below(int fd, uint16_t *below);

/*
 * By how many bytes two pthread_mutex_t, as every GIL has, are longer than on x86-64, where
 * they have 40 bytes each as musl's have everywhere; glibc's have 48 on arm64. -1: another C
 * library, or nobody knows which.
 */
int libc_mutexes_extra(uint16_t elf_machine, bool glibc, bool musl);

/* Is a mapped file of this name a C library? */
bool libc_is_name(const char *base);

#endif
