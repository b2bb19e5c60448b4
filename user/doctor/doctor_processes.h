/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * doctor_processes.h - which processes a recording has, and what each of them may do: from the
 * tables by which they give up the rest.
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
	uint64_t caps;			/* bits: what it keeps of what we have */
	bool filter;			/* is there a filter of system calls? */
};

/*
 * What each process of a recording has: the program itself, the keeper of these kinds, a worker
 * of each kind, the two helpers of --native. The keeper has a row for
 * each of cnts: so many of the kinds it has in recordings of time, with --mode mem, and with
 * --allocations, which are all. Fills out, at most max of them; returns how many.
 */
#define PROCESS_KEEPERS 3
#define PROCESS_RIGHTS_BESIDES 6	/* rows beside the kinds' */
size_t process_rights(const struct worker_kind *const kinds[], const size_t cnts[PROCESS_KEEPERS],
		      struct process_rights *out, size_t max);

/* Names of capabilities, separated by ", "; "none". Returns out. */
char *caps_text(uint64_t caps, char *out, size_t size);
/* "CAP_BPF"; NULL: it has no name here. */
const char *cap_name(int bit);

#endif
