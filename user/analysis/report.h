/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report.h - adds up samples by function, line, expression, process, thread, container, service or
 * a version of it.
 *
 * Memory grows with the number of rows and not with samples. Several profiles add up to one report:
 * functions are the same if kind, file and name are equal.
 */
#ifndef TACHBPF_REPORT_H
#define TACHBPF_REPORT_H

#include "model/event.h"

/*
 * REPORT_BY_GIL: not from report.c, but from gil.h. A source line is one whatever functions are in
 * it; an expression is a range of lines and columns of a source file.
 */
enum report_by { REPORT_BY_FUNCTION, REPORT_BY_LINE, REPORT_BY_PROCESS, REPORT_BY_THREAD,
		 REPORT_BY_CONTAINER, REPORT_BY_SERVICE, REPORT_BY_VERSION, REPORT_BY_GIL,
		 REPORT_BY_SOURCE_LINE, REPORT_BY_EXPRESSION };

/* Returns true if the profiles with one label are a row: by container, service, version. */
static inline bool report_joins(enum report_by by)
{
	return by == REPORT_BY_CONTAINER || by == REPORT_BY_SERVICE || by == REPORT_BY_VERSION;
}

enum report_sort { REPORT_SORT_SELF, REPORT_SORT_TOTAL, REPORT_SORT_NAME, REPORT_SORT_FILE };

struct report;

struct report_row {
	uint64_t self;		/* weight of samples whose innermost function it is
				 * (stack_frame.h), by default whose innermost Python function;
				 * with details, whose innermost frame */
	double self_squares;	/* by function and line: sum of the squares of the weights in
				 * self, from which its noise is computed */
	uint64_t total;		/* weight of samples that contain it, each sample once */
	struct string_ref file;	/* by code */
	struct string_ref func;	/* by source line and expression: empty; by process, thread,
				 * container and the like: the profile's label */
	enum frame_kind kind;	/* by code; otherwise FRAME_SYNTHETIC */
	int32_t line;		/* by function: its first line or, if that is unknown, the lowest
				 * sampled one; LINE_NONE */
	int32_t end_line, column, end_column;	/* by expression, as in struct frame */
	/* by process, thread: index of its report_begin(); joined: the lowest of them */
	uint32_t profile;
	uint32_t profile_cnt;	/* joined: number of profiles in it */
	uint64_t thread_id;
	bool main;		/* by thread: it has samples as a main thread */
};

/* Returns NULL with errno. Freed by report_free(). */
struct report *report_new(enum report_by by);
void report_free(struct report *r);

/*
 * By function and line: details (stack_frame.h) get their own rows, and the self of samples in
 * which they are innermost. Call this before report_begin().
 */
void report_show_detail(struct report *r);
/*
 * By function and line: functions in machine code get rows, and the self of samples in which they
 * are innermost. Call this before report_begin().
 */
void report_show_native(struct report *r);
/*
 * By code: only Python code of the project (code_owner.h) has rows; the self of all other code is
 * that of its nearest caller in the project. Samples without any have no row. Call this before
 * report_begin().
 */
void report_show_mine(struct report *r);

/*
 * Begins a profile. tables must stay valid until report_end(), and label (the name of its process)
 * until report_free(). This and the following functions return 0 or -ENOMEM.
 */
int report_begin(struct report *r, const struct profile_tables *tables, const char *label);
/*
 * By process, and where profiles are joined: the following samples belong to the profile with this
 * index (of report_begin() calls), until the next report_begin().
 */
void report_select(struct report *r, uint32_t profile);
/* Replaces the label of the last report_begin(). */
void report_rename(struct report *r, const char *label);
/* Adds an event, which may be a run; ctx is the report, for reader_run(). */
int report_event(void *ctx, const struct event *ev);
/* Ends the profile. */
int report_end(struct report *r);

/*
 * Adds all of another report of the same kind and settings, whose last profile has ended: as if its
 * events had come after those so far. Its labels must stay valid like ours. Returns 0 or -ENOMEM.
 */
int report_merge(struct report *r, const struct report *other);

/* Returns the weight of all samples, including those without a frame. */
uint64_t report_sample_cnt(const struct report *r);
/* Returns true if samples have machine code without rows, because it was not requested. */
bool report_hides_native(const struct report *r);
/* Returns the sum of the squares of their weights. */
double report_squares(const struct report *r);

/*
 * Returns the sorted rows, *cnt of them; NULL: out of memory. The report owns them and their
 * strings; the rows are valid until the next call.
 */
const struct report_row *report_rows(struct report *r, enum report_sort sort, size_t *cnt);

#endif
