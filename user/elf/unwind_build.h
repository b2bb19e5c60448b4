/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_build.h - builds the unwind table of one ELF file from its .eh_frame, and from
 * .debug_frame where that has more. The file is hostile: all sizes, loops and depths are limited.
 *
 * Runs in the helper executable only.
 */
#ifndef TACHBPF_ELF_UNWIND_BUILD_H
#define TACHBPF_ELF_UNWIND_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "elf/unwind_file.h"

/*
 * A keyed hash of everything that the table depends on, so equal files have equal tables. 0;
 * -ENOENT: the file has no tables; other -errno.
 */
int unwind_hash(const struct elf_file *elf, const uint8_t secret[192], uint64_t hash[2]);

/*
 * Build the table of the file into a new memfd, sealed against changes. Returns the descriptor;
 * -ENOENT: the file has no tables; -ENOEXEC: its machine type is neither x86-64 nor arm64; -EFBIG:
 * its tables are larger than UNWIND_FILE_BYTES_MAX, or need more work than any real file's;
 * -EBADMSG: nothing in them was usable; other -errno. Damaged parts are skipped and counted;
 * addresses that no FDE covers get a row UNWIND_NO_ROW.
 */
int unwind_build(const struct elf_file *elf, const uint64_t hash[2]);

#endif
