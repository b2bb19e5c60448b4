/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pythons.h - the Python processes that run now, with all there is to say about each.
 *
 * Who is Python is discover.c's to say, where it runs identity.c's.
 */
#ifndef TACHBPF_PYTHONS_H
#define TACHBPF_PYTHONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/identity.h"
#include "host/proc.h"
#include "target/discover.h"

/* How a CPython was built, as far as it can be told. */
enum python_build {
	PYTHON_STATIC = 1,		/* in the executable */
	PYTHON_SHARED = 2,		/* in a libpython, or another library */
	PYTHON_DEBUG = 4,
	PYTHON_FREE_THREADED = 8,
	PYTHON_TRACE_REFS = 16,
	PYTHON_MUSL = 32,
};
/* The i-th one's word, NULL behind the last; bit: its PYTHON_*. */
const char *python_build_word(size_t i, uint32_t *bit);

struct python {
	pid_t tgid;
	char comm[PROC_COMM_MAX];	/* hostile, like command */
	char command[512];
	struct identity identity;
	char version[24];		/* "": not known */
	uint32_t build;			/* PYTHON_* */
	uint32_t threads;
	double cpu_pct;			/* of one CPU, since it began */
	bool profilable;
	char why[DISCOVERY_WHY_MAX];	/* if not; else what else there is to say, or "" */
};

struct pythons_counts {
	uint32_t processes, pythons, unreadable;	/* of those that were chosen */
};

struct proc_filter_eval;

/*
 * Call each() for every Python that filter_eval lets in (NULL: all), in the order of their
 * numbers, until it returns non-zero. 0 or that, or -errno.
 */
int pythons_each(struct identities *ids, struct proc_filter_eval *filter_eval,
		 struct pythons_counts *counts,
		 int (*each)(void *ctx, const struct python *p), void *ctx);

#endif
