/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_heap.h - mode heap: when the objects of which process are counted, and what becomes of it.
 *
 * Services take turns, the one that has waited longest first, so that a host's processes are never
 * read all at once. In its turn, some processes of a service are counted one after another
 * (heap_worker.h); their sum, scaled to all of them, is added to the window that is open then.
 * Between two censuses there is a pause that keeps their CPU time below heap.cpu. Nothing here
 * waits. Runs in the main process.
 */
#ifndef TACHBPF_AGENT_HEAP_H
#define TACHBPF_AGENT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent_windows.h"
#include "heap/census.h"

struct agent_heap;

/* What became of a census. */
enum agent_heap_result {
	AGENT_HEAP_TAKEN,
	AGENT_HEAP_ENDED,	/* the process has ended */
	AGENT_HEAP_DENIED,	/* it may not be read */
	AGENT_HEAP_NO_POOLS,	/* no memory with objects was found: its Python has not begun */
	AGENT_HEAP_BLOCKED,	/* it blocks those who read it */
	AGENT_HEAP_BUSY,	/* the worker could not take it, several times */
	AGENT_HEAP_FAILED,	/* any other error */
	AGENT_HEAP_RESULTS
};

/* The words in metrics and in the status. */
extern const char *const agent_heap_results[AGENT_HEAP_RESULTS];

struct agent_heap_args {
	struct agent_windows *windows;		/* outlives us */
	uint64_t every_ns;
	uint32_t processes;			/* of each service, in its turn */
	double cpu_percent;			/* of one CPU */
	/* For tests; NULL: those of heap_worker.h. */
	int (*begin)(const struct heap_target *target, const struct heap_limits *limits);
	int (*poll)(struct heap_census *out);
};

#define AGENT_HEAP_PROCESSES_MAX 64

/* Returns NULL with errno on failure. */
struct agent_heap *agent_heap_new(const struct agent_heap_args *args);
/* Ends the worker, too. h may be NULL. */
void agent_heap_free(struct agent_heap *h);
/* Applies a reload; the members beside these three are ignored. */
void agent_heap_set(struct agent_heap *h, const struct agent_heap_args *args);

/* Does what is due. To be called often, also between windows; now: now_ns(). */
void agent_heap_tick(struct agent_heap *h, uint64_t now);

/* Returns true during a census, whose CPU time is not in the figures yet. */
bool agent_heap_is_open(const struct agent_heap *h);

/* Cumulative figures. */
struct agent_heap_counts {
	uint64_t results[AGENT_HEAP_RESULTS];	/* censuses */
	uint64_t cpu_ns;		/* that the worker says they took */
	uint64_t limited;		/* censuses that a limit ended: they are less exact */
	uint64_t services;		/* turns that had a result */
	uint64_t types_left_out;	/* types without a sample of their own, in all turns */
};
const struct agent_heap_counts *agent_heap_counts(const struct agent_heap *h);
/* Returns how long the service whose turn is next has been due, in ns; 0: none is due. */
uint64_t agent_heap_late_ns(const struct agent_heap *h, uint64_t now);

#endif
