// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_lines.c - several processes in the output of tachbpf heap: a line each. See heap_show.h. */
#include "commands/heap_show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes_text.h"
#include "base/colour.h"
#include "base/util.h"
#include "commands/show.h"

#define TYPES_SHOWN 3
#define TYPES_BYTES 512
#define PROGRAM_MIN 20

struct heap_line {
	int32_t pid;
	uint64_t rss;
	int64_t more;		/* of RSS, per minute */
	char *program, *types;
};

/* Appends ", bytearray 9.5 MiB". */
static void add_type(char out[TYPES_BYTES], const char *name, const char *sign, int64_t bytes)
{
	char shown[HEAP_SHOWN_BYTES], text[BYTES_TEXT_MAX];
	size_t at = strlen(out);

	snprintf(out + at, TYPES_BYTES - at, "%s%s %s%s", at ? ", " : "", heap_name(name, shown),
		 bytes > 0 ? sign : "", bytes_text((double)bytes, text));
}

static void types_that_are(const struct heap_census *c, char out[TYPES_BYTES])
{
	uint32_t i;

	for (i = 0; i < c->row_cnt && i < TYPES_SHOWN; i++)
		add_type(out, c->rows[i].name, "", (int64_t)c->rows[i].bytes);
}

/* The growth is sorted by bytes. */
static void types_that_grow(const struct heap_shown *p, char out[TYPES_BYTES])
{
	size_t shown = 0, i;

	for (i = 0; i < p->growth_cnt && shown < TYPES_SHOWN; i++) {
		const struct heap_growth *g = &p->growth[i];

		if (!heap_has_grown(g))
			continue;
		add_type(out, g->name, "+", heap_per_minute(g->bytes, g->minutes));
		shown++;
	}
	if (!shown)
		snprintf(out, TYPES_BYTES, "nothing that is more than its error");
}

int heap_lines_add(struct heap_lines *l, const struct heap_shown *p)
{
	struct heap_line line = { .pid = p->pid, .rss = p->census->rss };
	char types[TYPES_BYTES] = "";
	int err;

	if (p->before) {
		line.more = heap_per_minute((int64_t)(p->census->rss - p->before->rss),
					    (double)(p->census->time_ns - p->before->time_ns) /
						    60e9);
		types_that_grow(p, types);
		l->growth = true;
	} else {
		types_that_are(p->census, types);
	}
	line.program = strdup(p->program);
	line.types = strdup(types);
	err = line.program && line.types ? array_add(l->list, l->cnt, l->cap, line) : -ENOMEM;
	if (err) {
		free(line.program);
		free(line.types);
	}
	return err;
}

static int by_rss(const void *a, const void *b)
{
	const struct heap_line *x = a, *y = b;

	return x->rss != y->rss ? (x->rss < y->rss ? 1 : -1) : x->pid - y->pid;
}

static int by_growth(const void *a, const void *b)
{
	const struct heap_line *x = a, *y = b;

	return x->more != y->more ? (x->more < y->more ? 1 : -1) : x->pid - y->pid;
}

enum column { PID, RSS, MORE, PROGRAM, TYPES, COLUMNS };

static void print_line(const struct heap_screen *s, const struct heap_lines *l,
		       const struct text_column table[COLUMNS], const char *texts[COLUMNS])
{
	int i;

	for (i = 0; i < COLUMNS; i++)
		if (i != MORE || l->growth)
			text_cell(s->out, &table[i], texts[i], i != TYPES);
	fputc('\n', s->out);
}

/* The types get what the program leaves of the screen. */
static void fit(const struct heap_screen *s, const struct heap_lines *l,
		struct text_column table[COLUMNS])
{
	size_t used = table[PID].width + table[RSS].width + (l->growth ? table[MORE].width : 0) +
		      (l->growth ? 8 : 6), left, i;

	for (i = 0; i < l->cnt; i++)
		table[PROGRAM].width = text_widest(table[PROGRAM].width, l->list[i].program);
	if (!s->width)
		return;
	left = s->width > used + 2 * PROGRAM_MIN ? s->width - used : 2 * PROGRAM_MIN;
	if (table[PROGRAM].width > left / 3)
		table[PROGRAM].width = left / 3;
	table[TYPES].width = left - table[PROGRAM].width;
}

void heap_lines_print(const struct heap_screen *s, struct heap_lines *l)
{
	const char *headings[COLUMNS] = { "pid", "memory", "a minute", "program",
					  l->growth ? "what grew most, a minute" :
						      "types with most bytes" };
	struct text_column table[COLUMNS] = {
		[PID] = { 8, CUT_RIGHT, true, true }, [RSS] = { 10, CUT_RIGHT, true, true },
		[MORE] = { 11, CUT_RIGHT, true, true }, [PROGRAM] = { 7, CUT_RIGHT, false, false },
		[TYPES] = { 0, CUT_RIGHT, false, false },
	};
	char pid[24], rss[BYTES_TEXT_MAX], bytes[BYTES_TEXT_MAX], more[BYTES_TEXT_MAX + 1];
	size_t shown = limit_rows(s->limit, l->cnt), i;

	if (!l->cnt)
		return;
	qsort(l->list, l->cnt, sizeof(*l->list), l->growth ? by_growth : by_rss);
	fit(s, l, table);
	fputs(colour_on(s->out, COLOUR_BOLD), s->out);
	print_line(s, l, table, headings);
	fputs(colour_off(s->out), s->out);
	for (i = 0; i < shown; i++) {
		const struct heap_line *line = &l->list[i];
		const char *texts[COLUMNS] = { pid, bytes_text((double)line->rss, rss), more,
					       line->program, line->types };

		snprintf(pid, sizeof(pid), "%d", line->pid);
		snprintf(more, sizeof(more), "%s%s", line->more > 0 ? "+" : "",
			 bytes_text((double)line->more, bytes));
		print_line(s, l, table, texts);
	}
	if (shown < l->cnt)
		fprintf(s->out, "... and %zu more; --limit 0 shows all\n", l->cnt - shown);
	if (s->next)
		fprintf(s->out, "\nNext: sudo tachbpf heap PID   # one of them\n");
}

void heap_lines_free(struct heap_lines *l)
{
	size_t i;

	for (i = 0; i < l->cnt; i++) {
		free(l->list[i].program);
		free(l->list[i].types);
	}
	free(l->list);
	*l = (struct heap_lines){ .list = NULL };
}
