/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * candidates.h - processes that run and are not known to be Python.
 *
 * A process may become Python at any time: after its exec the dynamic linker maps libpython
 * some milliseconds later, or a program loads it after hours. So each candidate is
 * inspected again, soon at first and then ever more rarely; and also when the BPF side
 * reports that it runs and has mapped code since. Knows when to inspect, not how.
 */
#ifndef TACHBPF_CANDIDATES_H
#define TACHBPF_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/u64map.h"

struct candidate {
	pid_t tgid;
	uint64_t start_ns;	/* start_boottime; 0: unknown */
	uint64_t ticks;		/* ticks that the BPF side has reported */
	uint64_t seen_ticks;	/* the BPF side's count of its ticks at the last inspection */
	bool chosen;		/* it meets the conditions */
	bool orphan;		/* the BPF side sends samples of it, but
				 * it is not in the table of processes */
	uint64_t next_ns;	/* when to inspect it again (CLOCK_MONOTONIC); UINT64_MAX: never */
	uint32_t tries;
	bool refused;		/* a Python that is not supported */
	bool changed;		/* it has mapped code since the last inspection */
	uint64_t looked_ns;	/* when it was last inspected */
	uint64_t gap_ns;	/* shortest time from one inspection
				 * to one that new mappings cause */
	uint64_t files;		/* discovery_look()'s hash of its mappings at the last inspection */
	uint64_t exec_pages;	/* the BPF side's count of its executable pages then; 0: unknown */
};

/* Zero-initialise. */
struct candidates {
	struct u64map by_tgid;
};

/* A process that was inspected so many times is only inspected again if it has run since. */
#define CANDIDATE_YOUNG_TRIES 9

/*
 * Find or add the candidate of this process; a new one is due at once. start_ns:
 * start_boottime, 0: unknown. NULL: no memory. Valid until candidates_forget().
 */
struct candidate *candidates_note(struct candidates *c, pid_t tgid, uint64_t start_ns);
/* NULL: the process is not a candidate. */
struct candidate *candidates_find(struct candidates *c, pid_t tgid);
/* The process has executed another program: start over. */
void candidate_restart(struct candidate *cand);
/* It was not Python at now_ns: compute when to inspect it again. */
void candidate_backoff(struct candidate *cand, uint64_t now_ns);
/* It has mapped code: inspect it again soon, but not all the time (JIT compilers). */
void candidate_changed(struct candidate *cand);
/*
 * It was inspected at now_ns, which took cost_ns of CPU time. news: it had mapped other
 * files than before, and may be about to map more.
 */
void candidate_looked(struct candidate *cand, uint64_t now_ns, uint64_t cost_ns, bool news);
/* The next candidate that is due at now_ns, in any order; NULL: none. Start with *pos = 0. */
struct candidate *candidates_due(struct candidates *c, uint64_t now_ns, size_t *pos);
/* Remove the candidate, if there is one, and free it. */
void candidates_forget(struct candidates *c, pid_t tgid);
/* Nanoseconds until the next young candidate is due, at most limit_ns. */
uint64_t candidates_wait_ns(struct candidates *c, uint64_t now_ns, uint64_t limit_ns);
/* Number of young candidates: inspected so few times that they may well become Python. */
size_t candidates_young_cnt(struct candidates *c);
void candidates_free(struct candidates *c);

#endif
