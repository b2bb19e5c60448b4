/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code_snapshot.h - the BPF side's record of a code object, read as if it were the process' memory.
 */
#ifndef TACHBPF_CODE_SNAPSHOT_H
#define TACHBPF_CODE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Has a record of len bytes all that its pieces claim? The next function requires it. */
bool code_snapshot_is_whole(const struct raw_code *raw, size_t len);

/* Read len bytes at an address of the process. 0; -ENODATA: no piece has all of them. */
int code_snapshot_read(const struct raw_code *raw, uint64_t addr, void *buf, size_t len);

#endif
