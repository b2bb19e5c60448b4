/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_state.h - state that the files of the running agent share. For agent*.c. */
#ifndef TACHBPF_AGENT_STATE_H
#define TACHBPF_AGENT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent_exports.h"
#include "agent/agent_files.h"
#include "agent/agent_heap.h"
#include "agent/agent_loops.h"
#include "agent/agent_pythons.h"
#include "agent/agent_rate.h"
#include "agent/agent_windows.h"
#include "agent/ctl.h"
#include "agent/metrics_server.h"
#include "agent/notify.h"
#include "config/config.h"
#include "recording/totals.h"
#include "resolve/record_mode.h"
#include "target/proc_filter.h"
#include "telemetry/service.h"

struct capture;
struct identities;

/*
 * How long samples wait in the ring buffer; waking the agent costs some 30 us. The time is shorter
 * while there are new processes, because /proc has no name for one that has ended meanwhile.
 */
#define AGENT_BATCH_MS 500
#define AGENT_BATCH_NEW_MS 100

struct agent {
	const struct agent_options *options;
	struct agent_config *config;		/* in force */
	struct service_config services;
	struct attrs labels;		/* of services */
	struct record_mode_def mode;
	struct record_mode_def file_mode;	/* for TACH files: without memory */
	struct proc_filter filters[2];		/* a reload builds the other one */
	int filter;				/* the index of the one in force */
	struct identities *identities;
	struct kallsyms *kernel;		/* the kernel's symbols; NULL: none */
	char debug_urls[AGENT_TEXT_MAX];	/* debuginfod servers, separated by spaces */
	struct agent_windows *windows;
	struct agent_exports *exports;
	struct agent_files *files;
	struct agent_pythons *pythons;
	struct agent_heap *heap;		/* NULL: not in this mode */
	struct agent_loops *loops;		/* NULL: without async, or without metrics */
	struct metrics_server *server;		/* NULL: no metrics */
	struct ctl *ctl;			/* NULL: no socket */
	struct notify notify;
	struct capture *capture;
	bool workers;				/* they have the privileges that we drop */
	uint64_t started_wall_ns;
	uint64_t next_housekeep_ns;
	uint64_t next_draft_ns, drafted_samples;	/* of the open window */

	struct agent_rate *rate;

	/* agent_figures.c */
	struct totals ended;			/* of processes that have ended */
	uint64_t reloads, reload_wall_ns;
	bool reload_ok;
};

/* ---- agent_setup.c ---- */

/* Does what needs privileges, drops them, then samples. Returns 0, or -errno after logging. */
int agent_start(struct agent *a);
void agent_free(struct agent *a);

/* ---- agent_parts.c ---- */

/* Give the parts what the configuration says. */
void agent_take_services(struct agent *a);
/* Sets level and form of the log. */
void agent_take_log(const struct agent_config *c);
/* Returns the process filter in force, or NULL. */
struct proc_filter *agent_filter(struct agent *a);
struct window_privacy agent_window_privacy(const struct agent_config *c);
struct agent_heap_args agent_heap_of(const struct agent *a);
/* Ends the window and passes it to the exporters. agent_begin_window() follows. */
void agent_end_window(struct agent *a);
/* Writes the open window through if that is due, so that kill -9 costs little. */
void agent_draft_window(struct agent *a, uint64_t now);
/* Begins the next window: decides if it is profiled, and what its samples stand for. */
void agent_begin_window(struct agent *a);

/* ---- agent_reload.c ---- */

/* Reads the configuration again. Returns false, after logging, if the old one stays in force. */
bool agent_reload(struct agent *a);

/* ---- agent_figures.c, agent_status.c ---- */

/* Write all metrics, and whether the agent is ready: for struct metrics_source. */
void agent_figures_render(void *ctx, struct metrics_text *t);
bool agent_figures_ready(void *ctx, char why[METRICS_WHY_BYTES]);
/* What was sampled and lost so far, in all processes; and what the capture has counted. */
struct capture_counts;
void agent_totals(const struct agent *a, struct totals *t, struct capture_counts *c);
/* The state for `ctl status`, for people or as JSON. Returns the exit status. */
int agent_status(struct agent *a, bool json, struct buf *out);
/* Returns the viewer that adds up the figures of processes that end. */
struct agent_viewer agent_figures_viewer(struct agent *a);

/* ---- agent_ctl.c ---- */

/* A ctl_obey_fn. */
int agent_obey(void *ctx, struct ctl_request *r, struct buf *out);

#endif
