/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspect_schedule.h - when to look at a process again that is not known to be Python.
 *
 * A process may become Python at any time: exec, then the dynamic linker maps libpython some
 * milliseconds later, or a program loads it after hours. So each one is looked at again, soon at
 * first and ever more rarely; and after it has mapped code, which the kernel reports.
 */
#ifndef TACHBPF_INSPECT_SCHEDULE_H
#define TACHBPF_INSPECT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define INSPECT_NEVER UINT64_MAX

/* Of one process. Zero-initialised it is due at once. Times are CLOCK_MONOTONIC. */
struct inspect_schedule {
	uint64_t next_ns;	/* when to look again; INSPECT_NEVER: only after a change */
	uint32_t tries;		/* looks that found no Python */
	bool changed;		/* the process has mapped code since the last look */
	uint64_t inspected_ns;	/* the last look */
	uint64_t gap_ns;	/* from one look to the next that a change may cause */
};

/* From this many looks on, only a process that has run since is looked at again. */
#define INSPECT_YOUNG_TRIES 9

/* The process runs another program: begin anew. */
void inspect_restart(struct inspect_schedule *s);
/* It was no Python at now_ns: look again later. */
void inspect_backoff(struct inspect_schedule *s, uint64_t now_ns);
/* Only a change will lead to another look. */
void inspect_no_more(struct inspect_schedule *s);
/* It has mapped code: look again soon, but not all the time (JIT compilers). */
void inspect_changed(struct inspect_schedule *s);
/*
 * It was looked at at now_ns, which took cost_ns. news: it had mapped other files than
 * before, and may be about to map more.
 */
void inspect_done(struct inspect_schedule *s, uint64_t now_ns, uint64_t cost_ns, bool news);
/* Was it looked at so few times that it may well become Python yet? */
bool inspect_is_young(const struct inspect_schedule *s);
/*
 * Nanoseconds from now_ns until it is due, at most limit_ns. Only one that is young or has
 * changed is waited for: the others are looked at when there is other work, too.
 */
uint64_t inspect_wait_ns(const struct inspect_schedule *s, uint64_t now_ns, uint64_t limit_ns);

#endif
