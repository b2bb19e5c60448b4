/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libc.h - what differs between C libraries in how they keep a thread's data. */
#ifndef TACHBPF_CPYTHON_LIBC_H
#define TACHBPF_CPYTHON_LIBC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Is pthread_self() below the thread pointer? On arm64, struct pthread ends at the thread
 * pointer, and its size depends on the C library.
 */
bool libc_self_is_below(uint16_t elf_machine);

/*
 * Find the distance of pthread_self() below the thread pointer, in bytes, from the machine
 * code of the function in the ELF file behind fd, which stays open. 0; -ENOENT: the file
 * has no such function, or it does something else; other -errno.
 */
int libc_self_below(int fd, uint16_t *below);

/*
 * By how many bytes two pthread_mutex_t, which every GIL has, are longer than on x86-64.
 * They have 40 bytes each there, and with musl everywhere; glibc's have 48 on arm64. -1:
 * another or an unknown C library.
 */
int libc_mutexes_extra(uint16_t elf_machine, bool glibc, bool musl);

/* Is this the file name of a C library? */
bool libc_is_name(const char *base);

#endif
