// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil_json.c - the results of tachbpf gil as JSON, and as an HTML page; docs/gil.md describes both.
 *
 * In the JSON, unknown values are null, never 0. The page has the data of the matrix: who waited
 * for whom, and at which lines both were.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/json.h"
#include "commands/gil_show.h"
#include "commands/show.h"
#include "formats/html/html_page.h"
#include "model/intern.h"
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

/* ---- rows ---- */

static void json_thread(struct json *j, const struct gil_section *s, uint32_t id)
{
	uint32_t cnt;
	const struct gil_thread *t = &gil_threads(s->gil, &cnt)[id];
	const struct gil_exact_thread *exact = gil_exact(s, t->thread_id);

	json_uint(j, "thread", t->thread_id);
	json_uint(j, "interpreter", t->interp_id);
	json_string(j, "name", gil_thread_name(s, t->thread_id));
	json_bool(j, "main", t->is_main);
	json_double(j, "observed_s", gil_seconds(s, t->samples));
	json_held(j, s, t->held);
	json_share(j, s, t->waited);
	json_exact(j, exact ? &exact->gil : NULL);
}

static void json_line(struct json *j, const struct gil_section *s, uint32_t id)
{
	uint32_t cnt;
	const struct gil_line *l = &gil_lines(s->gil, &cnt)[id];

	json_place(j, "at", s, l->place);
	json_share(j, s, l->waited);
	json_double(j, "blamed_s", gil_seconds(s, l->blamed));
	json_held(j, s, l->held);
}

static void json_pair(struct json *j, const struct gil_section *s, uint32_t id)
{
	uint32_t cnt;
	const struct gil_line *lines = gil_lines(s->gil, &cnt);
	struct gil_pair p = gil_pair(s->gil, id);

	if (p.holder == GIL_NO_LINE)
		json_null(j, "holder");
	else
		json_place(j, "holder", s, lines[p.holder].place);
	json_place(j, "waiter", s, lines[p.waiter].place);
	json_share(j, s, p.waited);
}

static void json_stack(struct json *j, const struct gil_section *s, uint32_t id)
{
	struct gil_stack stack = gil_stack(s->gil, id);
	uint32_t n;

	json_share(j, s, stack.waited);
	json_array(j, "frames");
	for (n = 0; n < stack.n; n++)
		json_place(j, NULL, s, stack.places[n]);
	json_array_end(j);
}

/* Writes the number of rows, and an array of those that are shown. */
static void json_rows(struct json *j, const struct gil_section *s, const struct gil_report *r,
		      const char *cnt_key, const char *key, struct gil_order order,
		      void (*row)(struct json *j, const struct gil_section *s, uint32_t id))
{
	uint32_t i;

	json_uint(j, cnt_key, order.cnt);
	json_array(j, key);
	for (i = 0; i < gil_shown(r, order.cnt); i++) {
		json_object(j, NULL);
		row(j, s, order.ids[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_all_rows(struct json *j, const struct gil_section *s, const struct gil_report *r)
{
	json_uint(j, "thread_count", gil_rows_thread_cnt(s->rows, s->number));
	json_rows(j, s, r, "thread_rows", "threads", gil_rows_threads(s->rows, s->number),
		  json_thread);
	json_rows(j, s, r, "line_rows", "lines", gil_rows_lines(s->rows, s->number), json_line);
	json_rows(j, s, r, "matrix_rows", "matrix", gil_rows_pairs(s->rows, s->number), json_pair);
	json_rows(j, s, r, "stack_rows", "stacks", gil_rows_stacks(s->rows, s->number), json_stack);
}

/* ---- a process ---- */

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
		json_all_rows(j, s, r);
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

/* ---- the page ---- */

#define DATA_VERSION 1
/* Limit for each process, longest waits first; about 10 bytes each. */
#define CELLS_MAX 20000

/* The cells of one process, the longest waits first. */
struct page_cells {
	struct gil_cell *list;
	uint32_t cnt;			/* those that are written */
	uint64_t left_out;		/* samples */
	uint32_t *number;		/* thread of the gil -> its number on the page */
};

struct page {
	const struct gil_report *r;
	const char *title;
	struct page_cells *cells;	/* by section */
	struct intern *places;		/* of all sections */
};

static int compare_cells(const void *a, const void *b)
{
	const struct gil_cell *x = a, *y = b;

	if (x->waited != y->waited)
		return x->waited > y->waited ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	return (x->waiter_line > y->waiter_line) - (x->waiter_line < y->waiter_line);
}

static int collect_cells(struct page_cells *c, const struct gil_section *s)
{
	const struct gil_cells *cells = gil_cells(s->gil);
	uint32_t all = gil_cells_cnt(cells), thread_cnt, i;
	const struct gil_thread *threads = gil_threads(s->gil, &thread_cnt);
	struct gil_order order = gil_rows_threads(s->rows, s->number);

	c->list = calloc((size_t)all + 1, sizeof(*c->list));
	c->number = calloc((size_t)thread_cnt + 1, sizeof(*c->number));
	if (!c->list || !c->number)
		return -ENOMEM;
	for (i = 0; i < order.cnt; i++)
		c->number[order.ids[i]] = i;
	for (i = 0; i < all; i++) {
		struct gil_cell cell = gil_cells_get(cells, i);

		if (threads[cell.waiter].process == s->number)
			c->list[c->cnt++] = cell;
	}
	qsort(c->list, c->cnt, sizeof(*c->list), compare_cells);
	c->left_out = s->process->cells_left_out;
	while (c->cnt > CELLS_MAX)
		c->left_out = add_capped(c->left_out, c->list[--c->cnt].waited);
	return 0;
}

/* ---- metadata ---- */

static int put_thread(struct json *j, const struct gil_section *s, const struct gil_thread *t)
{
	int err;

	json_object(j, NULL);
	json_uint(j, "thread", t->thread_id);
	json_uint(j, "interpreter", t->interp_id);
	err = html_json_text(j, "name", gil_thread_name(s, t->thread_id));
	json_bool(j, "main", t->is_main);
	json_uint(j, "held", t->held);
	json_uint(j, "waited", t->waited);
	json_object_end(j);
	return err;
}

static int put_threads(struct json *j, const struct gil_section *s)
{
	struct gil_order order = gil_rows_threads(s->rows, s->number);
	uint32_t i, cnt;
	const struct gil_thread *threads = gil_threads(s->gil, &cnt);
	int err = 0;

	json_array(j, "threads");
	for (i = 0; !err && i < order.cnt; i++)
		err = put_thread(j, s, &threads[order.ids[i]]);
	json_array_end(j);
	return err;
}

static int put_section(struct json *j, const struct gil_section *s, const struct page_cells *c)
{
	int err;

	json_object(j, NULL);
	json_uint(j, "pid", gil_tgid(s));
	err = html_json_text(j, "comm", gil_comm(s));
	json_string(j, "mode", profile_mode_name(s->meta->mode));
	json_string(j, "unit", profile_unit_name(s->meta->unit));
	json_uint(j, "interval_us", s->meta->interval_us);
	json_double(j, "duration_s", gil_observed_s(s));
	json_uint(j, "samples", s->process->samples);
	json_string(j, "reason", gil_reason(s));
	json_string(j, "holders_unknown", gil_no_holders(s));
	json_double(j, "utilisation_pct", gil_utilisation(s, s->process->held));
	json_uint(j, "held", s->process->held);
	json_uint(j, "waited", s->process->waited);
	json_uint(j, "left_out", c->left_out);
	json_uint(j, "thread_count", gil_rows_thread_cnt(s->rows, s->number));
	if (!err)
		err = put_threads(j, s);
	json_object_end(j);
	return err;
}

static int put_meta(struct json *j, const void *ctx)
{
	const struct page *p = ctx;
	size_t i;
	int err;

	json_uint(j, "version", DATA_VERSION);
	json_string(j, "generator", "tachbpf " TACHBPF_VERSION);
	err = html_json_text(j, "title", p->title);
	json_array(j, "processes");
	for (i = 0; !err && i < p->r->section_cnt; i++)
		err = put_section(j, &p->r->sections[i], &p->cells[i]);
	json_array_end(j);
	return err;
}

/* ---- places and cells ---- */

/* Replaces a line by the number of its place on the page. */
static int make_place(struct page *p, const struct gil_section *s, uint32_t *line)
{
	const struct profile_tables *t = gil_tables(s->gil);
	uint32_t cnt;
	const struct frame *f = &t->frames[gil_lines(s->gil, &cnt)[*line].place];
	struct frame own = *f;
	int err = intern_string(p->places, t->strings[f->file].data, t->strings[f->file].len,
				&own.file);

	if (!err)
		err = intern_string(p->places, t->strings[f->func].data, t->strings[f->func].len,
				    &own.func);
	return err ? err : intern_frame(p->places, &own, line);
}

static int make_places(struct page *p)
{
	size_t i;
	uint32_t k;
	int err = 0;

	for (i = 0; i < p->r->section_cnt; i++) {
		for (k = 0; !err && k < p->cells[i].cnt; k++) {
			struct gil_cell *c = &p->cells[i].list[k];

			err = make_place(p, &p->r->sections[i], &c->waiter_line);
			if (!err && c->holder_line != GIL_NO_LINE)
				err = make_place(p, &p->r->sections[i], &c->holder_line);
		}
	}
	return err;
}

static void put_places(struct html_data *d, const struct profile_tables *t)
{
	uint32_t i;

	html_strings(d, t);
	html_varint(d, t->frame_cnt);
	for (i = 0; i < t->frame_cnt; i++)
		html_varint(d, t->frames[i].file);
	for (i = 0; i < t->frame_cnt; i++)
		html_varint(d, t->frames[i].func);
	for (i = 0; i < t->frame_cnt; i++)
		html_varint(d, t->frames[i].line > 0 ? (uint32_t)t->frames[i].line : 0);
}

/* 0: no holder; otherwise its number + 1. */
static void put_cells(struct html_data *d, const struct page_cells *c)
{
	uint32_t i;

	html_varint(d, c->cnt);
	for (i = 0; i < c->cnt; i++)
		html_varint(d, c->list[i].holder_line == GIL_NO_LINE ?
				       0 : c->number[c->list[i].holder] + 1U);
	for (i = 0; i < c->cnt; i++)
		html_varint(d, c->list[i].holder_line == GIL_NO_LINE ?
				       0 : c->list[i].holder_line + 1U);
	for (i = 0; i < c->cnt; i++)
		html_varint(d, c->number[c->list[i].waiter]);
	for (i = 0; i < c->cnt; i++)
		html_varint(d, c->list[i].waiter_line);
	for (i = 0; i < c->cnt; i++)
		html_varint(d, c->list[i].waited);
}

static int put_page(int fd, struct page *p)
{
	struct html_data d = { 0 };
	size_t i;

	html_json(&d, put_meta, p);
	put_places(&d, intern_tables(p->places));
	for (i = 0; i < p->r->section_cnt; i++)
		put_cells(&d, &p->cells[i]);
	return html_write(fd, &html_gil, &d);
}

int gil_write_page(int fd, const struct gil_report *r, const char *title)
{
	struct page p = { .r = r, .title = title };
	size_t i;
	int err = 0;

	p.cells = calloc(r->section_cnt + 1, sizeof(*p.cells));
	p.places = intern_new();
	if (!p.cells || !p.places)
		err = -ENOMEM;
	for (i = 0; !err && i < r->section_cnt; i++)
		err = collect_cells(&p.cells[i], &r->sections[i]);
	if (!err)
		err = make_places(&p);
	if (!err)
		err = put_page(fd, &p);
	for (i = 0; p.cells && i < r->section_cnt; i++) {
		free(p.cells[i].list);
		free(p.cells[i].number);
	}
	free(p.cells);
	intern_free(p.places);
	return err;
}
