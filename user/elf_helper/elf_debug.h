/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_debug.h - the further files that have a file's symbols: a separate debug file, the part that
 * several of them share (dwz), and the one that is packed inside of the file (mini debuginfo).
 */
#ifndef TACHBPF_ELF_DEBUG_H
#define TACHBPF_ELF_DEBUG_H

#include <stdbool.h>

#include "elf_helper/elf_segments.h"

/* Asks for a file: returns its descriptor, the caller's, or -errno. */
typedef int (*elf_debug_ask)(void *ctx, const struct elf_want_debug *want);

/*
 * The file's separate debug file, by its build id and .gnu_debuglink. What is not the file's own
 * (another build id; without one, another checksum) is refused. Descriptor or -errno.
 */
int elf_debug_file(int fd, elf_debug_ask ask, void *ctx);

/* The file that .gnu_debugaltlink names. Descriptor or -errno. */
int elf_debug_alt(int fd, elf_debug_ask ask, void *ctx);

/* .gnu_debugdata, unpacked, at most 64 MiB: the descriptor of a memfd, or -errno. */
int elf_debug_mini(int fd);

/* Has the file a section of this name that has bytes? */
bool elf_debug_has(int fd, const char *section);

/* How many bytes its sections .debug_* have. */
uint64_t elf_debug_bytes(int fd);

#endif
