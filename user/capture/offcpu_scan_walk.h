/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu_scan_walk.h - the stack of a thread that stands still, walked from outside.
 */
#ifndef TACHBPF_OFFCPU_SCAN_WALK_H
#define TACHBPF_OFFCPU_SCAN_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/*
 * Append what the kernel would have sent had it seen the thread leave its CPU: records,
 * each behind its length (u32, then u32 of nothing) and padded to 8 bytes. How many bytes; 0: it
 * has no Python stack, or there is no room. May take for ever: the target's memory is read.
 */
size_t offcpu_scan_walk(const struct raw_offcpu_scan *a, struct py_proc *proc, void *out,
			size_t room);

#endif
