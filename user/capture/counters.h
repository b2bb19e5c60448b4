/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counters.h - the BPF side's per-CPU counters (abi.h, enum counter).
 */
#ifndef TACHBPF_COUNTERS_H
#define TACHBPF_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "recording/capture_counts.h"

struct counters {
	uint64_t sum[CNT_MAX];
	struct cpu_ticks *cpus;	/* cpu_cnt CPUs that have ticked */
	size_t cpu_cnt;
};

/* Read the map `sample_times` behind fd. 0 or -errno. */
int counters_read_cost(struct sample_cost *cost, int fd);

/*
 * Read the map `counters` behind fd. *c is zero or was filled by an earlier call; the caller
 * frees it by counters_free(). 0 or -errno.
 */
int counters_read(struct counters *c, int fd);
void counters_free(struct counters *c);

#endif
