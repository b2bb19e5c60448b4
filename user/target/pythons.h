/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pythons.h - lists the running Python processes, with details of each.
 *
 * discover.c determines which processes are Python, identity.c in which container they are.
 */
#ifndef TACHBPF_PYTHONS_H
#define TACHBPF_PYTHONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/held_by.h"
#include "host/identity.h"
#include "host/proc.h"
#include "target/discover.h"

/* How a CPython was built, as far as it can be determined. */
enum python_build {
	PYTHON_STATIC = 1,		/* the interpreter is in the executable */
	PYTHON_SHARED = 2,		/* the interpreter is in a libpython or another library */
	PYTHON_DEBUG = 4,
	PYTHON_FREE_THREADED = 8,
	PYTHON_TRACE_REFS = 16,
	PYTHON_MUSL = 32,
};
/* The word for the i-th kind of build, and its PYTHON_* bit in *bit; NULL: no more. */
const char *python_build_word(size_t i, uint32_t *bit);

struct python {
	pid_t tgid;
	char comm[PROC_COMM_MAX];	/* any bytes, as in command */
	char command[512];
	struct identity identity;
	char version[24];		/* "": unknown */
	uint32_t build;			/* PYTHON_* */
	uint32_t threads;
	double cpu_pct;			/* in % of one CPU, since it started */
	bool profilable;		/* a recording would contain its samples now */
	char why[DISCOVERY_WHY_MAX];	/* the reason if it is not profilable; else "" */
	char remark[DISCOVERY_WHY_MAX];	/* about a process that is profilable; "": none */
	char held[HELD_BY_BYTES];	/* held_by_words() */
	/* For each(), and valid only in it: what is needed to read its objects. NULL: that was
	 * not found */
	const struct discovered *found;
};

struct pythons_counts {
	uint32_t processes, pythons, unreadable;	/* counts; of processes that meet the
							 * conditions */
};

struct proc_filter_eval;

/*
 * Call each() for every Python process that filter_eval selects (NULL: all), ordered by pid, until
 * it returns non-zero; returns that value. Otherwise 0 or -errno. May take seconds: a Python whose
 * memory cannot be read in time is read again.
 */
int pythons_each(struct identities *ids, struct proc_filter_eval *filter_eval,
		 struct pythons_counts *counts,
		 int (*each)(void *ctx, const struct python *p), void *ctx);

/*
 * The same for one process, whatever the conditions. Returns the result of each(). -ESRCH: no such
 * process; -ENOENT: it is not Python, and *below is the pid of the first Python process that it has
 * started, 0: none. Other -errno: it could not be inspected; why has the reason, hostile bytes are
 * escaped.
 */
int pythons_find(struct identities *ids, pid_t tgid, pid_t *below, char why[DISCOVERY_WHY_MAX],
		 int (*each)(void *ctx, const struct python *p), void *ctx);

#endif
