/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_windows.h - the agent's observer of the capture: aggregates events in windows of time.
 *
 * Windows begin and end at multiples of their length on the wall clock. The first one is shorter,
 * and so is one that a reload or the end of the agent cuts. A sample belongs to the window in which
 * it is taken from the ring buffer, at most 0.25 s after its time.
 */
#ifndef TACHBPF_AGENT_WINDOWS_H
#define TACHBPF_AGENT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent_processes.h"
#include "resolve/observer.h"
#include "telemetry/window.h"
#include "telemetry/window_links.h"

struct agent_windows;

/* Others that see what the observer sees; each function may be NULL. As in struct observer_ops. */
struct agent_viewer {
	void (*begin)(void *ctx, struct agent_process *p);
	/* value_ns: the time that the event stands for. */
	void (*event)(void *ctx, struct agent_process *p, const struct event *ev,
		      uint64_t value_ns);
	void (*memory)(void *ctx, struct agent_process *p, const struct memory_event *ev);
	void (*end)(void *ctx, struct agent_process *p, uint64_t end_ns);
	void (*tick)(void *ctx);
	void (*remark)(void *ctx, pid_t tgid, uint32_t uid, const char *comm, const char *text);
	void *ctx;
};
#define AGENT_VIEWERS_MAX 4

/* How many of the capture's messages about processes are logged; the agent may run for years. */
#define AGENT_REMARKS_MAX 100

struct agent_windows_args {
	uint32_t modes;				/* enum agent_mode */
	uint64_t window_ns;
	uint64_t interval_ns;			/* nominal time of a sample */
	const struct service_config *services;	/* outlives us; agent_windows_renamed() */
	struct window_privacy privacy;
	struct agent_viewer viewers[AGENT_VIEWERS_MAX];
	size_t viewer_cnt;
	/* See agent_processes_args; NULL: nobody. */
	void (*moved)(void *ctx, struct agent_process *p, uint32_t old);
	/* As in agent_processes_args; NULL: samples have no links to traces. */
	int (*trace)(void *ctx, const struct agent_process *p);
	bool thread_names;			/* of samples of time */
	/* For tests: clocks in ns; NULL: the system's. */
	uint64_t (*wall_ns)(void);
	uint64_t (*mono_ns)(void);
	void *ctx;
};

/* Returns NULL with errno on failure. Freed by agent_windows_free(), after the capture. */
struct agent_windows *agent_windows_new(const struct agent_windows_args *args);
void agent_windows_free(struct agent_windows *a);

/* Returns the observer for struct capture_args. */
struct observer *agent_windows_observer(struct agent_windows *a);

/* Returns the ms until the window is over; 0: now. Reads wall clock and monotonic clock. */
int agent_windows_left_ms(struct agent_windows *a);

/*
 * Ends the window and returns it for the caller to encode. Memory in use is added to it here, so
 * call this once a window. agent_windows_next() then begins another one and forgets services that
 * are gone. The new window begins where the last one ended, or now if that is more than a second
 * ago.
 */
const struct window *agent_windows_finish(struct agent_windows *a);
void agent_windows_next(struct agent_windows *a);

/* How many samples the open window has. */
uint64_t agent_windows_samples(const struct agent_windows *a);
/*
 * Returns the open window with an end of now, to be encoded as far as it is. agent_windows_go_on()
 * follows.
 */
const struct window *agent_windows_so_far(struct agent_windows *a);
void agent_windows_go_on(struct agent_windows *a);

/* When the window would have begun if nothing had cut it: a multiple of its length. */
uint64_t agent_windows_aligned_ns(const struct agent_windows *a);

/* Applies a reload. Call it between agent_windows_finish() and agent_windows_next(). */
void agent_windows_set_length(struct agent_windows *a, uint64_t window_ns);
void agent_windows_set_privacy(struct agent_windows *a, const struct window_privacy *privacy);
/* The services' configuration has changed. */
void agent_windows_renamed(struct agent_windows *a);

/*
 * Adds the objects of a service (heap_sum_put()) to the open window; at->kind is unused. Returns
 * how many types have no sample of their own.
 */
struct heap_sum;
uint32_t agent_windows_add_heap(struct agent_windows *a, struct heap_sum *sum,
				const struct window_place *at);

/* Multiplies all values of the window by mul / div, because only some windows are profiled. */
void agent_windows_set_weight(struct agent_windows *a, uint64_t mul, uint64_t div);

/* Returns the traces and thread names of the samples, or NULL. Valid as long as the window. */
const struct window_links *agent_windows_links(const struct agent_windows *a);
const struct agent_services *agent_windows_services(const struct agent_windows *a);
struct agent_processes *agent_windows_processes(const struct agent_windows *a);

/* Cumulative figures. */
struct agent_windows_counts {
	uint64_t finished;		/* windows */
	uint64_t samples[WINDOW_KIND_CNT];	/* added to windows */
	uint64_t no_memory;		/* events of processes for which there was no memory */
	uint64_t clock_jumps;		/* how often wall clock and monotonic clock diverged */
	uint64_t others[WINDOW_OTHER_CNT];
	uint64_t links_beyond;		/* events whose trace or thread name did not fit */
	uint64_t held_beyond;		/* memory events whose stack did not fit (held.h) */
	uint64_t held_bytes;		/* in all processes, at the end of the last window */
	size_t bytes;			/* of the window's tables, at present */
	uint32_t stacks;		/* of the last window */
};
void agent_windows_counts(const struct agent_windows *a, struct agent_windows_counts *out);

#endif
