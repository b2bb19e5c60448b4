/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind_trampoline.h - arm64: where signal handlers return to, in a file that does not say. */
#ifndef TACHBPF_UNWIND_TRAMPOLINE_H
#define TACHBPF_UNWIND_TRAMPOLINE_H

#include "elf/elf.h"

/* With the instruction before it, where the walk looks up the return address. */
#define UNWIND_TRAMPOLINE_BYTES 12

/*
 * Finds the trampoline in arm64's vDSO, which has had no call frame information since Linux 5.8, so
 * that unwinders know it by its two instructions. *start: the address of the instruction before
 * them. Returns 0; -ENOENT: another machine type, a large file, or it is not there; -ENOMEM.
 */
int unwind_trampoline_find(const struct elf_file *elf, uint64_t *start);

#endif
