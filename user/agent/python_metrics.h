/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_metrics.h - where the time of the Pythons goes, by service: counters and gauges for
 * Prometheus, made of the events that the agent's observer sees.
 *
 * A service here is its name: processes of several containers with one service name are one. So
 * many services have rows of their own (python_metrics_set_rows()); all others are added up in
 * the row "other". No counter ever goes backwards:
 *
 * - A service gets a free row with its first process, and its counters begin at 0 then.
 * - Once all rows are taken, time of a service without a row goes to "other", and stays there. At
 *   most once a minute a row changes hands: if a service without one has used twice as much CPU of
 *   late as the one that used least. What the old one had leaves with it; what it uses from then
 *   on goes to "other". If it gets a row again, it begins at 0, as after a restart.
 * - A service without processes keeps its row for an hour, or for ten minutes if another needs it.
 *
 * So the sum of all rows' increases is all time that was sampled, each once.
 *
 * Runs in the main process, from one thread. Waits for nothing; the only thing that it asks the
 * system for is the number of a process' threads (a stat() of /proc/PID/task).
 */
#ifndef TACHBPF_AGENT_PYTHON_METRICS_H
#define TACHBPF_AGENT_PYTHON_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"
#include "model/event.h"
#include "telemetry/metrics_text.h"

struct python_metrics;
struct python_process;

/* What is recorded: families that would be 0, or have a part only, are left out. */
enum python_metrics_what {
	PYTHON_METRICS_CPU = 1,		/* all threads on CPUs */
	PYTHON_METRICS_GIL = 2,		/* at least those that hold the GIL */
	PYTHON_METRICS_GIL_WAIT = 4,	/* those off the CPUs that hold the GIL or wait for it */
	PYTHON_METRICS_OFF_CPU = 8,	/* all waits, with frames that say for what */
	PYTHON_METRICS_EXCEPTIONS = 16,	/* those that handle an exception */
	PYTHON_METRICS_GC = 32,		/* frames <GC> (capture_args.gc) */
	PYTHON_METRICS_MEMORY = 64,	/* page faults; and collections */
	PYTHON_METRICS_ALL = 127
};

/* rows: services with rows of their own; 0: all are "other". NULL with errno. */
struct python_metrics *python_metrics_new(uint32_t rows, unsigned int what);
/* All processes must have ended. m may be NULL. */
void python_metrics_free(struct python_metrics *m);
/* After a reload. If there are fewer rows, those that used least CPU of late are given up. */
void python_metrics_set_rows(struct python_metrics *m, uint32_t rows);
/* Counters of what is not recorded any more are not shown, but stay. */
void python_metrics_set_what(struct python_metrics *m, unsigned int what);

struct python_process_args {
	const char *service;	/* copied; cut to METRIC_LABEL_BYTES; NULL: not known yet,
				 * "other" until python_metrics_rename() */
	const struct profile_tables *tables;	/* process_tables(); outlives the process */
	pid_t tgid;
	uint8_t major, minor;	/* of its Python */
	bool free_threaded;
	bool started;		/* it began while the agent ran: it counts as a start */
};
/* A process begins. NULL: no memory (its events then go to python_metrics_event(NULL)). */
struct python_process *python_metrics_begin(struct python_metrics *m,
					    const struct python_process_args *args);
/* Its service has another name from now on, say because its process context was read. */
void python_metrics_rename(struct python_process *p, const char *service);
/*
 * An event, which stands for so many nanoseconds; some 10 ns. By its status and frames: on a CPU or
 * not, with the GIL, waiting for it, in <GC>, with an exception. p NULL: nothing is done.
 */
void python_metrics_event(struct python_process *p, const struct event *ev, uint64_t ns);
/* What happened to its memory. p NULL: nothing is done. */
void python_metrics_memory(struct python_process *p, const struct memory_event *ev);
/* The process has ended; frees p, which may be NULL. */
void python_metrics_end(struct python_process *p);

/*
 * About once a second: counts threads of some processes (PYTHON_METRICS_STATS at most), gives
 * rows to who needs them. now: now_ns().
 */
#define PYTHON_METRICS_STATS 16
void python_metrics_tick(struct python_metrics *m, uint64_t now);

/* Write the families tachbpf_python_*. */
void python_metrics_render(const struct python_metrics *m, struct metrics_text *t);

#endif
