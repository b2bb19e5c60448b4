/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_sums.h - what a recording with --mode mem says of memory: of a process, in sums, in
 * session.json and in the summary.
 */
#ifndef TACHBPF_MEMORY_SUMS_H
#define TACHBPF_MEMORY_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/memory_event.h"

struct json;
struct process_stats;
struct recording_memory;

/* Of a process, or of several. Bytes as in struct memory_check and struct process_stats. */
struct memory_sums {
	uint64_t allocs, touched, held, not_walked;	/* by memory_sums_stats() */
	uint64_t checks;
	uint64_t rss_anon_begin, rss_anon_end, swapped_begin, swapped_end;	/* first, last check */
	uint64_t held_begin, held_end;	/* ... of what is held */
	uint64_t unchecked;		/* at the last check */
	uint64_t collections;
	uint64_t not_kept;		/* ALLOCs whose stack has no number of its own */
	uint64_t beyond_threads;	/* ... whose thread has none */
};

/* Take what a process' statistics have of these; a check. */
void memory_sums_stats(struct memory_sums *m, const struct process_stats *s);
void memory_sums_check(struct memory_sums *m, const struct memory_check *c);
void memory_sums_add(struct memory_sums *sum, const struct memory_sums *m);

/* Members of a process in session.json; and "memory" of the outermost object. */
void memory_json_process(struct json *j, const struct memory_sums *m);
void memory_json(struct json *j, const struct memory_sums *sum, const struct recording_memory *how);

/* Lines of the summary. */
void memory_print(const struct memory_sums *sum, FILE *out);

#endif
