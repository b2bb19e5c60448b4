/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu_scan.h - threads that were off their CPUs before anybody looked, and may stay so.
 */
#ifndef TACHBPF_OFFCPU_SCAN_H
#define TACHBPF_OFFCPU_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "recording/capture_counts.h"

struct tachbpf_bpf;

/* How to walk a process now. 0: *proc is filled; else its threads are of no interest. */
typedef int (*offcpu_scan_proc_fn)(void *ctx, uint32_t tgid, uint64_t start_ns,
				   struct py_proc *proc);
/* A record of a thread, as from the ring buffer. */
typedef void (*offcpu_scan_record_fn)(void *ctx, void *data, size_t len);

/*
 * Look at all threads of the processes that proc() wants, and hand on what they wait in.
 * The scheduler's programs are attached. Takes a second at most. 0 or -errno.
 */
int offcpu_scan_run(struct tachbpf_bpf *skel, offcpu_scan_proc_fn proc,
		     offcpu_scan_record_fn record, void *ctx, struct offcpu_scan_counts *counts);

#endif
