/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hot.h - what the summary of a recording shows: where its time went, in one pass.
 *
 * Samples are added up by line and by what is said about the thread at that line. Time in which a
 * thread waits for work (idle_place.h) is kept apart from other waits. Memory grows with the number
 * of distinct lines and threads, not with samples.
 */
#ifndef TACHBPF_HOT_H
#define TACHBPF_HOT_H

#include "model/event.h"

struct hot;

/* How a sample's thread spends its time. */
enum hot_state {
	HOT_RUNS,	/* on a CPU; also every sample of a mode that does not sample waits */
	HOT_RUNNABLE,	/* it waits for a CPU */
	HOT_WAITS,	/* for anything else */
	HOT_IDLE,	/* for work */
	HOT_STATE_CNT
};

enum hot_table {
	HOT_LINES,	/* lines that run or wait for a CPU */
	HOT_WAITING,	/* lines that wait: the innermost one outside the standard library */
	HOT_IDLES,	/* lines of the functions that wait for work */
	HOT_C,		/* functions in machine code */
	HOT_TABLE_CNT
};

struct hot_row {
	struct string_ref file, func;
	struct string_ref what;		/* "<blocked in read>", "<GC>"; HOT_WAITING: or the function
					 * of the standard library that waits; "": nothing */
	enum frame_kind kind;
	int32_t line;			/* LINE_NONE; by function: its hottest line */
	uint64_t weight;
};

/* mode: which samples are waits. NULL: no memory. */
struct hot *hot_new(enum profile_mode mode);
void hot_free(struct hot *h);

/*
 * Begins a profile, whose tables must stay valid until the next call. shared: its stacks may have
 * process frames.
 */
void hot_begin(struct hot *h, const struct profile_tables *tables, bool shared);
/* Adds an event, which may be a run; ctx is the hot. 0 or -ENOMEM. */
int hot_event(void *ctx, const struct event *ev);

/* Returns the weight of all samples, and of those in a state. */
uint64_t hot_total(const struct hot *h);
uint64_t hot_in_state(const struct hot *h, enum hot_state state);
/* Returns how many threads have samples, and how many have samples that wait for work. */
uint32_t hot_threads(const struct hot *h, bool idle);

/*
 * Fill *rows, to be freed, with the rows of a table, or of its functions, the largest first. The
 * strings are valid until hot_free(). 0 or -ENOMEM.
 */
int hot_rows(const struct hot *h, enum hot_table table, struct hot_row **rows, size_t *cnt);
int hot_functions(const struct hot *h, enum hot_table table, struct hot_row **rows, size_t *cnt);

#endif
