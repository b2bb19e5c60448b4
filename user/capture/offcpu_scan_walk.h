/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu_scan_walk.h - walks a thread that is off-CPU from another process.
 */
#ifndef TACHBPF_OFFCPU_SCAN_WALK_H
#define TACHBPF_OFFCPU_SCAN_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/abi_native.h"

/*
 * Forgets the memory that was read. Call it before the threads of a scan are walked, but after they
 * were listed: what is read of a thread's memory must not be older than that.
 */
void offcpu_scan_forget(void);

/*
 * Maps the unwind tables, if tables is not -1, and the next slab of the native memory, if slab is
 * not -1 (descriptors of BPF maps). Returns the number of slabs mapped so far, or -errno.
 */
int offcpu_scan_map(int tables, int slab);

/*
 * Writes to out the records that the BPF side sends at a switch-out of this thread. Each record is
 * preceded by its length (u32) and 4 zero bytes, and padded to 8 bytes. place: of the process, so
 * that machine code is walked, too, by what offcpu_scan_map() has mapped; NULL: it is not. Returns
 * the number of bytes; 0: the thread has no Python stack, or room is too small. May never return,
 * because it reads the target's memory (see remote_mem.h).
 */
size_t offcpu_scan_walk(const struct raw_offcpu_scan *a, struct py_proc *proc,
			const struct native_place *place, void *out, size_t room);

#endif
