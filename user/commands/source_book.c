// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* source_book.c - see source_book.h. Few files are looked up: a list is enough. */
#include "commands/source_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "formats/source_text.h"

#define BOOK_MAX_BYTES (64 * 1024 * 1024)	/* of all files: more have no text */

/* One that was looked up. Its pages stay where they are. */
struct book_entry {
	struct source_pages pages;
	struct buf text;
	char *path;
	uint32_t *starts;
};

struct source_book {
	const struct profile_set *set;
	struct book_entry **list;
	size_t cnt, cap, bytes;
};

struct source_book *source_book_new(const struct profile_set *set)
{
	struct source_book *b = calloc(1, sizeof(*b));

	if (b)
		b->set = set;
	return b;
}

static void entry_free(struct book_entry *e)
{
	if (!e)
		return;
	buf_free(&e->text);
	free(e->starts);
	free(e->path);
	free(e);
}

void source_book_free(struct source_book *b)
{
	size_t i;

	if (!b)
		return;
	for (i = 0; i < b->cnt; i++)
		entry_free(b->list[i]);
	free(b->list);
	free(b);
}

/* Finds where the lines of the text begin. 0 or -ENOMEM. */
static int split_lines(struct book_entry *e)
{
	const char *text = (const char *)e->text.data, *end = text + e->text.len, *at = text;
	uint32_t cnt = 0;

	while (at < end) {
		const char *next = memchr(at, '\n', end - at);

		cnt++;
		at = next ? next + 1 : end;
	}
	e->starts = calloc(cnt + 1, sizeof(*e->starts));
	if (!e->starts)
		return -ENOMEM;
	for (at = text, cnt = 0; at < end; cnt++) {
		const char *next = memchr(at, '\n', end - at);

		e->starts[cnt] = at - text;
		at = next ? next + 1 : end;
	}
	e->starts[cnt] = e->text.len;
	e->pages.line_cnt = cnt;
	return 0;
}

static int read_entry(struct source_book *b, struct book_entry *e)
{
	int err;

	if (b->bytes >= BOOK_MAX_BYTES)
		return 0;
	err = source_read(e->pages.path.data, e->pages.path.len, &e->text);
	if (err == -ENOMEM || (err == SOURCE_READ && split_lines(e)))
		return -ENOMEM;
	if (err != SOURCE_READ || !e->text.len)
		return 0;
	b->bytes += e->text.len;
	e->pages.text = (const char *)e->text.data;
	e->pages.starts = e->starts;
	return 0;
}

const struct source_pages *source_book_file(struct source_book *b, struct string_ref path)
{
	struct book_entry *e;
	size_t i;

	for (i = 0; i < b->cnt; i++) {
		struct string_ref has = b->list[i]->pages.path;

		if (has.len == path.len && !memcmp(has.data, path.data, path.len))
			return &b->list[i]->pages;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->path = malloc(path.len + 1);
	if (e->path)
		memcpy(e->path, path.data, path.len);
	e->pages.path = (struct string_ref){ e->path, path.len };
	if (!e->path || read_entry(b, e) || array_add(b->list, b->cnt, b->cap, e)) {
		entry_free(e);
		return NULL;
	}
	return &e->pages;
}

struct string_ref source_pages_line(const struct source_pages *pages, int32_t line)
{
	struct string_ref none = { "", 0 }, text;

	if (line < 1 || (uint32_t)line > pages->line_cnt)
		return none;
	text.data = pages->text + pages->starts[line - 1];
	text.len = pages->starts[line] - pages->starts[line - 1];
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.len--;
	return text;
}

struct string_ref source_book_line(struct source_book *b, struct string_ref path, int32_t line)
{
	const struct source_pages *pages = source_book_file(b, path);
	struct string_ref text = { "", 0 };

	if (pages)
		text = source_pages_line(pages, line);
	while (text.len && (*text.data == ' ' || *text.data == '\t')) {
		text.data++;
		text.len--;
	}
	return text;
}
