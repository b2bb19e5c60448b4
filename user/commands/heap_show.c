// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_show.c - a process in the output of tachbpf heap: where its memory is, the table of types,
 * the largest objects, what is not known; and the parts that the other outputs share. See
 * heap_show.h.
 */
#include "commands/heap_show.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes_text.h"
#include "base/colour.h"
#include "base/util.h"
#include "commands/show.h"
#include "heap/own_types.h"

#define LARGEST_SHOWN 2
/* A large object is worth a line if it has this part of RSS. */
#define LARGE_PART 100
/* A type that is not Python's own is worth a line if it has so many objects, or that part. */
#define OWN_OBJECTS 20

/* ---- small parts ---- */

static const char *count_text(const char *sign, uint64_t n, char out[HEAP_COUNT_BYTES])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), i, at;

	at = (size_t)snprintf(out, HEAP_COUNT_BYTES, "%s", sign);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

static uint64_t magnitude(int64_t n)
{
	return n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
}

int64_t heap_signed(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

const char *heap_count_text(int64_t n, char out[HEAP_COUNT_BYTES])
{
	return count_text(n < 0 ? "-" : "", magnitude(n), out);
}

const char *heap_more_text(int64_t n, char out[HEAP_COUNT_BYTES])
{
	return count_text(n < 0 ? "-" : n > 0 ? "+" : "", magnitude(n), out);
}

int heap_say(const struct heap_screen *s, size_t indent, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	fprintf(s->out, "%*s", (int)indent, "");
	text_wrap(s->out, text, indent, s->width);
	free(text);
	return 0;
}

const char *heap_name(const char *name, char out[HEAP_SHOWN_BYTES])
{
	return escape_text(name, strnlen(name, HEAP_NAME_BYTES), out, HEAP_SHOWN_BYTES);
}

int64_t heap_per_minute(int64_t amount, double minutes)
{
	double rate = minutes > 0 ? round((double)amount / minutes) : (double)amount;

	return rate >= 0x1p62 ? INT64_MAX / 2 : rate <= -0x1p62 ? -INT64_MAX / 2 : (int64_t)rate;
}

/* ---- where the memory is ---- */

/* Bytes of objects whose type is known. */
static uint64_t typed_bytes(const struct heap_census *c)
{
	uint64_t sum = c->other.bytes;
	uint32_t i;

	for (i = 0; i < c->row_cnt; i++)
		sum = add_capped(sum, c->rows[i].bytes);
	return sum;
}

/* Appends ", 1.2 MiB free" to a list of parts, unless it is nothing. */
static void add_part(char *parts, size_t size, uint64_t bytes, const char *where)
{
	char text[BYTES_TEXT_MAX];
	size_t at = strlen(parts);

	if (bytes)
		snprintf(parts + at, size - at, "%s%s %s", at ? ", " : "",
			 bytes_text((double)bytes, text), where);
}

/* Says where the resident memory is that is not in objects. */
static int say_parts(const struct heap_screen *s, const struct heap_census *c, uint64_t typed)
{
	uint64_t known = add_capped(add_capped(typed, c->untyped_bytes), c->free_bytes);
	char parts[256] = "";

	if (known > c->rss)
		return heap_say(s, 0, "That is more than is resident: part of it was never "
				"touched, is in swap, or is shared with the process that it was "
				"forked from.");
	add_part(parts, sizeof(parts), c->untyped_bytes, "in blocks of no type");
	add_part(parts, sizeof(parts), c->free_bytes, "free");
	add_part(parts, sizeof(parts), c->rss - known, "elsewhere");
	return *parts ? heap_say(s, 0, "Besides: %s.", parts) : 0;
}

/*
 * The type with most bytes that is not Python's own; NULL: none that has more than a few objects,
 * or much of the memory.
 */
static const struct heap_row *own_row(const struct heap_census *c)
{
	uint32_t i;

	for (i = 0; i < c->row_cnt; i++)
		if (heap_type_is_own(c->rows[i].name) &&
		    (c->rows[i].objects >= OWN_OBJECTS || c->rows[i].bytes >= c->rss / LARGE_PART))
			return &c->rows[i];
	return NULL;
}

static int say_head(const struct heap_screen *s, const struct heap_shown *p)
{
	const struct heap_census *c = p->census;
	uint64_t typed = typed_bytes(c);
	const struct heap_row *own = own_row(c);
	char rss[BYTES_TEXT_MAX], bytes[BYTES_TEXT_MAX], count[HEAP_COUNT_BYTES];
	char name[HEAP_SHOWN_BYTES];
	int err;

	fputs(colour_on(s->out, COLOUR_BOLD), s->out);
	err = heap_say(s, 0, "Process %d (%s%s%s) holds %s; Python objects explain %s (%.0f %%).",
		       p->pid, p->program, *p->python ? ", Python " : "", p->python,
		       bytes_text((double)c->rss, rss), bytes_text((double)typed, bytes),
		       percent(typed, c->rss));
	fputs(colour_off(s->out), s->out);
	if (!err && own)
		err = heap_say(s, 0, "Largest type that is not Python's own: %s, %s %s, %s.",
			       heap_name(own->name, name),
			       heap_count_text(heap_signed(own->objects), count),
			       text_plural(own->objects, "object", "objects"),
			       bytes_text((double)own->bytes, bytes));
	return err ? err : say_parts(s, c, typed);
}

/* ---- the table ---- */

enum column { OBJECTS, BYTES, SHARE, ERROR, TYPE, COLUMNS };
static const struct text_column columns[COLUMNS] = {
	[OBJECTS] = { 12, CUT_RIGHT, true, true }, [BYTES] = { 10, CUT_RIGHT, true, true },
	[SHARE] = { 6, CUT_RIGHT, true, true }, [ERROR] = { 7, CUT_RIGHT, true, true },
	[TYPE] = { 0, CUT_LEFT, false, false },
};
#define TYPE_MIN 12

static void print_cells(const struct heap_screen *s, bool sampled, const char *texts[COLUMNS])
{
	size_t used = 0;
	int i;

	for (i = 0; i < COLUMNS; i++) {
		struct text_column column = columns[i];

		column.spill = !s->width;	/* on a terminal rows are not shifted */
		if (i == ERROR && !sampled)
			continue;
		if (i == TYPE && s->width)
			column.width = s->width > used + TYPE_MIN ? s->width - used : TYPE_MIN;
		text_cell(s->out, &column, texts[i], i != TYPE);
		used += column.width + 2;
	}
	fputc('\n', s->out);
}

/* "±2.1 %" of a figure; "": exact. */
static const char *error_text(uint64_t error, uint64_t of, char out[24])
{
	double part = of ? 100 * (double)error / (double)of : 0;

	if (!error)
		return strcpy(out, "");
	if (part > 100 || !of)
		return strcpy(out, ">100 %");
	if (part < 0.05)
		return strcpy(out, "<0.1 %");
	snprintf(out, 24, part < 9.95 ? "±%.1f %%" : "±%.0f %%", part);
	return out;
}

/* name: printable. */
static void print_row(const struct heap_screen *s, const struct heap_row *row, const char *name,
		      uint64_t rss, bool sampled)
{
	char count[HEAP_COUNT_BYTES], bytes[BYTES_TEXT_MAX], share[24], error[24];
	double part = percent(row->bytes, rss);
	const char *texts[COLUMNS] = {
		[OBJECTS] = heap_count_text(heap_signed(row->objects), count),
		[BYTES] = bytes_text((double)row->bytes, bytes),
		[SHARE] = share, [ERROR] = error_text(row->bytes_error, row->bytes, error),
		[TYPE] = name,
	};

	snprintf(share, sizeof(share), part < 1000 ? "%.1f" : ">999", part);
	print_cells(s, sampled, texts);
}

static int by_objects(const void *a, const void *b)
{
	const struct heap_row *x = *(const struct heap_row *const *)a;
	const struct heap_row *y = *(const struct heap_row *const *)b;

	if (x->objects != y->objects)
		return x->objects < y->objects ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Returns the rows in the order that is asked for, to be freed; NULL: no memory. */
static const struct heap_row **sorted_rows(const struct heap_screen *s, const struct heap_census *c)
{
	const struct heap_row **rows = malloc((c->row_cnt + 1) * sizeof(*rows));
	uint32_t i;

	for (i = 0; rows && i < c->row_cnt; i++)
		rows[i] = &c->rows[i];
	if (rows && s->sort == HEAP_SORT_OBJECTS)
		qsort(rows, c->row_cnt, sizeof(*rows), by_objects);
	return rows;
}

static int print_table(const struct heap_screen *s, const struct heap_census *c)
{
	static const char *headings[COLUMNS] = { "objects", "bytes", "% RSS", "error", "type" };
	size_t shown = limit_rows(s->limit, c->row_cnt), i;
	const struct heap_row **rows = sorted_rows(s, c);
	bool sampled = heap_is_sampled(c);
	char name[HEAP_SHOWN_BYTES];

	if (!rows)
		return -ENOMEM;
	fprintf(s->out, "\n%s", colour_on(s->out, COLOUR_BOLD));
	print_cells(s, sampled, headings);
	fputs(colour_off(s->out), s->out);
	for (i = 0; i < shown; i++)
		print_row(s, rows[i], heap_name(rows[i]->name, name), c->rss, sampled);
	if (c->other.objects && shown == c->row_cnt)
		print_row(s, &c->other, "(further types)", c->rss, sampled);
	else if (shown < c->row_cnt)
		fprintf(s->out, "... and %zu more; --limit 0 shows all\n", c->row_cnt - shown);
	free(rows);
	return 0;
}

/* ---- the largest objects ---- */

static int print_large(const struct heap_screen *s, const struct heap_large *l)
{
	char bytes[BYTES_TEXT_MAX], type[HEAP_SHOWN_BYTES], what[HEAP_SHOWN_BYTES];
	char where[HEAP_SHOWN_BYTES];

	return heap_say(s, 2, "%s: %s%s%s%s%s", bytes_text((double)l->bytes, bytes),
			heap_name(l->type, type), *l->what ? ", " : "", heap_name(l->what, what),
			*l->where ? ", " : "", heap_name(l->where, where));
}

static int print_largest(const struct heap_screen *s, const struct heap_census *c)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < c->large_cnt && i < LARGEST_SHOWN &&
		    c->largest[i].bytes >= c->rss / LARGE_PART; i++) {
		if (!i)
			fprintf(s->out, "Largest objects:\n");
		err = print_large(s, &c->largest[i]);
	}
	return err;
}

/* ---- what is not known ---- */

#define LEFT_OUT_BYTES 256

/* What was read: "pages" alone may be those of the kernel. */
static const char *pools_name(const struct heap_census *c)
{
	return c->pages ? "mimalloc pages" : "pools";
}

/* " Left out: 3 pools that did not fit together."; "": nothing. */
static const char *left_out_text(const struct heap_census *c, char out[LEFT_OUT_BYTES])
{
	const struct {
		uint64_t cnt;
		const char *one, *many, *cause;
	} causes[] = {
		{ c->bad_pools, c->pages ? "page" : "pool", c->pages ? "pages" : "pools",
		  "that did not fit together" },
		{ c->bad_types, "block", "blocks", "without a valid type" },
		{ c->unread, c->pages ? "page" : "pool", c->pages ? "pages" : "pools",
		  "that could not be read" },
	};
	char count[HEAP_COUNT_BYTES];
	size_t i, at;

	*out = '\0';
	for (i = 0; i < ARRAY_SIZE(causes); i++) {
		at = strlen(out);
		if (causes[i].cnt)
			snprintf(out + at, LEFT_OUT_BYTES - at, "%s%s %s %s",
				 at ? ", " : " Left out: ",
				 heap_count_text(heap_signed(causes[i].cnt), count),
				 text_plural(causes[i].cnt, causes[i].one, causes[i].many),
				 causes[i].cause);
	}
	at = strlen(out);
	if (at)
		snprintf(out + at, LEFT_OUT_BYTES - at, ".");
	return out;
}

/*
 * A type whose objects are all in a few pools is missing if none of these was drawn: with a chance
 * of 5 % if its pools are 3 of those of which one was drawn on average. Returns the bytes of these.
 */
static uint64_t missing_bytes(const struct heap_census *c)
{
	return c->pools_read ? mul_capped(c->pool_bytes, 3) / c->pools_read : 0;
}

static int say_sample(const struct heap_screen *s, const struct heap_census *c,
		      const char *left_out)
{
	char all[HEAP_COUNT_BYTES], read[HEAP_COUNT_BYTES], bytes[BYTES_TEXT_MAX];

	return heap_say(s, 0, "A sample: %s of %s %s were read in %.2f s (--exact: all). "
			"Figures are right to their error 95 times in 100; a type of less than %s "
			"may be missing.%s",
			heap_count_text(heap_signed(c->pools_read), read),
			heap_count_text(heap_signed(c->pools), all), pools_name(c),
			(double)c->took_ns / 1e9,
			bytes_text((double)missing_bytes(c), bytes), left_out);
}

static bool all_pools_read(const struct heap_census *c)
{
	return c->pools_read + c->unread + c->bad_pools >= c->pools;
}

bool heap_is_sampled(const struct heap_census *c)
{
	uint32_t i;

	for (i = 0; i < c->row_cnt; i++)
		if (c->rows[i].bytes_error || c->rows[i].objects_error)
			return true;
	return !all_pools_read(c) || c->limited;
}

/* Large objects are outside of pools. */
static int say_part_of_others(const struct heap_screen *s, const struct heap_census *c,
			      const char *left_out)
{
	char all[HEAP_COUNT_BYTES];

	return heap_say(s, 0, "A sample: all %s pools, and a part of the C library's memory, were "
			"read in %.2f s (--exact: all). Figures are right to their error 95 times "
			"in 100; large objects may be missing.%s",
			heap_count_text(heap_signed(c->pools), all), (double)c->took_ns / 1e9,
			left_out);
}

int heap_text_foot(const struct heap_screen *s, const struct heap_census *c)
{
	char all[HEAP_COUNT_BYTES], left_out[LEFT_OUT_BYTES];

	left_out_text(c, left_out);
	if (heap_is_sampled(c))
		return all_pools_read(c) && !c->pages ? say_part_of_others(s, c, left_out) :
							say_sample(s, c, left_out);
	if (!c->row_cnt)
		return heap_say(s, 0, "No objects were found in %.2f s; --exact takes longer.",
				(double)c->took_ns / 1e9);
	if (!c->pools)
		return heap_say(s, 0, "There are no pools (PYTHONMALLOC=malloc?): objects were "
				"found by their heads in the C library's memory, in %.2f s. Some "
				"may be free already.%s", (double)c->took_ns / 1e9, left_out);
	return heap_say(s, 0, "All %s %s were read, in %.2f s.%s",
			heap_count_text(heap_signed(c->pools), all), pools_name(c),
			(double)c->took_ns / 1e9, left_out);
}

/* Returns true if it can be typed in a shell as it is. */
static bool is_plain(const char *name)
{
	return *name && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "abcdefghijklmnopqrstuvwxyz0123456789_.")];
}

/* Of a type whose name is too long for the screen, the last part will do. */
void heap_next_why(const struct heap_screen *s, int32_t pid, const char *type)
{
	static const char format[] = "Next: sudo tachbpf heap %d --why %s   # who keeps them\n";
	const char *last = type ? strrchr(type, '.') : NULL;

	if (!type || !is_plain(type))
		type = "TYPE";
	else if (last && last[1] && s->width &&
		 (size_t)snprintf(NULL, 0, format, pid, type) > s->width)
		type = last + 1;
	fprintf(s->out, format, pid, type);
}

static void say_next(const struct heap_screen *s, const struct heap_shown *p)
{
	const struct heap_row *own = own_row(p->census);

	if (!s->next || !p->census->row_cnt)
		return;
	heap_next_why(s, p->pid, own ? own->name : p->census->rows[0].name);
	fprintf(s->out, "      sudo tachbpf heap %d --since 30s   # which types grow\n", p->pid);
}

int heap_text_census(const struct heap_screen *s, const struct heap_shown *p)
{
	int err = say_head(s, p);

	if (!err)
		err = print_table(s, p->census);
	if (!err)
		err = print_largest(s, p->census);
	fputc('\n', s->out);
	if (!err)
		err = heap_text_foot(s, p->census);
	if (!err)
		say_next(s, p);
	return err;
}
