// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil_json.c - the results of tachbpf gil as JSON; docs/gil.md describes it.
 *
 * What is not known is null, never 0.
 */
#include <math.h>

#include "base/arith.h"
#include "base/json.h"
#include "commands/gil_show.h"
#include "commands/show.h"
#include "model/profile_names.h"

static void json_place(struct json *j, const char *key, const struct gil_section *s, uint32_t place)
{
	show_json_frame(j, key, gil_tables(s->gil), place);
}

static void json_exact(struct json *j, const struct session_gil *exact)
{
	if (!exact || !exact->known) {
		json_null(j, "exact");
		return;
	}
	json_object(j, "exact");
	json_double(j, "wait_s", exact->wait_ns / 1e9);
	json_uint(j, "waits", exact->waits);
	json_double(j, "longest_wait_s", exact->longest_wait_ns / 1e9);
	json_object_end(j);
}

static void json_share(struct json *j, const struct gil_section *s, uint64_t waited)
{
	json_double(j, "wait_s", gil_seconds(s, waited));
	json_double(j, "wait_pct", percent(waited, s->process->waited));
}

static void json_held(struct json *j, const struct gil_section *s, uint64_t held)
{
	json_double(j, "held_s", gil_holders_known(s->process) ? gil_seconds(s, held) : NAN);
}

static void json_utilisation(struct json *j, const struct gil_section *s, uint64_t held)
{
	json_held(j, s, held);
	json_double(j, "utilisation_pct",
		    gil_holders_known(s->process) ? gil_utilisation(s, held) : NAN);
}

static void json_threads(struct json *j, const struct gil_section *s, const struct gil_report *r)
{
	struct gil_order order = gil_rows_threads(s->rows, s->number);
	uint32_t i, cnt;
	const struct gil_thread *threads = gil_threads(s->gil, &cnt);

	json_uint(j, "thread_count", gil_rows_thread_cnt(s->rows, s->number));
	json_uint(j, "thread_rows", order.cnt);
	json_array(j, "threads");
	for (i = 0; i < gil_shown(r, order.cnt); i++) {
		const struct gil_thread *t = &threads[order.ids[i]];
		const struct gil_exact_thread *exact = gil_exact(s, t->thread_id);

		json_object(j, NULL);
		json_uint(j, "thread", t->thread_id);
		json_uint(j, "interpreter", t->interp_id);
		json_string(j, "name", gil_thread_name(s, t->thread_id));
		json_bool(j, "main", t->is_main);
		json_double(j, "observed_s", gil_seconds(s, t->samples));
		json_held(j, s, t->held);
		json_share(j, s, t->waited);
		json_exact(j, exact ? &exact->gil : NULL);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_lines(struct json *j, const struct gil_section *s, const struct gil_report *r)
{
	struct gil_order order = gil_rows_lines(s->rows, s->number);
	uint32_t i, cnt;
	const struct gil_line *lines = gil_lines(s->gil, &cnt);

	json_uint(j, "line_rows", order.cnt);
	json_array(j, "lines");
	for (i = 0; i < gil_shown(r, order.cnt); i++) {
		const struct gil_line *l = &lines[order.ids[i]];

		json_object(j, NULL);
		json_place(j, "at", s, l->place);
		json_share(j, s, l->waited);
		json_double(j, "blamed_s", gil_seconds(s, l->blamed));
		json_held(j, s, l->held);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_matrix(struct json *j, const struct gil_section *s, const struct gil_report *r)
{
	struct gil_order order = gil_rows_pairs(s->rows, s->number);
	uint32_t i, cnt;
	const struct gil_line *lines = gil_lines(s->gil, &cnt);

	json_uint(j, "matrix_rows", order.cnt);
	json_array(j, "matrix");
	for (i = 0; i < gil_shown(r, order.cnt); i++) {
		struct gil_pair p = gil_pair(s->gil, order.ids[i]);

		json_object(j, NULL);
		if (p.holder == GIL_NO_LINE)
			json_null(j, "holder");
		else
			json_place(j, "holder", s, lines[p.holder].place);
		json_place(j, "waiter", s, lines[p.waiter].place);
		json_share(j, s, p.waited);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_stacks(struct json *j, const struct gil_section *s, const struct gil_report *r)
{
	struct gil_order order = gil_rows_stacks(s->rows, s->number);
	uint32_t i, n;

	json_uint(j, "stack_rows", order.cnt);
	json_array(j, "stacks");
	for (i = 0; i < gil_shown(r, order.cnt); i++) {
		struct gil_stack stack = gil_stack(s->gil, order.ids[i]);

		json_object(j, NULL);
		json_share(j, s, stack.waited);
		json_array(j, "frames");
		for (n = 0; n < stack.n; n++)
			json_place(j, NULL, s, stack.places[n]);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_left_out(struct json *j, const struct gil_section *s)
{
	json_object(j, "left_out");
	json_double(j, "held_s", gil_seconds(s, s->process->holds_left_out));
	json_double(j, "stacks_s", gil_seconds(s, s->process->stacks_left_out));
	json_double(j, "matrix_s", gil_seconds(s, s->process->pairs_left_out));
	json_object_end(j);
}

static void json_interps(struct json *j, const struct gil_section *s)
{
	uint32_t cnt, i;
	const struct gil_interp *interps = gil_rows_interps(s->rows, s->number, &cnt);

	json_array(j, "interpreters");
	for (i = 0; i < cnt; i++) {
		json_object(j, NULL);
		json_uint(j, "interpreter", interps[i].interp_id);
		json_utilisation(j, s, interps[i].held);
		json_share(j, s, interps[i].waited);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_section(struct json *j, const struct gil_section *s, const struct gil_report *r)
{
	const char *reason = gil_reason(s);

	json_object(j, NULL);
	json_string(j, "path", s->file->path);
	json_uint_known(j, "pid", gil_tgid(s));
	json_string(j, "comm", gil_comm(s));
	json_string(j, "command", s->file->process.command);
	json_string(j, "mode", profile_mode_name(s->meta->mode));
	json_uint(j, "interval_us", s->meta->interval_us);
	json_uint(j, "samples", s->process->samples);
	json_double(j, "observed_s", gil_observed_s(s));
	json_bool(j, "known", !reason);
	json_string(j, "reason", reason);
	if (!reason) {
		json_string(j, "holders_unknown", gil_no_holders(s));
		json_utilisation(j, s, s->process->held);
		json_double(j, "wait_s", gil_seconds(s, s->process->waited));
		json_exact(j, &s->exact);
		json_interps(j, s);
		json_threads(j, s, r);
		json_lines(j, s, r);
		json_matrix(j, s, r);
		json_stacks(j, s, r);
		json_left_out(j, s);
	}
	json_object_end(j);
}

void gil_print_json(const struct gil_report *r, const struct profile_set *set)
{
	struct json j;
	size_t i;

	json_start(&j, stdout, true);
	json_object(&j, NULL);
	json_array(&j, "paths");
	for (i = 0; i < set->file_cnt; i++)
		json_string(&j, NULL, set->files[i].path);
	json_array_end(&j);
	json_array(&j, "processes");
	for (i = 0; i < r->section_cnt; i++)
		json_section(&j, &r->sections[i], r);
	json_array_end(&j);
	json_object_end(&j);
}
