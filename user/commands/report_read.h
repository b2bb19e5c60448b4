/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * report_read.h - reads the inputs of a command line into a report (analysis/report.h), and keeps
 * the profile of each row. Files that several processes share have a row for each of them.
 */
#ifndef TACHBPF_REPORT_READ_H
#define TACHBPF_REPORT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/annotate.h"
#include "analysis/report.h"
#include "commands/profile_set.h"
#include "model/id_map.h"
#include "model/process_frame.h"

struct input_options;

enum report_rows_of {
	ROWS_OF_PYTHON,		/* Python functions                                             */
	ROWS_OF_FUNCTIONS,	/* functions of any language: report_show_native()              */
	ROWS_OF_FRAMES,		/* all: report_show_detail()                                    */
	ROWS_OF_PROJECT,	/* the project's Python code: report_show_mine()                */
};

struct report_read {
	struct profile_set set;		/* first: profile_parts.h */
	enum report_by by;
	enum report_rows_of rows;
	struct report *reports[ANNOTATE_REPORTS];	/* report_cnt of them, of the same events */
	size_t report_cnt;
	struct report *report;			/* the first one */
	const struct profile_file **profiles;	/* by report_row.profile */
	size_t profile_cnt, profile_cap;
	enum profile_mode mode;
	bool modes_differ;
	const char *event;			/* profile_meta.event of the first profile */
	enum profile_unit unit;			/* of the first profile: others are rejected */
	bool timed;				/* at least one profile has a known duration */
	double longest_s;
	uint64_t end_utc_ns;			/* when the last profile ended; 0: unknown */
	/* Only for report_read.c; of the profile being read: */
	bool limited;
	uint64_t left;				/* limited: events and runs that may follow */
	uint64_t last_us;
	const struct profile_file *file;
	struct process_root root;
	bool shared;				/* the file is of several processes */
	struct id_map row_of;			/* shared: root frame -> 1 + row of its process */
	uint32_t row_of_rest;			/* 1 + row of samples without a process frame, 0:
						 * none */
	bool spare_row;				/* the file's own row is still unused */
};

/*
 * Reads everything. by: REPORT_BY_SOURCE_LINE makes all reports that annotate_make() needs; others
 * make one. rows: which frames have rows. limit: at most this many events, where opening a
 * file counts as some; 0: all. Returns 0; -EIO if no profile could be read, which was logged;
 * -EFBIG: there is more than limit, and the report has what was read;
 * -ENOMEM. Damage was logged and is in r->set.failed. The caller must call report_read_free() in
 * any case.
 */
int report_read(struct report_read *r, enum report_by by, enum report_rows_of rows,
		const struct input_options *input, uint64_t limit);
void report_read_free(struct report_read *r);

#endif
