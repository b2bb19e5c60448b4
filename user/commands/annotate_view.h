/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * annotate_view.h - which lines of a function annotated source shows, and how a line of source
 * looks on a terminal.
 */
#ifndef TACHBPF_ANNOTATE_VIEW_H
#define TACHBPF_ANNOTATE_VIEW_H

#include "analysis/annotate.h"
#include "commands/source_book.h"

#define VIEW_GAP 0	/* in place of a line: some were left out */

struct annotate_view {
	int32_t *lines;
	size_t cnt, cap;
	size_t indent;	/* columns of blanks that all of them begin with */
};

/*
 * Fills *v with the picked lines of a function and those around them; whole: also with those
 * between them and from the function's first line on. Returns 0 or -ENOMEM. *v is zeroed before,
 * and freed by annotate_view_free() in both cases.
 */
int annotate_view_make(struct annotate_view *v, const struct annotate_function *f,
		       const struct source_pages *pages, bool whole);
void annotate_view_free(struct annotate_view *v);

/*
 * Returns source text as a terminal shows it, to be freed: with blanks for tabs, the rest as by
 * text_escape(). Very long lines are cut. NULL: no memory.
 */
char *annotate_view_text(struct string_ref text);

#endif
