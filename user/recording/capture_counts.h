/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_counts.h - what was counted while processes were sampled: a recording tells it,
 * whoever samples fills it in.
 */
#ifndef TACHBPF_CAPTURE_COUNTS_H
#define TACHBPF_CAPTURE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The clock of one CPU. */
struct cpu_ticks {
	int cpu;
	uint64_t delivered, missed;
};

/* What samples took, over all CPUs (abi.h, struct sample_times). */
struct sample_cost {
	uint64_t cnt, max_ns, mean_ns;
	uint64_t p999_ns;	/* 999 of 1,000 were faster */
	uint64_t stalls, stalled_ns;	/* not in those: the machine stood still meanwhile */
};

/* Threads that were off their CPUs before anybody looked (offcpu_scan.h). */
struct offcpu_scan_counts {
	uint64_t threads;	/* with a stack */
	uint64_t moved;		/* that ran meanwhile: they speak for themselves */
	uint64_t lost;		/* that could not be read in time */
};

/* What happened, for status line and summary. Monotonic while the capture runs. */
struct capture_counts {
	const uint64_t *kernel;		/* CNT_MAX of them: abi.h's counters, all CPUs */
	const struct cpu_ticks *cpus;	/* cpu_cnt of them; both valid until the next call */
	size_t cpu_cnt;
	uint64_t received;		/* samples that arrived */
	uint64_t orphans;		/* samples of processes that could not be looked at */
	uint64_t table_full;		/* times that a process did not fit into py_procs */
	uint64_t unidentified;		/* ticks of processes that were gone before we could look */
	uint64_t containers_beyond;	/* that are not told apart: there were too many */
	struct sample_cost cost;	/* cnt 0: not measured */
	struct offcpu_scan_counts scan;
	uint32_t processes_seen, processes_live;
	uint32_t processes_pending;	/* after an exec: may become Python again */
	uint32_t sent_codes;		/* code objects the kernel can remember as sent */
	bool hardware_cycles;
	double startup_cpu_s;		/* our own CPU time until sampling began */
};

#endif
