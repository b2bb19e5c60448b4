/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * diff_side.h - the inputs of tachbpf diff: two files or recordings or, for memory, one at two
 * times. Only for cmd_diff.c.
 */
#ifndef TACHBPF_DIFF_SIDE_H
#define TACHBPF_DIFF_SIDE_H

#include "analysis/diff.h"
#include "commands/options.h"
#include "commands/profile_set.h"
#include "formats/html/flamegraph.h"

#define DIFF_TITLE_BYTES 512

/* One of the two sides, A or B. */
struct diff_side {
	struct profile_set set;		/* first: profile_parts.h */
	const struct diff_options *opts;
	const char *path;
	char title[DIFF_TITLE_BYTES];	/* the path; also the time, for two times of a file */
	struct reader_args reader;
	struct sample_filter_options filter;	/* the options'; nothing to free */
	bool moment;			/* of memory, held at this time */
	struct report *report;		/* for a table or JSON, else NULL */
	struct flamegraph *graph;	/* for a flame graph, else NULL */
	enum profile_unit unit;
	unsigned int modes;		/* bits 1 << mode of the profiles whose mode is known */
	double longest_s;		/* of the longest profile; 0: unknown */
	size_t profile_cnt;
};

/*
 * Reads both sides, at the same time. 0; -EIO: nothing could be read of one, which was logged;
 * -ENOMEM. The caller must call diff_side_free() for each in any case.
 */
int diff_sides_read(struct diff_side sides[2], const struct diff_options *opts);
void diff_side_free(struct diff_side *s);

/* Returns the side's mode, "mixed" if it has several; NULL: unknown. */
const char *diff_side_mode(const struct diff_side *s);

/* Returns true if both sides are memory. */
static inline bool diff_in_bytes(const struct diff_side sides[2])
{
	return sides[0].unit == UNIT_BYTES && sides[1].unit == UNIT_BYTES;
}

#endif
