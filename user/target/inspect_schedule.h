/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspect_schedule.h - when to inspect again a process that is not known to be Python.
 *
 * A process may become Python at any time: the dynamic linker maps libpython some milliseconds
 * after the exec, or a program loads it after hours. So each process is inspected again, first soon
 * and then ever less often; and after it has mapped code, which the BPF side reports.
 */
#ifndef TACHBPF_INSPECT_SCHEDULE_H
#define TACHBPF_INSPECT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define INSPECT_NEVER UINT64_MAX

/*
 * The schedule of one process. If zero-initialised, an inspection is due immediately. Times are
 * CLOCK_MONOTONIC.
 */
struct inspect_schedule {
	uint64_t next_ns;	/* the next inspection; INSPECT_NEVER: only after a change */
	uint32_t tries;		/* inspections that found no Python */
	bool changed;		/* the process has mapped code since the last inspection */
	uint64_t inspected_ns;	/* the last inspection */
	uint64_t gap_ns;	/* minimum time between inspections that changes trigger */
};

/*
 * A process is young before this number of inspections. An older one is inspected only if it has
 * had ticks since the last inspection.
 */
#define INSPECT_YOUNG_TRIES 9

/* The process runs another program: restart the schedule. */
void inspect_restart(struct inspect_schedule *s);
/* No Python was found at now_ns: set the next inspection, twice as far away as the last one. */
void inspect_backoff(struct inspect_schedule *s, uint64_t now_ns);
/* Schedule no inspection: only a change triggers one. */
void inspect_no_more(struct inspect_schedule *s);
/* The process has mapped code: inspect it soon, but not before gap_ns has passed. */
void inspect_changed(struct inspect_schedule *s);
/*
 * An inspection ended at now_ns and took cost_ns of CPU time. news: the process has mapped other
 * files than before, and may soon map more.
 */
void inspect_done(struct inspect_schedule *s, uint64_t now_ns, uint64_t cost_ns, bool news);
/* Returns true if the process has been inspected so few times that it may soon become Python. */
bool inspect_is_young(const struct inspect_schedule *s);
/*
 * Nanoseconds from now_ns until the next inspection, at most limit_ns. limit_ns if the process is
 * neither young nor changed: it is inspected when something else wakes us.
 */
uint64_t inspect_wait_ns(const struct inspect_schedule *s, uint64_t now_ns, uint64_t limit_ns);

#endif
