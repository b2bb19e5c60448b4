/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * prober.h - the worker (worker.h) that finds a process' allocator, and probes it: it opens what
 * the
 * process has mapped. The parser reads these files (target/parser.h).
 */
#ifndef TACHBPF_PROBER_H
#define TACHBPF_PROBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "worker/worker.h"

extern const struct worker_kind heap_prober_kind;

#define PROBER_FILES_MAX 8	/* allocators of one process */
#define PROBER_NAME_BYTES 128
#define PROBER_WAIT_MS 3000	/* how long an answer may take */

/* What was found. Names have any bytes. */
struct prober_found {
	uint32_t file_cnt;
	char names[PROBER_FILES_MAX][PROBER_NAME_BYTES];	/* paths; the begin may be cut */
	uint32_t probe_cnt;
	int first_err;		/* why a function is not probed; 0: all are */
};

/* Takes an event (uprobe_event.h) of heap_functions[function], which it owns. 0 or -errno. */
typedef int (*prober_take_fn)(void *ctx, unsigned int function, bool returns, int event);

/*
 * Probe all functions of all allocators that the process has mapped now: where they are entered, or
 * where they return. start_ns: of the process; 0: whatever it is. 0; -ENOENT: it has mapped none
 * yet;
 * -ESRCH: the process is gone; -ETIMEDOUT: a file did not answer; -EBUSY: try again; other -errno.
 */
int prober_probe(pid_t tgid, uint64_t start_ns, bool returns, prober_take_fn take, void *ctx,
		 struct prober_found *found);

/* End it. The events stay as long as their descriptors. */
void prober_end(void);

#endif
