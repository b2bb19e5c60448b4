/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_test.h - censuses made by hand, and what is printed about them. */
#ifndef TACHBPF_HEAP_TEST_H
#define TACHBPF_HEAP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "commands/heap_show.h"

#define MIB (1ull << 20)

/* With no type at all. */
static inline struct heap_census *make_census(uint64_t rss)
{
	struct heap_census *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->time_ns = 1000 * NS_PER_S;
	c->took_ns = 120 * NS_PER_MS;
	c->rss = rss;
	c->pools = c->pools_read = 2500;
	return c;
}

/* errors: per cent of both figures; 0: exact. */
static inline void add_row(struct heap_census *c, const char *name, uint64_t objects,
			   uint64_t bytes, unsigned int errors)
{
	struct heap_row *row = &c->rows[c->row_cnt++];

	snprintf(row->name, sizeof(row->name), "%s", name);
	row->objects = objects;
	row->bytes = bytes;
	row->objects_error = objects * errors / 100;
	row->bytes_error = bytes * errors / 100;
}

static inline struct heap_growth make_growth(const char *name, int64_t objects, int64_t bytes,
					     uint64_t objects_error, uint64_t bytes_error)
{
	return (struct heap_growth){ .name = name, .objects = objects, .bytes = bytes,
				     .objects_error = objects_error, .bytes_error = bytes_error,
				     .minutes = 0.5 };
}

/* Process 1234, half a minute after `before`. */
static inline struct heap_shown make_shown(const struct heap_census *c)
{
	return (struct heap_shown){ .pid = 1234, .program = "app.py", .python = "3.11.2",
				    .census = c };
}

/* Everything that is printed; static. */
struct printed {
	char *text;
	size_t len;
	FILE *out;
};

static inline void print_begin(struct printed *p)
{
	free(p->text);
	p->text = NULL;
	p->out = open_memstream(&p->text, &p->len);
	assert_non_null(p->out);
}

static inline const char *print_end(struct printed *p)
{
	assert_int_equal(fclose(p->out), 0);
	return p->text;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text);
}

static inline void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text);
}

/* The widest line, and the number of lines. */
static inline void assert_fits(const char *text, size_t columns, size_t lines)
{
	char *copy = strdup(text), *line, *save;
	size_t cnt = 0;
	const char *c;

	assert_non_null(copy);
	for (c = text; *c; c++)
		cnt += *c == '\n';
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (text_widest(0, line) > columns)
			fail_msg("wider than %zu: %s", columns, line);
	free(copy);
	if (cnt > lines)
		fail_msg("%zu lines:\n%s", cnt, text);
}

#endif
