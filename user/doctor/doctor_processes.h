/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * doctor_processes.h - the processes of a recording, and the rights of each: from the same tables
 * by which they drop the others.
 */
#ifndef TACHBPF_DOCTOR_PROCESSES_H
#define TACHBPF_DOCTOR_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/worker.h"

struct process_rights {
	const char *name;		/* as ps shows it */
	const char *does;
	uint64_t caps;			/* bits: the capabilities of ours that it keeps */
	bool filter;			/* it has a filter of system calls */
};

/*
 * Lists the processes of a recording and their rights: the program itself, the keeper of these
 * kinds, a worker of each kind, the two helpers of --native. The keeper has a row for each of cnts,
 * its numbers of kinds in recordings of time, with --mode mem, and with --allocations, which are
 * all. Fills out, at most max rows; returns their number.
 */
#define PROCESS_KEEPERS 3
#define PROCESS_RIGHTS_BESIDES 6	/* rows in addition to the kinds' */
size_t process_rights(const struct worker_kind *const kinds[], const size_t cnts[PROCESS_KEEPERS],
		      struct process_rights *out, size_t max);

/* Writes the names of capabilities, separated by ", ", or "none". Returns out. */
char *caps_text(uint64_t caps, char *out, size_t size);
/* Returns a name such as "CAP_BPF"; NULL: not in the table. */
const char *cap_name(int bit);

#endif
