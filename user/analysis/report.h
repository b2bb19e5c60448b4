/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report.h - adds samples up by function, line, process, thread or container.
 *
 * Memory grows with what is told apart, never with the samples. Several
 * profiles add up to one report: functions are the same when kind, file and name are.
 */
#ifndef TACHBPF_REPORT_H
#define TACHBPF_REPORT_H

#include "model/event.h"

/* REPORT_BY_GIL is not made here: gil.h. */
enum report_by { REPORT_BY_FUNCTION, REPORT_BY_LINE, REPORT_BY_PROCESS, REPORT_BY_THREAD,
		 REPORT_BY_CONTAINER, REPORT_BY_GIL };
enum report_sort { REPORT_SORT_SELF, REPORT_SORT_TOTAL, REPORT_SORT_NAME, REPORT_SORT_FILE };

struct report;

struct report_row {
	uint64_t self;		/* samples in which it was innermost */
	uint64_t total;		/* samples in which it was anywhere, once each */
	struct string_ref file;	/* by function, line */
	struct string_ref func;	/* by process, thread, container: the profile's label */
	enum frame_kind kind;	/* by function, line */
	int32_t line;		/* by function: the first one seen; LINE_NONE */
	/* by process, thread: which report_begin(), from 0; by container: the first of them */
	uint32_t profile;
	uint32_t profile_cnt;	/* by container: of so many */
	uint64_t thread_id;
};

/* NULL with errno. */
struct report *report_new(enum report_by by);
void report_free(struct report *r);

/*
 * A profile begins; tables stay valid until report_end(), the label (what its
 * process is called) until report_free(). 0 or -ENOMEM, likewise below.
 */
int report_begin(struct report *r, const struct profile_tables *tables, const char *label);
/*
 * By process and container only: samples from now on are of this one (which report_begin()), until the
 * next report_begin().
 */
void report_select(struct report *r, uint32_t profile);
/* The last report_begin()'s label is to be another. */
void report_rename(struct report *r, const char *label);
/* ctx is the report: fits tach_reader_run(). */
int report_event(void *ctx, const struct event *ev);
int report_end(struct report *r);

/* All samples, those without a frame included. */
uint64_t report_sample_cnt(const struct report *r);

/* The rows, sorted; they and their strings are the report's. NULL: -ENOMEM. */
const struct report_row *report_rows(struct report *r, enum report_sort sort, size_t *cnt);

#endif
