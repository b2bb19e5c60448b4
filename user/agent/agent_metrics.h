/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_metrics.h - the agent's own metrics, tachbpf_agent_*: what it samples, loses, sends, costs.
 *
 * The owner of the figures fills in a struct when the text is made; nothing is kept here. Times are
 * nanoseconds, those of day CLOCK_REALTIME. 0 is shown as 0 unless stated otherwise.
 */
#ifndef TACHBPF_AGENT_AGENT_METRICS_H
#define TACHBPF_AGENT_AGENT_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent_heap.h"
#include "delivery/delivery.h"
#include "look/loop_poll.h"
#include "native/native.h"
#include "recording/totals.h"
#include "telemetry/metrics_text.h"
#include "telemetry/window.h"

/* What uses CPU time and memory. */
enum agent_part {
	AGENT_PART_MAIN,	/* the main process */
	AGENT_PART_WORKERS,	/* keeper and workers: sender, metrics, inspector, ... */
	AGENT_PART_BPF,		/* the kernel's programs, by its own clock; no memory */
	AGENT_PARTS
};

/* An exporter with a queue, as the delivery describes it. */
struct agent_metrics_exporter {
	const char *name;
	const struct delivery_counts *counts;
	struct delivery_state state;
};

/* An exporter that writes to a directory. */
struct agent_metrics_files {
	const char *name;		/* "tach", "pprof" */
	uint64_t files;			/* written since the start */
	uint64_t bytes;
	uint64_t failures;		/* files that could not be written */
};

struct agent_metrics {
	const char *version, *kernel, *arch;	/* NULL: the label is left out */
	uint64_t now_wall_ns, started_wall_ns;
	bool reload_ok;			/* the last attempt to read the configuration succeeded */
	uint64_t reload_wall_ns;	/* when the last one succeeded */
	uint64_t reloads;

	/* sampling */
	uint64_t samples[WINDOW_KIND_CNT];	/* added to windows */
	/* As summed by totals.c; they must not go backwards when a process ends. */
	uint64_t lost[LOSS_CNT];
	uint64_t ticks, ticks_missed;	/* CNT_TICK, CNT_MISSED without no_event */
	uint64_t processes_seen;
	uint32_t processes, processes_pending;	/* at present */
	uint32_t rate_hz, rate_configured_hz;	/* in force; wanted */
	double probability;		/* 1: every window */

	/* machine code */
	bool has_native;		/* false: nothing of machine code is shown */
	struct native_sums native;	/* must not go backwards either */
	struct native_counts native_counts;

	/* mode heap */
	const struct agent_heap_counts *heap;	/* NULL: nothing of it is shown */
	uint64_t heap_late_ns;		/* agent_heap_late_ns() */

	const struct loop_poll_counts *loops;	/* NULL: event loops are not looked at */

	/* cost */
	uint64_t cpu_ns[AGENT_PARTS];
	uint64_t rss_bytes[AGENT_PARTS];
	double budget_ratio;		/* of all CPUs of the host: 0.005; 0: no limit */
	double cost_ratio;		/* likewise, as the budget last measured it */
	uint32_t cpus;			/* online */
	uint64_t workers_lost;		/* that ended and were replaced */

	/* windows */
	uint64_t windows, windows_skipped;	/* finished; skipped because of the probability */
	uint64_t window_ns;		/* length of a window */
	uint64_t window_others[WINDOW_OTHER_CNT];	/* samples; window_others() */
	uint32_t services, stacks;	/* known; in the last window */
	uint64_t window_bytes;		/* memory of its tables */
	uint64_t encode_cpu_ns;		/* encoding windows, since the start */
	uint64_t encode_failures;	/* windows not encoded, counted per exporter */
	uint64_t too_large_samples;	/* their stack is larger than a request; shown at <other> */
	uint64_t links_beyond;		/* events whose trace did not fit */
	uint64_t held_beyond;		/* memory events whose stack did not fit */
	uint64_t services_beyond;	/* processes whose service did not fit */

	/* exporters */
	const struct agent_metrics_exporter *exporters;
	size_t exporter_cnt;
	const struct agent_metrics_files *files;
	size_t file_cnt;
	bool has_spool;			/* false: nothing of the spool is shown */
	uint64_t spool_bytes, spool_limit_bytes, spool_entries;
	uint64_t killed_samples;	/* of the last agent */
	struct spool_counts spool;

	/* metrics */
	uint64_t scrapes;		/* texts that were made */
	uint64_t left_out;		/* samples that did not fit into the last text */
};

/* Writes the families tachbpf_agent_*, except ..._services_in_other (python_metrics.h). */
void agent_metrics_render(const struct agent_metrics *m, struct metrics_text *t);

#endif
