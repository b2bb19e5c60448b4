/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil_show.h - the results of tachbpf gil for each process, and printing them as text or JSON.
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
	uint32_t number;		/* index of the process in gil_processes() */
	size_t order;			/* index of its profile in the order of reading */
	enum gil_known known;
	struct session_gil exact;	/* measured, not sampled; from session.json, if known */
	const struct u64map *threads;	/* thread id -> struct gil_exact_thread; NULL: none */
};

struct gil_exact_thread {
	char *name;			/* NULL: unknown; untrusted */
	struct session_gil gil;
};

struct gil_report {
	struct gil_section *sections;	/* the longest waits first */
	size_t section_cnt;
	size_t profile_cnt;
	uint32_t limit;			/* rows of each list; 0: all */
};

/* Returns the time in seconds for this number of the profile's samples. */
double gil_seconds(const struct gil_section *s, uint64_t samples);
/* Returns the seconds from the process' first sample to the end of its last one. */
double gil_observed_s(const struct gil_section *s);
/*
 * Returns the share of gil_observed_s() in which the GIL was held, in percent. held: samples that
 * hold it. Interpreters with their own GIL are added up, to at most 100.
 */
double gil_utilisation(const struct gil_section *s, uint64_t held);
/* Returns why nothing is known about the process' GIL, as a sentence; NULL: its waits are known. */
const char *gil_reason(const struct gil_section *s);
/* Returns why the GIL's holders are unknown, as a sentence; NULL: they are known. */
const char *gil_no_holders(const struct gil_section *s);
/* Returns the process' id; 0: unknown. */
uint32_t gil_tgid(const struct gil_section *s);
/* Returns the process' comm, untrusted; NULL: unknown. */
const char *gil_comm(const struct gil_section *s);
/* Returns a thread's measured waits; NULL: none. */
const struct gil_exact_thread *gil_exact(const struct gil_section *s, uint64_t thread_id);
/* Returns a thread's name, untrusted; NULL: unknown. */
const char *gil_thread_name(const struct gil_section *s, uint64_t thread_id);
/* Returns how many of cnt rows are shown. */
uint32_t gil_shown(const struct gil_report *r, uint32_t cnt);

/* Prints the report of the set's files on standard output. */
void gil_print_json(const struct gil_report *r, const struct profile_set *set);
/* Writes it as a page to fd. title may be NULL. 0 or -errno. */
int gil_write_page(int fd, const struct gil_report *r, const char *title);
/* Returns 0 or -ENOMEM. */
int gil_print_text(const struct gil_report *r, const struct profile_set *set);

#endif
