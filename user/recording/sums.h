/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sums.h - what a recording says of several processes: their statistics added up; of machine code
 * (--native), of asyncio tasks (--async) and of memory (--mode mem) also in session.json and in the
 * summary, and the lines of which that is made.
 */
#ifndef TACHBPF_SUMS_H
#define TACHBPF_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/abi_native.h"
#include "model/memory_event.h"

struct async_stats;
struct capture_counts;
struct json;
struct native_counts;
struct process_stats;
struct recording_memory;

/* ---- lines of the summary ---- */

#define SUMMARY_NAME_COLUMNS 18
#define SUMMARY_COUNT_COLUMNS 12

/* A count alone. */
void summary_count(FILE *out, const char *name, uint64_t cnt);
/* A count, and what share of `all` it is; of: what these are, and perhaps more. */
void summary_share(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of);
/* A count with a remark. */
void summary_remark(FILE *out, const char *name, uint64_t cnt, const char *remark);
/* The same, unless cnt is 0. */
void summary_share_any(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of);
void summary_remark_any(FILE *out, const char *name, uint64_t cnt, const char *remark);
/* A part of the count in the line above. */
void summary_cause(FILE *out, uint64_t cnt, const char *text);

/* ---- statistics of a process ---- */

/* Add those of a process that shares its file; or subtract what was counted before, not below 0. */
void stats_add(struct process_stats *sum, const struct process_stats *s);
void stats_since(struct process_stats *s, const struct process_stats *before);
/* Subtract what was counted before; files and memory are what there is now. */
void native_counts_since(struct native_counts *now, const struct native_counts *before);

/* ---- machine code ---- */

/* Of a process, or of several. */
struct native_sums {
	uint64_t frames;	/* of machine code, and shown */
	uint64_t unnamed;	/* of these, without a symbol: "libfoo.so.1+0x1234" */
	uint64_t uncertain;	/* stacks whose Python frames did not match the calls of the
				 * interpreter */
	uint64_t ends[NATIVE_END_CNT];	/* stacks of machine code, by the end of their walk */
};

/* The keys of ends in session.json and metrics, and what they are called in the summary. */
struct native_end_name {
	const char *key, *text;
};
extern const struct native_end_name native_end_names[NATIVE_END_CNT];

void native_sums_add(struct native_sums *sum, const struct process_stats *s);
/* All stacks of machine code, and those whose walk did not reach the thread's first function. */
uint64_t native_sums_stacks(const struct native_sums *s);
uint64_t native_sums_cut(const struct native_sums *s);

/* The member "native" of session.json's outermost object, and of a process. */
void native_json(struct json *j, const struct native_sums *s, const struct capture_counts *c);
void native_json_process(struct json *j, const struct process_stats *s);

/* Lines of the summary. frames: of all kinds. */
void native_print(const struct native_sums *s, const struct capture_counts *c, uint64_t frames,
		  FILE *out);

/* ---- asyncio tasks ---- */

/* Add what another process has. */
void async_stats_add(struct async_stats *sum, const struct async_stats *s);

/* The member "async" of session.json's outermost object, and of a process. all: also what did not
 * occur. */
void async_json(struct json *j, const struct async_stats *s, bool all);
/* Lines of the summary. */
void async_print(const struct async_stats *s, FILE *out);

/* ---- memory ---- */

/* Of a process, or of several. Bytes as in struct memory_check and struct process_stats. */
struct memory_sums {
	uint64_t allocs, touched, held, not_walked;	/* by memory_sums_stats() */
	uint64_t checks;
	/* At the first check and at the last: */
	uint64_t rss_anon_begin, rss_anon_end, swapped_begin, swapped_end;
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
