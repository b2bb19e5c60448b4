/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_metrics.h - where the time of Python processes goes, by service: counters and gauges for
 * Prometheus, made of the events that the agent's observer sees.
 *
 * A service here is its name, with the values of the labels (python_metrics_set_labels()):
 * processes in several containers with the same name and labels are one service. A limited number
 * of services have rows of their own (python_metrics_set_rows()); all others are added up in the
 * row "other". No counter ever goes backwards:
 *
 * - A service gets a free row with its first process, and its counters begin at 0 then.
 * - Once all rows are taken, the time of a service without a row goes to "other", and stays there.
 *   At most once a minute a row changes hands: if a service without one has recently used twice as
 *   much CPU as the one that used least. The old owner's counters disappear with it, and what it
 *   uses from then on goes to "other". If it gets a row again, it begins at 0, as after a restart.
 * - A service without processes keeps its row for an hour, or for ten minutes if another needs it.
 *
 * So the sum of all rows' increases is all sampled time, each sample counted once.
 *
 * Runs in the main process, from one thread. Waits for nothing; its only system call is a stat() of
 * /proc/PID/task, for the number of a process's threads.
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

/* What is recorded. Families that would be 0 or incomplete are left out. */
enum python_metrics_what {
	PYTHON_METRICS_CPU = 1,		/* all threads on CPUs */
	PYTHON_METRICS_GIL = 2,		/* at least those that hold the GIL */
	PYTHON_METRICS_GIL_WAIT = 4,	/* those off CPU that hold the GIL or wait for it */
	PYTHON_METRICS_OFF_CPU = 8,	/* all waits, with frames that name the reason */
	PYTHON_METRICS_EXCEPTIONS = 16,	/* those that handle an exception */
	PYTHON_METRICS_GC = 32,		/* frames <GC> (capture_args.gc) */
	PYTHON_METRICS_MEMORY = 64,	/* page faults; and collections */
	PYTHON_METRICS_LOOPS = 128,	/* asyncio's event loops: python_metrics_loops() */
	PYTHON_METRICS_ALL = 255
};

/* rows: services with rows of their own; 0: all are "other". Returns NULL with errno on failure. */
struct python_metrics *python_metrics_new(uint32_t rows, unsigned int what);
/* All processes must have ended. m may be NULL. */
void python_metrics_free(struct python_metrics *m);
/*
 * Gives all services labels besides their names, before the first process. keys: attributes of
 * resources; in a label's name, what is no letter, digit or "_" is "_". Returns 0; -E2BIG: more
 * than PYTHON_LABELS_MAX; -ENOMEM.
 */
#define PYTHON_LABELS_MAX 8
int python_metrics_set_labels(struct python_metrics *m, const char *const *keys, size_t cnt);
/* Applies a reload. With fewer rows, the services that recently used least CPU lose theirs. */
void python_metrics_set_rows(struct python_metrics *m, uint32_t rows);
/* Counters of what is no longer recorded are not shown, but stay. */
void python_metrics_set_what(struct python_metrics *m, unsigned int what);

struct python_process_args {
	const char *service;	/* copied; cut to METRIC_LABEL_BYTES; NULL: not known yet,
				 * "other" until python_metrics_rename() */
	const char *const *values;	/* of the labels; NULL, or one of them: "" */
	const struct profile_tables *tables;	/* process_tables(); outlives the process */
	pid_t tgid;
	uint8_t major, minor;	/* of its Python */
	bool free_threaded;
	bool started;		/* it began while the agent ran, so it counts as a start */
};
/* Adds a process. NULL: no memory (its events then go to python_metrics_event(NULL)). */
struct python_process *python_metrics_begin(struct python_metrics *m,
					    const struct python_process_args *args);
/* Its service has another name from now on, for example because its process context was read. */
void python_metrics_rename(struct python_process *p, const char *service,
			   const char *const *values);
/*
 * Counts an event, which stands for ns nanoseconds; takes some 10 ns. Status and frames decide
 * where: on CPU or not, with the GIL, waiting for it, in <GC>, with an exception. p may be NULL.
 */
void python_metrics_event(struct python_process *p, const struct event *ev, uint64_t ns);
/* Counts what happened to its memory. p NULL: nothing is done. */
void python_metrics_memory(struct python_process *p, const struct memory_event *ev);
/*
 * Says how the event loops of a process fare: times in ns, PYTHON_LOOPS_UNKNOWN for what is not
 * known; figures NULL: it has none. They are shown from the next tick on. p may be NULL.
 */
#define PYTHON_LOOPS_UNKNOWN UINT64_MAX
enum python_loops {
	PYTHON_LOOPS_RUNNING, PYTHON_LOOPS_TASKS, PYTHON_LOOPS_READY, PYTHON_LOOPS_LONGEST,
	PYTHON_LOOPS_LAG, PYTHON_LOOPS,
};
void python_metrics_loops(struct python_process *p, const uint64_t figures[PYTHON_LOOPS]);
/* Ends a process and frees p, which may be NULL. */
void python_metrics_end(struct python_process *p);

/*
 * Call it about once a second: counts the threads of some processes (PYTHON_METRICS_STATS at most),
 * and gives rows to services that need them. now: now_ns().
 */
#define PYTHON_METRICS_STATS 16
void python_metrics_tick(struct python_metrics *m, uint64_t now);

/* Writes the families tachbpf_python_*. */
void python_metrics_render(const struct python_metrics *m, struct metrics_text *t);

#endif
