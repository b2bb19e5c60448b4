/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_processes.h - the profiled processes as the agent sees them: to which service each belongs,
 * and when to look at it again.
 *
 * A process is named at its first event or at the next tick, whichever comes first, so a process
 * that lives for milliseconds without a sample costs no access to /proc. It may be named again when
 * it or its parent publishes a process context (OTEP 4719), or after a reload. All of this runs in
 * the main process; workers do the reading.
 *
 * What /proc says counts only as long as the process executes the program that was sampled. A child
 * that has executed another one, or ended, before it was named belongs to the service of the
 * process that forked it, which is kept at the fork.
 */
#ifndef TACHBPF_AGENT_PROCESSES_H
#define TACHBPF_AGENT_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent_services.h"
#include "telemetry/process_ctx_watch.h"
#include "telemetry/window.h"

struct held;
struct process;
struct agent_processes;

struct agent_process {
	struct process *process;
	struct window_map *map;		/* agent_processes_map(); NULL: no sample yet */
	uint32_t service;		/* SERVICE_NUMBER_OTHER until it is named */
	uint32_t forked_from;		/* the service of the process that forked it; 0: none */
	uint32_t owner;			/* agent_owners.h */
	bool named;
	uint8_t tries;			/* incomplete namings so far */
	pid_t parent;			/* parent whose service name was known at naming; 0: none */
	struct process_ctx_watch watch;
	struct thread_keys *keys;	/* what its threads publish (OTEP 4947); NULL: nothing */
	void *metrics;			/* the agent's: struct python_process */
	struct held *held;		/* its memory in use; NULL: no memory event yet */
	struct agent_process *prev, *next;
};

struct agent_processes_args {
	struct agent_services *services;	/* outlives the processes */
	uint32_t owners_max;			/* numbers of owners */
	const struct service_config *config;	/* as services'; see agent_processes_rename() */
	/* A process has left service old and now has another one. May be NULL. */
	void (*moved)(void *ctx, struct agent_process *p, uint32_t old);
	/*
	 * Called after each look at a process context which says that the process's threads publish
	 * what they work on: capture_trace_process(). After -EAGAIN or -EBUSY it is called again in
	 * a second. NULL: not wanted.
	 */
	int (*trace)(void *ctx, const struct agent_process *p);
	void *ctx;
};

/* Returns NULL with errno on failure. Free it by agent_processes_free() once no process is left. */
struct agent_processes *agent_processes_new(const struct agent_processes_args *args);
void agent_processes_free(struct agent_processes *a);

/* Adds a process that begins. Returns NULL with errno on failure. */
struct agent_process *agent_processes_begin(struct agent_processes *a, struct process *process);
void agent_processes_end(struct agent_processes *a, struct agent_process *p);

/* Returns true if a process has begun in the last second: some may have no name yet. */
bool agent_processes_some_new(const struct agent_processes *a, uint64_t now_ns);

/* Sets p->map: one for all processes with the same tables. Returns false if there is no memory. */
bool agent_processes_map(struct agent_processes *a, struct agent_process *p);

/* Names the process if needed: some 100 us once, at worst a fraction of a second. */
void agent_processes_name(struct agent_processes *a, struct agent_process *p);

/* Names new processes and looks for process contexts that are due. Call it about once a second. */
void agent_processes_tick(struct agent_processes *a, uint64_t now_ns);

/* The configuration has changed: names all processes again at the next ticks. */
void agent_processes_rename(struct agent_processes *a);

/* Services have become free: names the processes again that found no room. */
void agent_processes_retry_other(struct agent_processes *a);

/* Returns the first process; follow next for the others. */
struct agent_process *agent_processes_first(const struct agent_processes *a);

#endif
