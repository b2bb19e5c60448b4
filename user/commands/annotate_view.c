// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* annotate_view.c - see annotate_view.h. Line numbers come from a profile: any are possible. */
#include "commands/annotate_view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/util.h"

#define CONTEXT 2	/* lines on either side of one that was picked */
#define FILLED 40	/* more lines than this without samples are left out of a whole function */
#define TAB 8
#define TEXT_MAX 4096	/* bytes of a line that are shown */

/* Returns the columns of blanks that a line begins with; SIZE_MAX: it has nothing else. */
static size_t indent_of(struct string_ref text)
{
	size_t columns = 0;
	uint32_t i;

	for (i = 0; i < text.len; i++) {
		if (text.data[i] == '\t')
			columns += TAB - columns % TAB;
		else if (text.data[i] == ' ')
			columns++;
		else
			return columns;
	}
	return SIZE_MAX;
}

/* Returns true if this line begins a function: only then does its indentation end it. */
static bool is_definition(struct string_ref text)
{
	while (text.len && (*text.data == ' ' || *text.data == '\t')) {
		text.data++;
		text.len--;
	}
	return ref_starts_with(text, "def ") || ref_starts_with(text, "async def ") ||
	       ref_starts_with(text, "@");
}

/* Returns true if the line is behind the function, as far as indentation tells. */
static bool is_behind(const struct annotate_function *f, const struct source_pages *pages,
		      int64_t line)
{
	struct string_ref first = source_pages_line(pages, f->first_line);
	size_t indent = indent_of(source_pages_line(pages, (int32_t)line));

	return is_definition(first) && indent != SIZE_MAX && indent <= indent_of(first);
}

static int add_lines(struct annotate_view *v, int64_t from, int64_t to)
{
	for (; from <= to; from++)
		if (array_add(v->lines, v->cnt, v->cap, (int32_t)from))
			return -ENOMEM;
	return 0;
}

static bool is_blank(const struct source_pages *pages, int64_t line)
{
	return indent_of(source_pages_line(pages, (int32_t)line)) == SIZE_MAX;
}

/* Returns the first line to show before this one; last: the last one shown so far, 0: none. */
static int64_t first_before(const struct annotate_function *f, const struct source_pages *pages,
			    int64_t line, int64_t last, bool whole)
{
	int64_t before = last ? last + 1 : f->first_line, from = line - CONTEXT;

	if (whole && before <= line && line - before <= FILLED)
		from = before;
	/* In files of other programs, the first line is only the first one that was sampled. */
	if (f->first_line <= line && from < f->first_line &&
	    is_definition(source_pages_line(pages, f->first_line)))
		from = f->first_line;
	/* A gap takes a line, too. */
	if (from <= last + 2 && last)
		from = last + 1;
	return from < 1 ? 1 : from > line ? line : from;
}

/* Adds a line that has samples, and those around it. *last: the last one shown. */
static int add_around(struct annotate_view *v, const struct annotate_function *f,
		      const struct source_pages *pages, int64_t line, bool whole, int64_t *last)
{
	int64_t from = line, to = line;
	int err = 0;

	if (line <= *last)	/* of the context before: only the context behind may be new */
		from = *last + 1;
	else if (line <= pages->line_cnt)
		from = first_before(f, pages, line, *last, whole);
	while (to < line + CONTEXT && to < pages->line_cnt && !is_behind(f, pages, to + 1))
		to++;
	while (from < line && is_blank(pages, from))
		from++;
	while (to > line && is_blank(pages, to))
		to--;
	if (*last && from > *last + 1 && pages->text)
		err = add_lines(v, VIEW_GAP, VIEW_GAP);
	if (!err)
		err = add_lines(v, from, to);
	if (to > *last)
		*last = to;
	return err;
}

static void find_indent(struct annotate_view *v, const struct source_pages *pages)
{
	size_t i;

	v->indent = SIZE_MAX;
	for (i = 0; i < v->cnt; i++) {
		size_t indent = indent_of(source_pages_line(pages, v->lines[i]));

		v->indent = indent < v->indent ? indent : v->indent;
	}
	if (v->indent == SIZE_MAX)
		v->indent = 0;
}

int annotate_view_make(struct annotate_view *v, const struct annotate_function *f,
		       const struct source_pages *pages, bool whole)
{
	int64_t last = 0;
	int err = 0;
	size_t i;

	*v = (struct annotate_view){ 0 };
	for (i = 0; !err && i < f->line_cnt; i++)
		if (f->lines[i].picked)
			err = add_around(v, f, pages, f->lines[i].line, whole, &last);
	find_indent(v, pages);
	return err;
}

void annotate_view_free(struct annotate_view *v)
{
	free(v->lines);
	*v = (struct annotate_view){ 0 };
}

char *annotate_view_text(struct string_ref text)
{
	size_t len = utf8_cut(text.data, text.len, TEXT_MAX), columns = 0, i;
	struct buf plain = { 0 };
	char *shown = NULL;
	int err = 0;

	for (i = 0; !err && i < len; i++) {
		char c = text.data[i];
		size_t tab = TAB - columns % TAB;

		err = c == '\t' ? buf_add(&plain, "        ", tab) : buf_add(&plain, &c, 1);
		columns += c == '\t' ? tab : ((unsigned char)c & 0xc0) != 0x80;
	}
	if (!err)
		shown = text_escape(len ? (const char *)plain.data : "", plain.len);
	buf_free(&plain);
	return shown;
}
