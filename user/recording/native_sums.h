/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_sums.h - what a recording with --native says of machine code: in a process' statistics,
 * in sums, in session.json and in the summary.
 */
#ifndef TACHBPF_NATIVE_SUMS_H
#define TACHBPF_NATIVE_SUMS_H

#include <stdint.h>
#include <stdio.h>

#include "bpf/abi_native.h"

struct capture_counts;
struct json;
struct process_stats;

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

/* The part of process statistics: add it, or subtract what was counted before. */
void native_stats_add(struct process_stats *sum, const struct process_stats *s);
void native_stats_since(struct process_stats *s, const struct process_stats *before);

/* The member "native" of session.json's outermost object, and of a process. */
void native_json(struct json *j, const struct native_sums *s, const struct capture_counts *c);
void native_json_process(struct json *j, const struct process_stats *s);

/* Lines of the summary. frames: of all kinds. */
void native_print(const struct native_sums *s, const struct capture_counts *c, uint64_t frames,
		  FILE *out);

#endif
