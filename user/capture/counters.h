/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counters.h - the BPF side's per-CPU counters (abi.h, enum counter).
 */
#ifndef TACHBPF_COUNTERS_H
#define TACHBPF_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* The clock of one CPU. */
struct cpu_ticks {
	int cpu;
	uint64_t delivered, missed;
};

struct counters {
	uint64_t sum[CNT_MAX];
	struct cpu_ticks *cpus;	/* those that ticked; cpu_cnt of them */
	size_t cpu_cnt;
};

/* What samples took, over all CPUs (abi.h, struct sample_times). */
struct sample_cost {
	uint64_t cnt, max_ns, mean_ns;
	uint64_t p999_ns;	/* 999 of 1,000 were faster */
	uint64_t stalls, stalled_ns;	/* not in those: the machine stood still meanwhile */
};

/* Read the map of sample_times behind fd. 0 or -errno. */
int counters_read_cost(struct sample_cost *cost, int fd);

/* Read the map behind fd. c is zero or was filled before; counters_free() it. 0 or -errno. */
int counters_read(struct counters *c, int fd);
void counters_free(struct counters *c);

#endif
