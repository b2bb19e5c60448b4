// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mem_show.c - tachbpf mem: the head of a file and the table as text, and the same as JSON.
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

static void print_grown(const struct mem_trace *t)
{
	const struct memory_grown *g = &t->grown;
	double explained = memory_explained(g);
	char bytes[BYTES_TEXT_MAX];

	if (!g->known)
		return;
	printf("  RSS        %s%s in %.1f s", g->resident >= 0 ? "+" : "",
	       bytes_text((double)g->resident, bytes), g->seconds);
	if (!t->notes.sampled.bursts)	/* what they hold is known at the end only */
		printf("; stacks explain %s%s", g->held >= 0 ? "+" : "",
		       bytes_text((double)g->held, bytes));
	if (explained >= 0 && !t->notes.sampled.bursts)
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
		if (is_by_code(opts->by) && rows->sampled != rows->exact)
			printf("%s\n", memory_heading(rows->exact));
		print_heading(&table, opts->by, range);
	}
	for (i = 0; i < rows->shown; i++)
		print_row(rows, &rows->list[i], opts->by, &table);
	limit_print_more("", rows->cnt, rows->shown);
	printf("\n");
	if (rows->cnt && rows->sampled && is_by_code(opts->by)) {
		memory_print_hint(stdout, rows->pid, !rows->exited, rows->type,
				  text_terminal_width(stdout));
		printf("\n");
	}
}

/* ---- JSON ---- */

static void json_sums(struct json *j, const struct memory_row *row)
{
	const struct mlyze_sums *s = &row->sums;

	json_int(j, "held", row->held);
	json_uint(j, "touched", s->allocated);
	mem_json_errors(j, row);
	json_double(j, "growth_per_minute", row->growth);
	json_uint(j, "allocations", s->count);
	json_uint(j, "allocated_bytes", s->allocated);
	json_uint(j, "live_allocations", s->live_count);
	json_uint(j, "live_bytes", s->live);
	json_uint(j, "peak_allocations", s->peak_count);
	json_uint(j, "peak_bytes", s->peak);
	mem_json_contents(j, &row->contents);
}

static void json_frame(struct json *j, const struct profile_tables *tables,
		       const struct frame *frame)
{
	json_ref(j, "function", &tables->strings[frame->func]);
	json_ref(j, "file", &tables->strings[frame->file]);
	json_uint_known(j, "line", frame->line > 0 ? (uint64_t)frame->line : 0);
}

/* Writes the function that allocated, or its file; null: there is none. */
static void json_own(struct json *j, const struct profile_tables *tables, const struct frame *own,
		     enum mem_by by)
{
	if (own && by != MEM_BY_FILE) {
		json_frame(j, tables, own);
	} else if (own) {
		json_ref(j, "file", &tables->strings[own->file]);
	} else {
		if (by != MEM_BY_FILE)
			json_null(j, "function");
		json_null(j, "file");
		if (by != MEM_BY_FILE)
			json_null(j, "line");
	}
}

static void json_stack(struct json *j, const struct profile_tables *tables,
		       const struct memory_key *key)
{
	size_t i;

	json_array(j, "frames");	/* innermost first */
	for (i = 0; i < key->frame_cnt; i++) {
		json_object(j, NULL);
		json_frame(j, tables, &tables->frames[key->frames[i]]);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_process(struct json *j, const struct memory_key *key, enum mem_by by)
{
	if (by != MEM_BY_CONTAINER) {
		json_uint_known(j, "pid", key->pid);
		json_string(j, "comm", key->comm);
	}
	if (by == MEM_BY_THREAD) {
		json_uint(j, "thread", key->tid);
		json_string(j, "thread_name", key->thread);
	}
	json_string(j, "container", key->container);
}

static void json_row(struct json *j, const struct mem_options *opts, const struct mem_rows *rows,
		     const struct memory_row *row)
{
	const struct profile_tables *tables = memory_rows_tables(rows->all);
	struct memory_key key = memory_rows_key(rows->all, row->key);
	enum mem_by by = opts->by;

	json_object(j, NULL);
	if (by == MEM_BY_PROCESS || by == MEM_BY_CONTAINER || by == MEM_BY_THREAD)
		json_process(j, &key, by);
	else
		json_own(j, tables, key.own, by);
	json_sums(j, row);
	json_bool(j, "leaks", row->leaks);
	if (by == MEM_BY_STACK && rows->of_file)
		json_uint(j, "stack_id", row->id);
	if (by == MEM_BY_STACK)
		json_stack(j, tables, &key);
	json_object_end(j);
}

void mem_json_rows(struct json *j, const struct mem_options *opts, const struct mem_rows *rows)
{
	size_t i;

	json_uint(j, "row_count", rows->cnt);
	json_array(j, "rows");
	for (i = 0; i < rows->shown; i++)
		json_row(j, opts, rows, &rows->list[i]);
	json_array_end(j);
}

static void json_validity(struct json *j, const struct mem_trace *t)
{
	json_string(j, "path", t->path);
	json_bool(j, "valid", t->error.rule == MLYZE_VALID);
	if (t->error.rule == MLYZE_VALID)
		return;
	json_int(j, "rule", t->error.rule);
	json_string(j, "rule_name", mlyze_rule_name(t->error.rule));
	json_uint(j, "offset", t->error.off);
	json_string(j, "error", t->error.text);
}

static void json_totals(struct json *j, const struct mem_trace *t)
{
	const struct mlyze_stats *st = &t->stats;

	json_uint(j, "start_us", st->start_us);
	json_uint(j, "end_us", st->end_us);
	json_uint(j, "events", st->event_cnt);
	json_sums(j, &t->list.total);
	json_uint(j, "peak_us", st->peak_us);
	json_uint(j, "frees", st->free_cnt);
	json_uint(j, "freed_bytes", st->freed);
	json_uint(j, "frees_of_unknown_blocks", st->unmatched_frees);
	json_uint(j, "frees_not_recorded", st->lost_frees);
	json_uint(j, "collections", st->gc_cnt);
	json_uint(j, "collected_objects", st->gc_objects);
	json_uint(j, "collected_bytes", st->gc_bytes);
	json_uint(j, "markers", st->marker_cnt);
	json_uint(j, "intervals", t->list.intervals);
}

static void json_grown(struct json *j, const struct memory_grown *g)
{
	double explained = memory_explained(g);

	if (!g->known) {
		json_null(j, "resident_growth");
		return;
	}
	json_object(j, "resident_growth");
	json_double(j, "seconds", g->seconds);
	json_int(j, "bytes", g->resident);
	json_int(j, "held", g->held);
	json_double(j, "explained_pct", explained >= 0 ? explained : NAN);
	json_uint(j, "unchecked", g->unchecked);
	json_object_end(j);
}

static void json_notes(struct json *j, const struct mem_trace *t)
{
	const struct mlyze_notes *n = &t->notes;
	size_t i;

	if (!n->recorded) {
		json_null(j, "recorded");
		return;
	}
	json_object(j, "recorded");
	json_string(j, "mode", n->exact ? "exact" : "sampled");
	json_uint(j, "every_bytes", n->every_bytes);
	json_uint(j, "min_bytes", n->min_bytes);
	json_uint(j, "interval_us", n->interval_us);
	mem_json_bursts(j, &n->sampled);
	json_bool(j, "complete", n->ended);
	json_bool(j, "exited", n->exited);
	json_array(j, "collections_by_generation");
	for (i = 0; i < MLYZE_GENERATIONS; i++)
		json_uint(j, NULL, n->runs[i]);
	json_array_end(j);
	json_uint(j, "uncollectable_objects", n->uncollectable);
	json_uint(j, "collecting_us", n->collecting_us);
	json_object(j, "lost");
	for (i = 0; i < n->loss_cnt; i++)
		json_uint(j, n->losses[i].cause, n->losses[i].cnt);
	json_object_end(j);
	json_object_end(j);
}

void mem_json_file(struct json *j, const struct mem_options *opts, const struct mem_trace *t,
		   const struct mem_rows *rows)
{
	json_object(j, NULL);
	json_validity(j, t);
	if (rows) {
		json_uint_known(j, "pid", t->pid);
		json_string(j, "comm", t->comm);
		json_string(j, "container", t->container);
		json_totals(j, t);
		json_grown(j, &t->grown);
		json_notes(j, t);
		mem_types_json(j, &t->types, mlyze_start_us(t->file));
		mem_json_rows(j, opts, rows);
	}
	json_object_end(j);
}
