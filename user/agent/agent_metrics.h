/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_metrics.h - the agent's own metrics, tachbpf_agent_*: what it samples, loses, sends, costs.
 *
 * Who knows the figures fills in a struct when the text is made; nothing is kept here. Times are
 * nanoseconds, those of day CLOCK_REALTIME; what is 0 is shown as 0, unless it says otherwise.
 */
#ifndef TACHBPF_AGENT_AGENT_METRICS_H
#define TACHBPF_AGENT_AGENT_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "delivery/delivery.h"
#include "native/native.h"
#include "recording/totals.h"
#include "telemetry/metrics_text.h"
#include "telemetry/window.h"

/* Who uses CPU time and memory. */
enum agent_part {
	AGENT_PART_MAIN,	/* the main process */
	AGENT_PART_WORKERS,	/* keeper and workers: sender, metrics, inspector, ... */
	AGENT_PART_BPF,		/* the programs in the kernel, by its own clock; no memory */
	AGENT_PARTS
};

/* An exporter with a queue: as the delivery has it. */
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
	bool reload_ok;			/* of the last reading of the configuration */
	uint64_t reload_wall_ns;	/* the last that was good */
	uint64_t reloads;

	/* sampling */
	uint64_t samples[WINDOW_KIND_CNT];	/* that went into windows */
	/* As totals.c adds them up; they must not go backwards when a process ends. */
	uint64_t lost[LOSS_CNT];
	uint64_t ticks, ticks_missed;	/* CNT_TICK, CNT_MISSED without no_event */
	uint64_t processes_seen;
	uint32_t processes, processes_pending;	/* now */
	uint32_t rate_hz, rate_configured_hz;	/* in force; wanted */
	double probability;		/* 1: every window */

	/* machine code */
	bool has_native;		/* false: nothing of it is shown */
	struct native_sums native;	/* must not go backwards either */
	struct native_counts native_counts;

	/* cost */
	uint64_t cpu_ns[AGENT_PARTS];
	uint64_t rss_bytes[AGENT_PARTS];
	double budget_ratio;		/* of all CPUs of the host: 0.005; 0: no limit */
	double cost_ratio;		/* the same, as the budget measured it last */
	uint32_t cpus;			/* online */
	uint64_t workers_lost;		/* that ended and were replaced */

	/* windows */
	uint64_t windows, windows_skipped;	/* finished; left out by the probability */
	uint64_t window_ns;		/* how long a window is */
	uint64_t window_others[WINDOW_OTHER_CNT];	/* samples; window_others() */
	uint32_t services, stacks;	/* known; in the last window */
	uint64_t window_bytes;		/* memory of its tables */
	uint64_t encode_cpu_ns;		/* of windows into messages, since the start */
	uint64_t encode_failures;	/* windows that could not be encoded; once an exporter */
	uint64_t too_large_samples;	/* whose stack is larger than a request: at <other> */
	uint64_t links_beyond;		/* events whose trace found no room */
	uint64_t held_beyond;		/* memory events whose stack found no room */
	uint64_t services_beyond;	/* processes that found no room for their service */

	/* exporters */
	const struct agent_metrics_exporter *exporters;
	size_t exporter_cnt;
	const struct agent_metrics_files *files;
	size_t file_cnt;
	bool has_spool;			/* false: nothing of the spool is shown */
	uint64_t spool_bytes, spool_limit_bytes, spool_entries;
	struct spool_counts spool;

	/* metrics */
	uint64_t scrapes;		/* texts that were made */
	uint64_t left_out;		/* samples that did not fit into the last one */
};

/* Write the families tachbpf_agent_*, but for ..._services_in_other (python_metrics.h). */
void agent_metrics_render(const struct agent_metrics *m, struct metrics_text *t);

#endif
