/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* offcpu_scan.h - walks threads that were off-CPU before sampling began, and may stay off-CPU. */
#ifndef TACHBPF_OFFCPU_SCAN_H
#define TACHBPF_OFFCPU_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "recording/capture_counts.h"

struct map_set;
struct tachbpf_bpf;
struct worker_kind;

/* The worker that walks. */
extern const struct worker_kind offcpu_scan_walker;

/*
 * Selects a process. Returns 0 and fills *proc, by which its threads are walked; any other value:
 * its threads are not walked.
 */
typedef int (*offcpu_scan_proc_fn)(void *ctx, uint32_t tgid, uint64_t start_ns,
				   struct py_proc *proc);
/* Receives one record of a thread, in the form of the ring buffer. */
typedef void (*offcpu_scan_record_fn)(void *ctx, const struct raw_offcpu_scan *thread, void *data,
				      size_t len);

/* Receives one thread of the list. */
typedef void (*offcpu_scan_thread_fn)(void *ctx, const struct raw_offcpu_scan *thread);

/*
 * Starts the walker, so that the first scan need not wait for it. Returns 0 or -errno: then the
 * scan tries again.
 */
int offcpu_scan_prepare(void);
/* Ends the walker. */
void offcpu_scan_end(void);

/*
 * Walks all off-CPU threads of the processes that proc() selects, and passes the records that the
 * BPF side sends at a switch-out to record(). native: the maps for machine code, which is walked,
 * too; NULL: it is not. With one try, threads that the scheduler programs have seen are left to
 * them; call it after these were attached. With more tries the scheduler programs need not run, and
 * a thread that ran during one try is walked in the next. A try takes at most 2 s, and a fifth of a
 * ms for each thread; that long only if the walker gets no CPU, or if processes block it. Adds to
 * *counts. Returns 0 or -errno.
 */
int offcpu_scan_run(struct tachbpf_bpf *skel, const struct map_set *native, unsigned int tries,
		    offcpu_scan_proc_fn proc, offcpu_scan_record_fn record, void *ctx,
		    struct offcpu_scan_counts *counts);

/* Lists the threads of all admitted processes, without a walk. Returns 0 or -errno. */
int offcpu_scan_list(struct tachbpf_bpf *skel, offcpu_scan_thread_fn thread, void *ctx);

/* Returns true if b, of a later list, shows that thread a is off-CPU and has not run since. */
bool offcpu_scan_still(const struct raw_offcpu_scan *a, const struct raw_offcpu_scan *b);

#endif
