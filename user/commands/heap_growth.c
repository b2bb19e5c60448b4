// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_growth.c - what has grown between two censuses of a process, per minute: for tachbpf heap
 * --since and tachbpf diff. See heap_show.h.
 *
 * What has not grown by more than its error is not called growth.
 */
#include "commands/heap_show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes_text.h"
#include "base/colour.h"
#include "base/util.h"
#include "commands/show.h"
#include "heap/own_types.h"

/* A type that is not Python's own comes first unless another one has this many times its growth. */
#define OTHERS_FIRST 1000
/* Two that differ by less than this part are alike: a request has one object of many types. */
#define ALIKE 10

static bool exceeds(int64_t n, uint64_t error)
{
	return n > 0 && (uint64_t)n > error;
}

bool heap_has_grown(const struct heap_growth *g)
{
	return exceeds(g->bytes, g->bytes_error) || exceeds(g->objects, g->objects_error);
}

static bool falls(int64_t n, uint64_t error)
{
	return n < 0 && 0 - (uint64_t)n > error;
}

/* Returns true if it is clearly less now. */
static bool has_shrunk(const struct heap_growth *g)
{
	return falls(g->bytes, g->bytes_error) || falls(g->objects, g->objects_error);
}

/* ---- the first lines ---- */

/* What the first line is about; either may be NULL. */
struct leaders {
	const struct heap_growth *own;	/* that is not Python's own: most objects */
	const struct heap_growth *most;	/* most bytes of all */
};

/* Of two types that are not Python's own: that with more objects; if they are alike, a script's. */
static bool leads(const struct heap_growth *g, const struct heap_growth *other)
{
	static const char script[] = "__main__.";
	int64_t more = g->objects - other->objects;

	if (more > other->objects / ALIKE || -more > g->objects / ALIKE)
		return more > 0;
	return !strncmp(g->name, script, sizeof(script) - 1) &&
	       strncmp(other->name, script, sizeof(script) - 1);
}

static struct leaders find_leaders(const struct heap_growth *const *list, size_t cnt)
{
	struct leaders l = { NULL, NULL };
	size_t i;

	for (i = 0; i < cnt; i++) {
		const struct heap_growth *g = list[i];

		if (!l.most || g->bytes > l.most->bytes)
			l.most = g;
		if (heap_type_is_own(g->name) && exceeds(g->objects, g->objects_error) &&
		    (!l.own || leads(g, l.own)))
			l.own = g;
	}
	if (l.own && l.most->objects / OTHERS_FIRST > l.own->objects)
		l.own = NULL;
	return l;
}

#define GREW_BYTES (HEAP_COUNT_BYTES + BYTES_TEXT_MAX + 32)

/* "120 objects a minute (2.3 MiB)"; without objects: "2.3 MiB a minute". */
static const char *grew_text(const struct heap_growth *g, bool objects, char out[GREW_BYTES])
{
	int64_t rate = heap_per_minute(g->objects, g->minutes);
	char count[HEAP_COUNT_BYTES], bytes[BYTES_TEXT_MAX];

	bytes_text((double)heap_per_minute(g->bytes, g->minutes), bytes);
	if (objects && g->objects > 0)
		snprintf(out, GREW_BYTES, "%s %s a minute (%s)", heap_count_text(rate, count),
			 rate == 1 ? "object" : "objects", bytes);
	else
		snprintf(out, GREW_BYTES, "%s a minute", bytes);
	return out;
}

static int say_first(const struct heap_screen *s, const struct leaders *l)
{
	const struct heap_growth *first = l->own ? l->own : l->most;
	char name[HEAP_SHOWN_BYTES], other[HEAP_SHOWN_BYTES], grew[GREW_BYTES], more[GREW_BYTES];

	heap_name(first->name, name);
	grew_text(first, true, grew);
	if (first == l->most)
		return heap_say(s, 0, "%s grew by %s.", name, grew);
	return heap_say(s, 0, "%s grew by %s, and %s by %s.", name, grew,
			heap_name(l->most->name, other), grew_text(l->most, false, more));
}

/* "30.0 s", "5.0 min", "26.5 h". */
static const char *span_text(double seconds, char out[32])
{
	if (seconds < 120)
		snprintf(out, 32, "%.1f s", seconds);
	else if (seconds < 7200)
		snprintf(out, 32, "%.1f min", seconds / 60);
	else
		snprintf(out, 32, "%.1f h", seconds / 3600);
	return out;
}

static int say_process(const struct heap_screen *s, const struct heap_shown *p)
{
	int64_t more = (int64_t)(p->census->rss - p->before->rss);
	double seconds = (double)(p->census->time_ns - p->before->time_ns) / 1e9;
	char rss[BYTES_TEXT_MAX], bytes[BYTES_TEXT_MAX], span[32];

	bytes_text((double)heap_per_minute(more, seconds / 60), bytes);
	return heap_say(s, 0, "Process %d (%s%s%s) holds %s, %s%s a minute; watched for %s.",
			p->pid, p->program, *p->python ? ", Python " : "", p->python,
			bytes_text((double)p->census->rss, rss), more >= 0 ? "+" : "", bytes,
			span_text(seconds, span));
}

/* ---- the table ---- */

enum column { MORE_OBJECTS, MORE_BYTES, ERROR, OBJECTS, BYTES, TYPE, COLUMNS };
static const struct text_column columns[COLUMNS] = {
	[MORE_OBJECTS] = { 12, CUT_RIGHT, true, true },
	[MORE_BYTES] = { 10, CUT_RIGHT, true, true },
	[ERROR] = { 9, CUT_RIGHT, true, true }, [OBJECTS] = { 11, CUT_RIGHT, true, true },
	[BYTES] = { 9, CUT_RIGHT, true, true }, [TYPE] = { 0, CUT_LEFT, false, false },
};
#define TYPE_MIN 12
#define WIDE 100		/* from here on there is room for all columns */

/* sampled: there are errors. Then a narrow screen has no room for all columns. */
static bool has_column(const struct heap_screen *s, enum column c, bool sampled)
{
	if (c == ERROR)
		return sampled;
	return c != BYTES || !sampled || !s->width || s->width >= WIDE;
}

static void print_cells(const struct heap_screen *s, bool sampled, const char *texts[COLUMNS])
{
	size_t used = 0;
	int i;

	for (i = 0; i < COLUMNS; i++) {
		struct text_column column = columns[i];

		if (!has_column(s, i, sampled))
			continue;

		column.spill = !s->width;	/* on a terminal rows are not shifted */
		if (i == TYPE && s->width)
			column.width = s->width > used + TYPE_MIN ? s->width - used : TYPE_MIN;
		text_cell(s->out, &column, texts[i], i != TYPE);
		used += column.width + 2;
	}
	fputc('\n', s->out);
}

/* "+1.2 MiB", or "" for nothing. sign: what comes before a number that is not negative. */
static const char *signed_bytes(const char *sign, int64_t n, char out[BYTES_TEXT_MAX + 4])
{
	char text[BYTES_TEXT_MAX];

	snprintf(out, BYTES_TEXT_MAX + 4, "%s%s", n > 0 ? sign : "",
		 bytes_text((double)n, text));
	return out;
}

static void print_row(const struct heap_screen *s, const struct heap_growth *g, bool sampled)
{
	char objects[HEAP_COUNT_BYTES], count[HEAP_COUNT_BYTES], name[HEAP_SHOWN_BYTES];
	char more[BYTES_TEXT_MAX + 4], error[BYTES_TEXT_MAX + 4], bytes[BYTES_TEXT_MAX];
	int64_t error_rate = heap_per_minute(heap_signed(g->bytes_error), g->minutes);
	const char *texts[COLUMNS] = {
		[MORE_OBJECTS] = heap_more_text(heap_per_minute(g->objects, g->minutes), objects),
		[MORE_BYTES] = signed_bytes("+", heap_per_minute(g->bytes, g->minutes), more),
		[ERROR] = g->bytes_error ? signed_bytes("±", error_rate, error) : "",
		[OBJECTS] = heap_count_text(g->row ? heap_signed(g->row->objects) : 0, count),
		[BYTES] = bytes_text(g->row ? (double)g->row->bytes : 0, bytes),
		[TYPE] = heap_name(g->name, name),
	};

	print_cells(s, sampled, texts);
}

static void print_table(const struct heap_screen *s, const struct heap_growth *const *list,
			size_t cnt)
{
	static const char *headings[COLUMNS] = { "objects/min", "bytes/min", "error", "objects now",
						 "bytes now", "type" };
	size_t shown = limit_rows(s->limit, cnt), i;
	bool sampled = false;

	for (i = 0; i < shown; i++)
		sampled |= list[i]->bytes_error != 0;
	fprintf(s->out, "\n%s", colour_on(s->out, COLOUR_BOLD));
	print_cells(s, sampled, headings);
	fputs(colour_off(s->out), s->out);
	for (i = 0; i < shown; i++)
		print_row(s, list[i], sampled);
	if (shown < cnt)
		fprintf(s->out, "... and %zu more; --limit 0 shows all\n", cnt - shown);
}

/* ---- the order ---- */

static int compare(int64_t a, int64_t b, const char *name, const char *other)
{
	return a != b ? (a < b ? 1 : -1) : strcmp(name, other);
}

static int by_bytes(const void *a, const void *b)
{
	const struct heap_growth *x = *(const struct heap_growth *const *)a;
	const struct heap_growth *y = *(const struct heap_growth *const *)b;

	return compare(x->bytes, y->bytes, x->name, y->name);
}

static int by_objects(const void *a, const void *b)
{
	const struct heap_growth *x = *(const struct heap_growth *const *)a;
	const struct heap_growth *y = *(const struct heap_growth *const *)b;

	return compare(x->objects, y->objects, x->name, y->name);
}

/* Returns those that have grown, sorted, to be freed; NULL: no memory. */
static const struct heap_growth **grown_rows(const struct heap_screen *s,
					     const struct heap_shown *p, size_t *cnt)
{
	const struct heap_growth **list = malloc((p->growth_cnt + 1) * sizeof(*list));
	size_t i;

	*cnt = 0;
	for (i = 0; list && i < p->growth_cnt; i++)
		if (heap_has_grown(&p->growth[i]))
			list[(*cnt)++] = &p->growth[i];
	if (list)
		qsort(list, *cnt, sizeof(*list),
		      s->sort == HEAP_SORT_OBJECTS ? by_objects : by_bytes);
	return list;
}

/* Says what is not in the table. */
static int say_others(const struct heap_screen *s, const struct heap_shown *p)
{
	size_t shrunk = 0, unsure = 0, i;
	double bytes = 0;
	char text[BYTES_TEXT_MAX];
	int err = 0;

	for (i = 0; i < p->growth_cnt; i++) {
		const struct heap_growth *g = &p->growth[i];

		if (heap_has_grown(g))
			continue;
		if (has_shrunk(g)) {
			shrunk++;
			bytes += (double)g->bytes;
		} else if (g->bytes || g->objects) {
			unsure++;
		}
	}
	if (shrunk)
		err = heap_say(s, 0, "%zu %s less now: %s in total.", shrunk,
			       text_plural(shrunk, "type has", "types have"),
			       bytes_text(bytes, text));
	if (!err && unsure)
		err = heap_say(s, 0, "%zu %s changed by less than the error of the sample, and %s "
			       "not shown.", unsure, text_plural(unsure, "type", "types"),
			       text_plural(unsure, "is", "are"));
	return err;
}

static void say_next(const struct heap_screen *s, const struct heap_shown *p,
		     const struct leaders *l)
{
	const struct heap_growth *first = l->own ? l->own : l->most;

	if (!s->next)
		return;
	if (first)
		heap_next_why(s, p->pid, first->name);
	else if (heap_is_sampled(p->census))
		fprintf(s->out, "Next: sudo tachbpf heap %d --since 5m --exact   # longer, and "
			"all of it\n", p->pid);
	else
		fprintf(s->out, "Next: sudo tachbpf heap %d   # all that it holds, by type\n",
			p->pid);
}

int heap_text_growth(const struct heap_screen *s, const struct heap_shown *p)
{
	size_t cnt;
	const struct heap_growth **list = grown_rows(s, p, &cnt);
	struct leaders leaders;
	int err;

	if (!list)
		return -ENOMEM;
	leaders = find_leaders(list, cnt);
	fputs(colour_on(s->out, COLOUR_BOLD), s->out);
	err = cnt ? say_first(s, &leaders) :
		    heap_say(s, 0, "No type grew by more than the error of the sample.");
	fputs(colour_off(s->out), s->out);
	if (!err)
		err = say_process(s, p);
	if (!err && cnt)
		print_table(s, list, cnt);
	fputc('\n', s->out);
	if (!err)
		err = say_others(s, p);
	if (!err)
		err = heap_text_foot(s, p->census);
	if (!err)
		say_next(s, p, &leaders);
	free(list);
	return err;
}
