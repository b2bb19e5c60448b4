/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* diff_show.h - what tachbpf diff shows. Only for cmd_diff.c and diff_markdown.c. */
#ifndef TACHBPF_DIFF_SHOW_H
#define TACHBPF_DIFF_SHOW_H

#include "analysis/diff.h"
#include "commands/diff_side.h"
#include "commands/options.h"

/* The rows to show. */
struct diff_shown {
	struct diff_row *list;
	size_t cnt, all;	/* those that --limit allows; all */
	size_t grown;		/* --fail-over: all those that grew by more */
};

/*
 * Prints a comment for a pull or merge request: a sentence, the two sides, a table of functions.
 * Returns 0 or -ENOMEM.
 */
int diff_print_markdown(const struct diff_options *opts, const struct diff_side sides[2],
			const struct diff_shown *r);

#endif
