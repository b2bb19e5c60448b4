// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mem_json.c - tachbpf mem --json: a file and the rows. See mem_show.h. */
#include "commands/mem_show.h"

#include <math.h>

#include "analysis/memory_series.h"
#include "commands/mem_bursts.h"
#include "commands/mem_contents.h"
#include "commands/mem_types.h"
#include "commands/show.h"

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

/* Writes data that only files recorded by tachbpf have. */
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
