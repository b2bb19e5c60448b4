/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_bursts.h - --allocations of a process that calls its allocator too often: its probes are
 * there for BURST_NS, and then away for nine times as long on average, for a random time.
 *
 * What a probe costs the process is the trap, whatever the program does, so probes are removed, not
 * ignored. Between bursts blocks are looked at (memory/block_look.h). For capture_heap.c.
 */
#ifndef TACHBPF_CAPTURE_BURSTS_H
#define TACHBPF_CAPTURE_BURSTS_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi_heap.h"
#include "capture/capture_state.h"
#include "probe/heap_bursts.h"
#include "probe/heap_cost.h"

struct bursts;

/* Before the programs are loaded. Returns true if the kernel can do it; loads the programs then. */
bool bursts_configure(struct capture *s);

/*
 * Finds the allocator's functions. speed: what of its speed the process would keep with probes, as
 * far as known. NULL with errno: ESRCH, ENOENT, EBUSY as prober_probe().
 */
struct bursts *bursts_new(struct capture *s, pid_t tgid, uint64_t start_ns,
			  const struct heap_prices *prices, double speed);
/* Removes the probes, and waits for that. NULL is ignored. */
void bursts_free(struct bursts *b);

/* Does what is due. Returns 0 or -errno. */
int bursts_poll(struct capture *s, struct bursts *b, uint64_t now);
uint64_t bursts_wait_ns(const struct bursts *b, uint64_t now, uint64_t limit_ns);

/* Ends the burst that is going on; removes the probes. */
void bursts_stop(struct capture *s, struct bursts *b);
/* All records were taken: looks at all blocks, for at most 2 s. Returns 0 or -errno. */
int bursts_settle(struct capture *s, struct bursts *b);

/* The calls that the BPF side has counted since then. */
struct heap_counts bursts_calls(struct capture *s, const struct heap_counts *then);

#endif
