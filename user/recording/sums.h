/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sums.h - sums over several processes of a recording: their statistics; those of native frames
 * (--native), of asyncio tasks (--async) and of memory (--mode mem) also in session.json and in the
 * summary, and the lines of the summary.
 */
#ifndef TACHBPF_SUMS_H
#define TACHBPF_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/abi_native.h"
#include "model/event.h"

struct async_others;
struct async_stats;
struct capture_counts;
struct json;
struct native_counts;
struct process_stats;
struct recording_memory;

/* ---- lines of the summary ---- */

#define SUMMARY_NAME_COLUMNS 18
#define SUMMARY_COUNT_COLUMNS 12

/* A single count. */
void summary_count(FILE *out, const char *name, uint64_t cnt);
/* A count and its share of `all`; of: what these are, and possibly more. */
void summary_share(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of);
/* A count with a remark. */
void summary_remark(FILE *out, const char *name, uint64_t cnt, const char *remark);
/* The same, but nothing if cnt is 0. */
void summary_share_any(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of);
void summary_remark_any(FILE *out, const char *name, uint64_t cnt, const char *remark);
/* A part of the count in the previous line. */
void summary_cause(FILE *out, uint64_t cnt, const char *text);

/* ---- statistics of a process ---- */

/* Add those of a process that shares its file; subtract what was counted before, not below 0. */
void stats_add(struct process_stats *sum, const struct process_stats *s);
void stats_since(struct process_stats *s, const struct process_stats *before);
/* Subtracts what was counted before; files and memory keep their current values. */
void native_counts_since(struct native_counts *now, const struct native_counts *before);

/* ---- native frames ---- */

/* Of one or several processes. */
struct native_sums {
	uint64_t frames;	/* native frames that are shown */
	uint64_t unnamed;	/* of these, without a symbol: "libfoo.so.1+0x1234" */
	uint64_t folded;	/* native frames without a symbol that are not shown, but their
				 * caller in the same library */
	uint64_t uncertain;	/* stacks whose Python frames did not match the calls of the
				 * interpreter */
	uint64_t changed;	/* stacks in code that its process has changed */
	uint64_t ends[NATIVE_END_CNT];	/* native stacks, by how their walk ended */
};

/* The keys of ends in session.json and metrics, and their texts in the summary. */
struct native_end_name {
	const char *key, *text;
};
extern const struct native_end_name native_end_names[NATIVE_END_CNT];

void native_sums_add(struct native_sums *sum, const struct process_stats *s);
/* Return all native stacks, and those whose walk did not reach the thread's first function. */
uint64_t native_sums_stacks(const struct native_sums *s);
uint64_t native_sums_cut(const struct native_sums *s);

/* Write the member "native" of session.json's outermost object, and of a process. */
void native_json(struct json *j, const struct native_sums *s, const struct capture_counts *c);
void native_json_process(struct json *j, const struct process_stats *s);

/* Prints lines of the summary. frames: of all kinds. */
void native_print(const struct native_sums *s, const struct capture_counts *c, uint64_t frames,
		  FILE *out);

/* ---- asyncio tasks ---- */

/* Adds the statistics of another process. */
void async_stats_add(struct async_stats *sum, const struct async_stats *s);

/*
 * Writes the member "async" of session.json's outermost object, or of a process. all: with zeros,
 * and the names in others, which may be NULL.
 */
void async_json(struct json *j, const struct async_stats *s, const struct async_others *others,
		bool all);
/* Prints lines of the summary. */
void async_print(const struct async_stats *s, const struct async_others *others, FILE *out);

/* ---- memory ---- */

/* Of one or several processes. Bytes as in struct memory_check and struct process_stats. */
struct memory_sums {
	uint64_t allocs, touched, held, not_walked;	/* set by memory_sums_stats() */
	uint64_t bursts;	/* in which blocks were recorded; 0: all the time */
	uint64_t checks;
	/* At the first check and at the last: */
	uint64_t rss_anon_begin, rss_anon_end, swapped_begin, swapped_end;
	uint64_t held_begin, held_end;	/* ... of held memory */
	uint64_t unchecked;		/* at the last check */
	uint64_t pages_looked_at, own, reused, unused;	/* of what is held: struct memory_fate */
	uint64_t collections;
	uint64_t not_kept;		/* ALLOCs whose stack has no number of its own */
	uint64_t beyond_threads;	/* ... whose thread has none */
};

/* Take these from a process' statistics; from a check. */
void memory_sums_stats(struct memory_sums *m, const struct process_stats *s);
void memory_sums_check(struct memory_sums *m, const struct memory_check *c);
void memory_sums_fate(struct memory_sums *m, const struct memory_fate *f);
void memory_sums_add(struct memory_sums *sum, const struct memory_sums *m);

/* Write members of a process in session.json; "memory" of the outermost object. */
void memory_json_process(struct json *j, const struct memory_sums *m);
void memory_json(struct json *j, const struct memory_sums *sum, const struct recording_memory *how);

/* Prints how much is held at the end, in one line. */
void memory_print_held(const struct memory_sums *sum, FILE *out);
/* Prints lines of the summary. */
void memory_print(const struct memory_sums *sum, FILE *out);

#endif
