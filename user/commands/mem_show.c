// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mem_show.c - tachbpf mem: the head of a file and the table as text.
 *
 * On a narrow terminal the table has no peak and no count, unless it is sorted by them.
 */
#include "commands/mem_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory_series.h"
#include "base/bytes_text.h"
#include "base/text.h"
#include "commands/mem_bursts.h"
#include "commands/mem_contents.h"
#include "commands/mem_types.h"
#include "commands/memory_hint.h"
#include "commands/show.h"

/* ---- the head of a file ---- */

#define HEAD_COLUMNS 13		/* "  process    " */

/* Prints the start of a line: this many bytes in this many of what. */
static void print_total(const char *name, uint64_t bytes, uint64_t cnt, const char *what)
{
	printf("  %-10s %16" PRIu64 " %s in %" PRIu64 " %s%s", name, bytes,
	       text_plural(bytes, "byte", "bytes"), cnt, what, text_plural(cnt, "", "s"));
}

static void print_escaped(const char *before, const char *s)
{
	char *shown = s && *s ? text_escape(s, strlen(s)) : NULL;

	if (shown)
		printf("%s%s", before, shown);
	free(shown);
}

static void print_types(const struct mem_trace *t)
{
	char *text = mem_types_sentence(&t->types);

	if (text) {
		printf("  types      ");
		text_wrap(stdout, text, HEAD_COLUMNS, text_terminal_width(stdout));
	}
	free(text);
}

static void print_process(const struct mem_trace *t)
{
	const struct mlyze_notes *n = &t->notes;
	char every[BYTES_TEXT_MAX];

	if (t->pid || t->comm) {
		printf("  process   ");
		if (t->pid)
			printf(" %" PRIu32, t->pid);
		print_escaped(" ", t->comm);
		if (n->python_major)
			printf(", Python %u.%u.%u", n->python_major, n->python_minor,
			       n->python_micro);
		print_escaped(", container ", t->container);
		printf("\n");
	}
	if (!n->recorded)
		return;
	if (n->exact)
		printf("  exact      each block of %s and more\n",
		       bytes_text((double)n->min_bytes, every));
	else if (n->sampled.bursts)
		mem_text_bursts(t);
	else
		printf("  sampled    one touched page for each %s\n",
		       bytes_text((double)n->every_bytes, every));
	if (!n->ended)
		printf("  cut        the recording was interrupted\n");
}

static void print_collections(const struct mem_trace *t)
{
	const struct mlyze_stats *st = &t->stats;
	const struct mlyze_notes *n = &t->notes;
	const char *gap = " ";
	size_t i;

	if (!st->gc_cnt)
		return;
	printf("  %-10s %16" PRIu64 " %s, %" PRIu64 " %s in %" PRIu64 " %s\n", "collected",
	       st->gc_bytes, text_plural(st->gc_bytes, "byte", "bytes"), st->gc_objects,
	       text_plural(st->gc_objects, "object", "objects"), st->gc_cnt,
	       text_plural(st->gc_cnt, "collection", "collections"));
	if (!n->recorded)
		return;
	printf("  garbage   ");
	for (i = 0; i < MLYZE_GENERATIONS; i++) {
		if (!n->runs[i])
			continue;
		printf("%s%" PRIu64 " of generation %zu", gap, n->runs[i], i);
		gap = ", ";
	}
	if (n->collecting_us)
		printf("%s%.3f s", gap, (double)n->collecting_us / 1e6);
	if (n->uncollectable)
		printf("; %" PRIu64 " uncollectable", n->uncollectable);
	printf("\n");
}

/* Prints the kernel's figures, and the part that stacks explain. */
static void print_grown(const struct mem_trace *t)
{
	const struct memory_grown *g = &t->grown;
	double explained = memory_explained(g);
	char bytes[BYTES_TEXT_MAX];

	if (!g->known)
		return;
	printf("  RSS        %s%s in %.1f s", g->resident >= 0 ? "+" : "",
	       bytes_text((double)g->resident, bytes), g->seconds);
	if (t->notes.sampled.bursts) {	/* what is held is known at the end only */
		printf("\n");
		return;
	}
	printf("; stacks explain %s%s", g->held >= 0 ? "+" : "",
	       bytes_text((double)g->held, bytes));
	if (explained >= 0)
		printf(", %.1f %%", explained);
	printf("\n");
	if (g->unchecked)
		printf("  unchecked  %s that may have been freed: they could not be checked\n",
		       bytes_text((double)g->unchecked, bytes));
}

static void print_lost(uint64_t cnt, const char *cause)
{
	char *words = loss_words(cause);

	printf("  lost       %" PRIu64 " %s\n", cnt, words ? words : "?");
	free(words);
}

static void print_missing(const struct mem_trace *t)
{
	const struct mlyze_stats *st = &t->stats;
	const struct mlyze_notes *n = &t->notes;
	size_t i;

	if (st->unmatched_frees)
		printf("  %" PRIu64 " %s allocated before the trace\n", st->unmatched_frees,
		       text_plural(st->unmatched_frees, "free of a block that was",
				   "frees of blocks that were"));
	if (st->lost_frees)
		printf("  %" PRIu64 " %s whose address was allocated again without a free\n",
		       st->lost_frees, text_plural(st->lost_frees, "block", "blocks"));
	for (i = 0; i < n->loss_cnt; i++)
		print_lost(n->losses[i].cnt, n->losses[i].cause);
}

void mem_text_file(const struct mem_options *opts, const struct mem_trace *t)
{
	const struct mlyze_stats *st = &t->stats;
	const struct mlyze_sums *s = &st->total;
	bool sampled = t->notes.recorded && !t->notes.exact;
	const char *what = sampled ? "sample" : "allocation";

	printf("%s: %.6f s, %" PRIu64 " %s\n", t->shown, (double)(st->end_us - st->start_us) / 1e6,
	       st->event_cnt, text_plural(st->event_cnt, "event", "events"));
	print_types(t);
	print_process(t);
	print_total(sampled ? "touched" : "allocated", s->allocated, s->count, what);
	printf("\n");
	print_total("freed", st->freed, st->free_cnt - st->unmatched_frees + st->lost_frees,
		    "free");
	printf("\n");
	print_total(sampled ? "held" : "live", s->live, s->live_count, what);
	printf(" at the end\n");
	print_total("peak", s->peak, s->peak_count, what);
	printf(", after %.6f s\n", (double)(st->peak_us - mlyze_start_us(t->file)) / 1e6);
	print_collections(t);
	print_grown(t);
	mem_text_contents(&t->list.total.contents);
	print_missing(t);
}

/* ---- the table ---- */

#define BYTES_COLUMNS 10
#define COUNT_COLUMNS 7
#define WIDE_COLUMNS 100	/* from here on there is room for peak and count */
#define NAMES_MIN 20

struct table {
	bool reused, peak, count;
	int numbers;		/* columns of all numbers, with the gap after them */
	struct text_column name, place;
};

static bool has_place(enum mem_by by)
{
	return by != MEM_BY_FILE && by != MEM_BY_CONTAINER;
}

static struct table fit_table(const struct mem_options *opts, bool reused)
{
	struct table t = { .reused = reused, .place = { .cut = CUT_LEFT } };
	size_t terminal = text_terminal_width(stdout), left;

	t.peak = !terminal || terminal >= WIDE_COLUMNS || opts->sort == MEM_SORT_PEAK;
	t.count = !terminal || terminal >= WIDE_COLUMNS || opts->sort == MEM_SORT_COUNT;
	t.numbers = 3 * (BYTES_COLUMNS + 1) + (reused ? MEM_REUSED_COLUMNS + 1 : 0) +
		    (t.peak ? BYTES_COLUMNS + 1 : 0) +
		    (t.count ? COUNT_COLUMNS + 1 : 0) + 2;
	if (!terminal)
		return t;
	left = terminal > (size_t)t.numbers + NAMES_MIN ? terminal - t.numbers : NAMES_MIN;
	t.name = (struct text_column){ .width = has_place(opts->by) ? left / 2 - 1 : left,
				       .cut = CUT_RIGHT };
	t.place.width = left - left / 2 - 1;
	return t;
}

static void print_bytes(double bytes)
{
	char text[BYTES_TEXT_MAX];

	printf("%*s ", BYTES_COLUMNS, bytes_text(bytes, text));
}

static void print_numbers(const struct memory_row *row, const struct table *t)
{
	print_bytes((double)row->held);
	print_bytes((double)row->sums.allocated);
	print_bytes(row->growth);
	if (t->reused)
		mem_print_reused(&row->contents);
	if (t->peak)
		print_bytes((double)row->sums.peak);
	if (t->count)
		printf("%*" PRIu64 " ", COUNT_COLUMNS, row->sums.count);
	printf(" ");
}

/* Prints the row's two cells, which are freed. NULL: no memory, or no place. */
static void print_cells(const struct table *t, char *name, char *place)
{
	bool has_place = place && *place;

	text_cell(stdout, &t->name, name ? name : "?", has_place);
	if (has_place)
		text_cell(stdout, &t->place, place, false);
	printf("\n");
	free(name);
	free(place);
}

static char *escaped_text(const struct string_ref *s)
{
	return text_escape(s->data, s->len);
}

static void print_frame(const struct profile_tables *tables, const struct frame *f,
			const struct table *t)
{
	const struct string_ref *file = &tables->strings[f->file];

	print_cells(t, escaped_text(&tables->strings[f->func]), show_place(f->kind, file, f->line));
}

static void print_stack(const struct profile_tables *tables, const struct memory_key *key,
			const struct table *t)
{
	size_t i;

	for (i = 0; i < key->frame_cnt; i++) {
		if (i)
			printf("%*s", t->numbers, "");
		print_frame(tables, &tables->frames[key->frames[i]], t);
	}
}

/* Returns "12 app", "12", "app" or ""; to be freed. NULL: no memory. */
static char *process_text(const struct memory_key *key)
{
	const char *comm = key->comm ? key->comm : "";
	char *text = NULL, *shown;
	int n = key->pid ? asprintf(&text, "%" PRIu32 "%s%s", key->pid, *comm ? " " : "", comm) :
			   asprintf(&text, "%s", comm);

	if (n < 0)
		return NULL;
	shown = text_escape(text, (size_t)n);
	free(text);
	return shown;
}

static void print_thread(const struct memory_key *key, const struct table *t)
{
	char *name = key->thread ? text_escape(key->thread, strlen(key->thread)) : NULL, *thread;

	if (asprintf(&thread, name ? "%s (tid %" PRIu64 ")" : "%sthread %" PRIu64,
		     name ? name : "", key->tid) < 0)
		thread = NULL;
	print_cells(t, thread, process_text(key));
	free(name);
}

static void print_process_row(const struct memory_key *key, enum mem_by by, const struct table *t)
{
	char *container = key->container ?
				  text_escape(key->container, strlen(key->container)) : NULL;
	char *process;

	if (by == MEM_BY_CONTAINER) {
		print_cells(t, container ? container : strdup("(no container)"), NULL);
		return;
	}
	process = process_text(key);
	if (process && !*process) {
		free(process);
		process = strdup("(unknown)");
	}
	print_cells(t, process, container);
}

static void print_row(const struct mem_rows *rows, const struct memory_row *row, enum mem_by by,
		      const struct table *t)
{
	const struct profile_tables *tables = memory_rows_tables(rows->all);
	struct memory_key key = memory_rows_key(rows->all, row->key);

	print_numbers(row, t);
	if (by == MEM_BY_THREAD)
		print_thread(&key, t);
	else if (by == MEM_BY_PROCESS || by == MEM_BY_CONTAINER)
		print_process_row(&key, by, t);
	else if (!key.own)
		printf("(no frames)\n");
	else if (by == MEM_BY_STACK)
		print_stack(tables, &key, t);
	else if (by == MEM_BY_FILE)
		print_cells(t, escaped_text(&tables->strings[key.own->file]), NULL);
	else
		print_frame(tables, key.own, t);
}

static void print_heading(const struct table *t, enum mem_by by, bool range)
{
	static const char *const what[] = {
		[MEM_BY_STACK] = "function, file:line", [MEM_BY_FUNCTION] = "function, file:line",
		[MEM_BY_LINE] = "function, file:line",	[MEM_BY_FILE] = "file",
		[MEM_BY_PROCESS] = "process, container", [MEM_BY_THREAD] = "thread, process",
		[MEM_BY_CONTAINER] = "container",
	};

	printf("%*s %*s %*s ", BYTES_COLUMNS, range ? "held more" : "held", BYTES_COLUMNS,
	       "touched", BYTES_COLUMNS, "growth/min");
	if (t->reused)
		printf("%*s ", MEM_REUSED_COLUMNS, "reused");
	if (t->peak)
		printf("%*s ", BYTES_COLUMNS, "peak");
	if (t->count)
		printf("%*s ", COUNT_COLUMNS, "count");
	printf(" %s\n", what[by]);
}

/* Returns true if rows are functions, or places in code. */
static bool is_by_code(enum mem_by by)
{
	return by != MEM_BY_PROCESS && by != MEM_BY_CONTAINER && by != MEM_BY_THREAD;
}

void mem_text_rows(const struct mem_options *opts, const struct mem_rows *rows,
		   uint32_t intervals, bool range)
{
	struct table table = fit_table(opts, mem_rows_are_judged(rows->list, rows->cnt));
	size_t i;

	if (opts->leaks && !intervals)
		printf("\ntoo short to find leaks: there are fewer than %d intervals between "
		       "checks\n", MEMORY_INTERVALS_MIN);
	else if (opts->leaks)
		printf("\n%zu %s in each of %" PRIu32 " intervals\n", rows->cnt,
		       text_plural(rows->cnt, "row grew", "rows grew"), intervals);
	if (rows->cnt) {
		printf("\n");
		if (is_by_code(opts->by) && rows->pages != rows->blocks)
			printf("%s\n", memory_heading(rows->blocks));
		print_heading(&table, opts->by, range);
	}
	for (i = 0; i < rows->shown; i++)
		print_row(rows, &rows->list[i], opts->by, &table);
	limit_print_more("", rows->cnt, rows->shown);
	printf("\n");
	if (rows->cnt && rows->pages && is_by_code(opts->by)) {
		memory_print_hint(stdout, rows->pid, !rows->exited, rows->type,
				  text_terminal_width(stdout));
		printf("\n");
	}
}
