/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil_show.h - what tachbpf gil has found out of each process, and the two ways to show it.
 */
#ifndef TACHBPF_GIL_SHOW_H
#define TACHBPF_GIL_SHOW_H

#include <stdio.h>

#include "analysis/gil.h"
#include "analysis/gil_rows.h"
#include "base/u64map.h"
#include "commands/profile_set.h"
#include "recording/session_json.h"

/* One process of one file. */
struct gil_section {
	const struct profile_file *file;
	const struct profile_meta *meta;
	const struct gil *gil;
	const struct gil_rows *rows;
	const struct gil_process *process;
	uint32_t number;		/* of the process in gil */
	size_t order;			/* of its file */
	enum gil_known known;
	struct session_gil exact;	/* measured, not sampled; known if session.json says it */
	const struct u64map *threads;	/* thread id -> struct gil_exact_thread; NULL: none */
};

struct gil_exact_thread {
	char *name;			/* NULL: not said; hostile */
	struct session_gil gil;
};

struct gil_report {
	struct gil_section *sections;	/* the longest waits first */
	size_t section_cnt;
	size_t profile_cnt;
	uint32_t limit;			/* rows of each list; 0: all */
};

/* Seconds that so many of the profile's samples stand for. */
double gil_seconds(const struct gil_section *s, uint64_t samples);
/* From the process' first sample to its last. */
double gil_observed_s(const struct gil_section *s);
/* In percent of that; of several interpreters with a GIL of their own the sum, at most 100. */
double gil_utilisation(const struct gil_section *s, uint64_t held);
/* Why nothing is known, a sentence; NULL: it is. */
const char *gil_reason(const struct gil_section *s);
/* What holders are not known for, a sentence; NULL: they are. */
const char *gil_no_holders(const struct gil_section *s);
uint32_t gil_tgid(const struct gil_section *s);
const char *gil_comm(const struct gil_section *s);	/* NULL: not known; hostile */
const struct gil_exact_thread *gil_exact(const struct gil_section *s, uint64_t thread_id);
/* NULL: not known; hostile. */
const char *gil_thread_name(const struct gil_section *s, uint64_t thread_id);
/* How many rows of cnt are shown. */
uint32_t gil_shown(const struct gil_report *r, uint32_t cnt);

/* On standard output; title: what was given on the command line. 0 or -ENOMEM. */
void gil_print_json(const struct gil_report *r, const struct profile_set *set);
int gil_print_text(const struct gil_report *r, const struct profile_set *set);

#endif
