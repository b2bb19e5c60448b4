/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* python_metrics_parts.h - shared by the files of the Python processes' metrics. For python_*.c. */
#ifndef TACHBPF_AGENT_PYTHON_METRICS_PARTS_H
#define TACHBPF_AGENT_PYTHON_METRICS_PARTS_H

#include "agent/python_metrics.h"
#include "base/time.h"
#include "base/u64map.h"
#include "model/python_waits.h"

#define PYTHON_OTHER "other"
/* At most this many services have a row or processes; processes of further ones are "other". */
#define PYTHON_SERVICES_MAX 16384
/* Python versions; the last one stands for all that do not fit. */
#define PYTHON_VERSIONS 24
/* Pseudo-frames of a process that name a wait: fewer system calls than this wait. */
#define PYTHON_WAIT_FRAMES 64

/* Nanoseconds, except PYTHON_STARTS and PYTHON_EXCEPTIONS; the last ones are bytes and numbers. */
enum python_counter {
	PYTHON_CPU, PYTHON_GIL_ON_CPU, PYTHON_GIL_OFF_CPU, PYTHON_GIL_WAIT,
	PYTHON_OFF_CPU,		/* and PYTHON_WAITS in all */
	PYTHON_GC = PYTHON_OFF_CPU + PYTHON_WAITS, PYTHON_EXCEPTION_NS,
	PYTHON_EXCEPTIONS, PYTHON_STARTS,
	PYTHON_TOUCHED, PYTHON_COLLECTIONS, PYTHON_COLLECTED, PYTHON_UNCOLLECTABLE,
	PYTHON_COUNTERS
};

/* Bytes that processes use now. */
enum python_memory { PYTHON_HELD, PYTHON_RSS_ANON, PYTHON_SWAPPED, PYTHON_MEMORY };

struct python_version {
	uint8_t major, minor;
	bool free_threaded;
};

struct python_service {
	uint64_t counters[PYTHON_COUNTERS];	/* since it got its row */
	struct python_service *to;	/* whose counters are used: its own, or those of "other" */
	uint64_t heat;			/* recent CPU time: halved each minute */
	uint64_t idle_since;		/* without processes since (now_ns()) */
	uint64_t threads;
	uint64_t memory[PYTHON_MEMORY];
	uint64_t loops[PYTHON_LOOPS];	/* as of the last tick */
	uint32_t processes;
	uint32_t by_version[PYTHON_VERSIONS];	/* processes */
	struct python_service *next, *before;
	char name[METRIC_LABEL_BYTES];
	uint64_t hash;				/* of name and values, for by_name */
	char (*values)[METRIC_LABEL_BYTES];	/* of the labels; NULL: "other" has none */
};

struct python_process {
	struct python_metrics *all;
	struct python_service *service;
	const struct profile_tables *tables;
	uint32_t learnt;		/* number of frames that were looked at */
	uint32_t gc;			/* the frame <GC>; UINT32_MAX: not yet */
	uint32_t wait_cnt;
	struct {
		uint32_t frame;
		uint8_t wait;		/* enum python_wait */
	} waits[PYTHON_WAIT_FRAMES];
	uint32_t version;		/* index of python_metrics.versions */
	pid_t tgid;
	bool start_waits;		/* its start is counted once its service is known */
	uint32_t threads;		/* as last counted */
	uint64_t memory[PYTHON_MEMORY];	/* as of the last check */
	uint64_t loops[PYTHON_LOOPS];
	struct python_process *next, *before;
};

struct python_metrics {
	struct python_service other;
	struct python_service services;	/* the list's head; "other" is not in it */
	struct u64map by_name;		/* hash of name and values -> service */
	char *labels[PYTHON_LABELS_MAX];
	size_t label_cnt;
	struct python_version versions[PYTHON_VERSIONS];
	uint32_t version_cnt;
	uint32_t service_cnt, row_cnt, row_max;
	unsigned int what;
	uint64_t now, cooled_ns;	/* of the last tick; when heat was last halved */
	struct python_process processes;	/* the list's head */
	struct python_process *at;	/* whose threads are counted next */
};

#define PYTHON_EACH_SERVICE(m, s) \
	for ((s) = (m)->services.next; (s) != &(m)->services; (s) = (s)->next)

/*
 * Sets the labels of a service's samples: its name, its labels, and one more (NULL: none). Returns
 * how many.
 */
#define PYTHON_LABELS_ALL (PYTHON_LABELS_MAX + 2)
size_t python_labels(const struct python_metrics *m, const struct python_service *s,
		     const char *name, const char *value,
		     struct metric_label out[PYTHON_LABELS_ALL]);

static inline bool python_has_row(const struct python_service *s)
{
	return s->to == s;
}

/* ---- python_loops.c ---- */

/* Nothing is known. */
void python_loops_forget(uint64_t figures[PYTHON_LOOPS]);
/* Makes the figures of services out of those of their processes. */
void python_loops_tick(struct python_metrics *m);

/* ---- python_rows.c ---- */

/* Gives a new service a row, if there is one. */
void python_rows_ask(struct python_metrics *m, struct python_service *s);
/* Frees a service that has neither processes nor a row. */
void python_rows_forget(struct python_metrics *m, struct python_service *s);
/* Frees the rows of services that ended, and moves rows to busier services. */
void python_rows_tick(struct python_metrics *m, uint64_t now);

#endif
