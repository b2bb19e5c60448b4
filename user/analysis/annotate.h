/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * annotate.h - samples by line of source, as an editor shows them: files, their functions, the
 * lines of these, and the expressions of a line where columns are known.
 *
 * Computed from reports of the same events, which know each number already. Only Python code with a
 * line has lines here. Memory grows with the number of rows.
 */
#ifndef TACHBPF_ANNOTATE_H
#define TACHBPF_ANNOTATE_H

#include "analysis/report.h"

/* Which reports are needed; the sums of samples are the first one's. */
#define ANNOTATE_REPORTS 4
extern const enum report_by annotate_needs[ANNOTATE_REPORTS];

struct annotate_line {
	struct string_ref file;
	struct string_ref func;		/* the function that it is shown in */
	int32_t line;
	uint64_t self, total;		/* of all functions on the line; each sample once */
	const struct report_row *expressions;	/* hottest first */
	size_t expression_cnt;
	bool picked;			/* by annotate_pick...() */
};

/*
 * A function and its sampled lines. Lambdas, comprehensions and generator expressions belong to the
 * function around them if their names or lines tell it.
 */
struct annotate_function {
	struct string_ref file, func;
	int32_t first_line;		/* as in report_row.line of a function */
	uint64_t self;			/* of its lines */
	uint64_t total;
	uint64_t file_self;		/* of all lines of its file */
	uint64_t file_heat;		/* what files are ordered by */
	struct annotate_line *lines;	/* line_cnt, ascending */
	size_t line_cnt;
};

struct annotation {
	enum report_sort sort;
	struct annotate_function *functions;	/* by file, hottest first, then hottest first */
	size_t function_cnt;
	struct annotate_line *lines;
	size_t line_cnt;
	struct annotate_line **hottest;	/* all lines, hottest first */
	struct annotate_line **places;	/* all lines, by file and number */
	struct report_row *expressions;
	uint64_t self;			/* of all lines */
};

/*
 * Fills *a from these reports, which must stay as they are until annotate_free(). sort: by self or
 * total, which is then what "hot" means. Returns 0 or -ENOMEM; annotate_free() in both cases.
 */
int annotate_make(struct annotation *a, struct report *const reports[ANNOTATE_REPORTS],
		  enum report_sort sort);
void annotate_free(struct annotation *a);

/* Returns the heat of a line or an expression with these sums. */
static inline uint64_t annotate_heat(const struct annotation *a, uint64_t self, uint64_t total)
{
	return a->sort == REPORT_SORT_TOTAL ? total : self;
}

/* Picks the hottest lines: at most this many (0: all), each with at least this heat. */
void annotate_pick(struct annotation *a, size_t most, uint64_t least);
/*
 * Picks all lines of the functions and files of this name: a whole one, or what is behind a dot of
 * a function's or a slash of a file's. Returns the number of functions.
 */
size_t annotate_pick_named(struct annotation *a, const char *name);

/* Returns the line with this number in a file; NULL: it has no samples. */
const struct annotate_line *annotate_find(const struct annotation *a, struct string_ref file,
					  int32_t line);

#endif
