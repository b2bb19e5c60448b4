/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * columns_tables.h - what samples refer to by number, and its columns: strings, frames, distinct
 * stacks, processes, their threads and losses.
 *
 * Processes, threads and losses are rows of fixed size, whose texts are numbers of strings.
 */
#ifndef TACHBPF_COLUMNS_TABLES_H
#define TACHBPF_COLUMNS_TABLES_H

#include "base/util.h"
#include "base/writer.h"
#include "model/event.h"
#include "model/intern.h"
#include "model/profile_service.h"

#define TEXT_UNKNOWN (-1)	/* instead of the number of a string */

/* The texts of a process; those of its service follow. */
enum process_text {
	TEXT_COMM, TEXT_PROGRAM, TEXT_CONTAINER, TEXT_IMAGE, TEXT_PLATFORM, TEXT_MODE, TEXT_UNIT,
	TEXT_EVENT, TEXT_TYPE, TEXT_TYPE_UNIT, TEXT_SERVICE,
	TEXT_CNT = TEXT_SERVICE + SERVICE_PART_CNT
};

struct process_row {
	int64_t pid;		/* 0: unknown */
	int64_t start_us;	/* CLOCK_MONOTONIC */
	int64_t start_utc_ns;	/* 0: unknown */
	int64_t interval_us;	/* 0: unknown */
	int64_t lost;		/* samples; -1: unknown */
	double duration_s, sample_rate, error_pct, missed_pct;	/* NaN: unknown */
	int32_t text[TEXT_CNT];
	int32_t python;		/* major << 16 | minor << 8 | micro; 0: unknown */
	int32_t features;	/* FEATURE_*; -1: unknown */
	int32_t profile;	/* the row of the profile that it is in: itself, unless several
				 * processes share a profile */
	uint8_t timed;		/* samples have times */
	uint8_t of_container;	/* all processes of a container */
};

struct thread_row {
	int64_t id;
	int32_t process, name;
	uint8_t main;
};

struct loss_row {
	int64_t count;
	int32_t process, cause;
};

/* By stack. */
struct stack_sum {
	int64_t weight;
	double squares;		/* of the weights, from which the noise of shares is computed */
};

/* Zero-initialise, then columns_tables_init(). */
struct columns_tables {
	struct intern *names;	/* all strings, and frames */
	struct intern *stacks;	/* strings: ids of frames, innermost first */
	struct buf sums;	/* struct stack_sum, by stack */
	struct buf processes, threads, losses;	/* the rows */
};

/* Returns 0 or -ENOMEM. Freed by columns_tables_free() in any case. */
int columns_tables_init(struct columns_tables *t);
void columns_tables_free(struct columns_tables *t);

/* Sets *id to the number of a text, or TEXT_UNKNOWN if it is NULL. Returns 0 or -ENOMEM. */
int columns_text(struct columns_tables *t, const char *text, int32_t *id);
/* Adds the row of a profile. Returns 0 or -errno. */
int columns_add_process(struct columns_tables *t, const struct profile_meta *meta);
/* Returns the row of a process; valid until the next one is added. */
struct process_row *columns_process(const struct columns_tables *t, uint32_t process);
uint32_t columns_process_cnt(const struct columns_tables *t);

/* Writes the columns, and the one that says that there are no more. Returns 0 or -errno. */
int columns_tables_write(const struct columns_tables *t, struct writer *w);

#endif
