/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_counts.h - the counters of a capture: capture.c fills them in, a recording reports them.
 */
#ifndef TACHBPF_CAPTURE_COUNTS_H
#define TACHBPF_CAPTURE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "native/native.h"

/* The ticks of one CPU. */
struct cpu_ticks {
	int cpu;
	uint64_t delivered, missed;
};

/* How long samples took, over all CPUs (abi.h, struct sample_times). */
struct sample_cost {
	uint64_t cnt, max_ns, mean_ns;
	uint64_t p999_ns;	/* 99.9 % of the samples were faster */
	uint64_t stalls, stalled_ns;	/* not in the times above: the virtual CPU did not run */
};

/* Threads that were off-CPU before sampling began (offcpu_scan.h). */
struct offcpu_scan_counts {
	uint64_t threads;	/* threads whose stack was recorded */
	uint64_t moved;		/* threads that ran during the scan and have other records */
	uint64_t lost;		/* threads that could not be walked in time */
	uint64_t left;		/* threads that ran at each try of the last scan */
};

/*
 * --async, CPython 3.8 to 3.13: callbacks of tasks that may be an awaiter's, but have no known
 * shape, by their qualified names; `rest`: of further names.
 */
#define ASYNC_OTHERS_MAX 16
#define ASYNC_OTHER_BYTES 96
struct async_others {
	uint32_t cnt;
	uint64_t rest;
	struct {
		char name[ASYNC_OTHER_BYTES];	/* valid UTF-8 */
		uint64_t cnt;
	} other[ASYNC_OTHERS_MAX];
};

/* Counters for the status line and the summary. They only grow while the capture runs. */
struct capture_counts {
	const uint64_t *bpf;		/* the CNT_MAX counters of the BPF side (abi.h), all CPUs */
	const struct cpu_ticks *cpus;	/* cpu_cnt CPUs; like bpf valid until the next call */
	size_t cpu_cnt;
	uint64_t no_event;		/* of CNT_MISSED: ticks of new CPUs without an event yet,
					 * whatever they ran */
	uint64_t received;		/* samples taken from the ring buffer */
	uint64_t orphans;		/* samples of processes that user space did not know */
	uint64_t table_full;		/* processes that did not fit into py_procs */
	uint64_t files_stuck;		/* processes with a file that did not respond */
	uint64_t workers_lost;		/* processes of ours that were killed and replaced */
	uint64_t unidentified;		/* ticks of processes that ended before the inspection */
	uint64_t containers_unnamed;	/* containers whose names were not looked up, as a user has
					 * too many */
	uint64_t containers_beyond;	/* containers that are not tracked: too many */
	struct sample_cost cost;	/* cnt 0: not measured */
	struct offcpu_scan_counts scan;
	struct native_counts native;	/* all 0 without --native */
	const struct async_others *async_others;	/* NULL: none */
	uint32_t processes_seen;	/* processes profiled so far */
	uint32_t processes_live;	/* processes profiled now */
	uint32_t processes_pending;	/* processes that may soon become Python */
	bool hardware_cycles;		/* cycles tick; false: the kernel's cpu-clock */
	double startup_cpu_s;		/* our own CPU time until sampling began */
};

#endif
