/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * candidates.h - processes that run and are not known to be Python.
 *
 * A process may become Python at any time: exec, then the dynamic linker maps
 * libpython some milliseconds later, or a program loads it after hours. So each
 * one is looked at again, soon at first and ever more rarely; and when it runs and has
 * mapped code since, which the kernel tells. Knows when to look, not how.
 */
#ifndef TACHBPF_CANDIDATES_H
#define TACHBPF_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/u64map.h"

struct candidate {
	pid_t tgid;
	uint64_t start_ns;	/* start_boottime; 0: not known */
	uint64_t ticks;		/* ticks that user space was told of */
	uint64_t seen_ticks;	/* the kernel's count at the last look */
	bool chosen;		/* it meets the conditions */
	bool orphan;		/* the kernel sends samples of it, and we do not know it */
	uint64_t next_ns;	/* when to look again (CLOCK_MONOTONIC); UINT64_MAX: never */
	uint32_t tries;
	bool refused;		/* a Python that cannot be walked */
	bool changed;		/* it has mapped code since the last look */
	uint64_t looked_ns;	/* the last look */
	uint64_t gap_ns;	/* from one look to the next that a change may cause */
	uint64_t files;		/* discovery's: what was mapped at the last look */
	uint64_t exec_pages;	/* the kernel's: likewise, as it counts; 0: not known */
};

/* Zero-initialise. */
struct candidates {
	struct u64map by_tgid;
};

/* From this many looks on, only a process that has run since is looked at again. */
#define CANDIDATE_YOUNG_TRIES 9

/* The candidate of this process, made if need be and due at once. NULL: no memory. */
struct candidate *candidates_note(struct candidates *c, pid_t tgid, uint64_t start_ns);
struct candidate *candidates_find(struct candidates *c, pid_t tgid);
/* It has exec'ed: start over. */
void candidate_restart(struct candidate *cand);
/* Not Python at now_ns: look again later. */
void candidate_backoff(struct candidate *cand, uint64_t now_ns);
/* It has mapped code since: look again soon, but not all the time (JIT compilers). */
void candidate_changed(struct candidate *cand);
/*
 * It was looked at at now_ns, which took cost_ns. news: it had mapped other files than
 * before, and may be about to map more.
 */
void candidate_looked(struct candidate *cand, uint64_t now_ns, uint64_t cost_ns, bool news);
/* The next one that is due at now_ns, in no order; NULL: none. Start with *pos = 0. */
struct candidate *candidates_due(struct candidates *c, uint64_t now_ns, size_t *pos);
void candidates_forget(struct candidates *c, pid_t tgid);
/* Nanoseconds until one that is young is due, at most limit_ns. */
uint64_t candidates_wait_ns(struct candidates *c, uint64_t now_ns, uint64_t limit_ns);
/* How many are young: looked at so few times that they may well become Python yet. */
size_t candidates_young_cnt(struct candidates *c);
void candidates_free(struct candidates *c);

#endif
