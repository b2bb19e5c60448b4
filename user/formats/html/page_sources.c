// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_sources.c - see page_sources.h. Frames are sorted, so each text is read once. */
#include "formats/html/page_sources.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "formats/source_text.h"

struct page_sources {
	struct json *j;
	const struct profile_tables *tables;
	size_t left;		/* bytes that may still be written */
	bool any;		/* the member has begun */
};

/* By file, then line. */
static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx;
	const struct frame *x = &frames[*(const uint32_t *)a], *y = &frames[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Returns the line that begins at *at, and moves there to the next one. */
static struct string_ref next_line(const struct string_ref *text, uint32_t *at)
{
	const char *begin = text->data + *at, *end = memchr(begin, '\n', text->len - *at);
	struct string_ref line = { begin, end ? (uint32_t)(end - begin) : text->len - *at };

	*at += line.len + (end ? 1 : 0);
	return line;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

/* Removes blanks around a line, and what is too long. */
static struct string_ref shorten(struct string_ref line)
{
	size_t at = 0, n, i;
	uint32_t cp;

	while (line.len && is_blank(line.data[line.len - 1]))
		line.len--;
	while (line.len && is_blank(*line.data)) {
		line.data++;
		line.len--;
	}
	for (i = 0; at < line.len && i < PAGE_LINE_CHARACTERS; i++) {
		n = utf8_char(line.data + at, line.len - at, &cp);
		at += n ? n : 1;
	}
	line.len = (uint32_t)at;
	return line;
}

/* Returns the line in printable form, to be freed; a tab is a space. NULL: no memory. */
static char *printable_line(struct string_ref line)
{
	char *copy = malloc((size_t)line.len + 1), *shown;
	uint32_t i;

	if (!copy)
		return NULL;
	for (i = 0; i < line.len; i++)
		copy[i] = line.data[i] == '\t' ? ' ' : line.data[i];
	shown = text_escape(copy, line.len);
	free(copy);
	return shown;
}

/* Writes lines of one file: those of cnt frames, sorted. 0 or -ENOMEM. */
static int put_lines(struct page_sources *p, const struct string_ref *text, const uint32_t *order,
		     uint32_t cnt)
{
	struct string_ref line = { 0 };
	uint32_t i, at = 0;
	int32_t number = 0;
	char key[16], *shown;

	for (i = 0; i < cnt; i++) {
		int32_t wanted = p->tables->frames[order[i]].line;

		if (wanted <= number)	/* unknown, or the same again */
			continue;
		for (; number < wanted && at < text->len; number++)
			line = next_line(text, &at);
		if (number < wanted)
			break;
		line = shorten(line);
		shown = printable_line(line);
		if (!shown)
			return -ENOMEM;
		snprintf(key, sizeof(key), "%d", wanted);
		if (*shown && strlen(shown) <= p->left) {
			p->left -= strlen(shown);
			json_string(p->j, key, shown);
		}
		free(shown);
	}
	return 0;
}

static int put_file(struct page_sources *p, const struct source_lookup *sources,
		    const uint32_t *order, uint32_t cnt)
{
	struct string_ref path = p->tables->strings[p->tables->frames[order[0]].file], text;
	int state, err;
	char *key;

	if (!p->left || !path.len || *path.data != '/')
		return 0;
	state = sources->find(sources->ctx, path, &text);
	if (state != SOURCE_READ || !text.len)
		return state < 0 ? state : 0;
	key = text_escape(path.data, path.len);
	if (!key)
		return -ENOMEM;
	if (!p->any)
		json_object(p->j, "sources");
	p->any = true;
	json_object(p->j, key);
	free(key);
	err = put_lines(p, &text, order, cnt);
	json_object_end(p->j);
	return err;
}

int html_json_sources(struct json *j, const struct source_lookup *sources,
		      const struct profile_tables *tables)
{
	struct page_sources p = { .j = j, .tables = tables, .left = PAGE_SOURCES_BYTES };
	uint32_t *order = calloc((size_t)tables->frame_cnt + 1, sizeof(*order)), cnt = 0, i, end;
	int err = order ? 0 : -ENOMEM;

	for (i = 0; !err && i < tables->frame_cnt; i++)
		if (tables->frames[i].kind == FRAME_PYTHON)
			order[cnt++] = i;
	if (cnt)
		qsort_r(order, cnt, sizeof(*order), compare_frames, (void *)tables->frames);
	for (i = 0; !err && i < cnt; i = end) {
		for (end = i + 1; end < cnt && tables->frames[order[end]].file ==
					       tables->frames[order[i]].file; end++)
			;
		err = put_file(&p, sources, order + i, end - i);
	}
	if (p.any)
		json_object_end(j);
	free(order);
	return err;
}
