/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libc.h - how C libraries differ in storing a thread's data. */
#ifndef TACHBPF_CPYTHON_LIBC_H
#define TACHBPF_CPYTHON_LIBC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if pthread_self() is below the thread pointer. On arm64, struct pthread ends at the
 * thread pointer, and its size depends on the C library.
 */
bool libc_self_is_below(uint16_t elf_machine);

/*
 * Determine the distance of pthread_self() below the thread pointer, in bytes, from the machine
 * code of the function in the ELF file behind fd, which stays open. 0; -ENOENT: the file has no
 * such function, or its code is unknown; other -errno.
 */
int libc_self_below(int fd, uint16_t *below);

/*
 * How many more bytes two pthread_mutex_t, which every GIL has, take than on x86-64, where they
 * have 40 bytes each, as with musl everywhere; glibc's have 48 on arm64. -1: another or an unknown
 * C library.
 */
int libc_mutexes_extra(uint16_t elf_machine, bool glibc, bool musl);

/* Returns true if this is the file name of a C library. */
bool libc_is_name(const char *base);

#endif
