/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_debug.h - other files that have a file's symbols: a separate debug file, the part that
 * several of them share (dwz), and the one that is compressed inside the file (mini debuginfo).
 */
#ifndef TACHBPF_ELF_DEBUG_H
#define TACHBPF_ELF_DEBUG_H

#include <stdbool.h>

#include "elf_helper/elf_segments.h"

/* Requests a file: returns its descriptor, owned by the caller, or -errno. */
typedef int (*elf_debug_ask)(void *ctx, const struct elf_want_debug *want);

/*
 * Returns the file's separate debug file, by build id and .gnu_debuglink, or -errno. One with
 * another build id (or, without one, another checksum) is refused.
 */
int elf_debug_file(int fd, elf_debug_ask ask, void *ctx);

/* Returns the file that .gnu_debugaltlink names. Descriptor or -errno. */
int elf_debug_alt(int fd, elf_debug_ask ask, void *ctx);

/* Unpacks .gnu_debugdata, at most 64 MiB. Returns the descriptor of a memfd, or -errno. */
int elf_debug_mini(int fd);

/* Returns true if the file has a non-empty section of this name. */
bool elf_debug_has(int fd, const char *section);

/* Returns the total bytes of the sections .debug_*. */
uint64_t elf_debug_bytes(int fd);

#endif
