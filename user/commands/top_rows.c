// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_rows.c - the list of processes; filtering and sorting the rows of a view. See top_state.h. */
#include "commands/top_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"
#include "cpython/image.h"
#include "host/held_by.h"
#include "live/live_counts.h"
#include "model/event.h"
#include "resolve/process.h"

#define WIDE 100		/* width of a screen that has room for all columns */
#define WHERE_COLUMNS 18

/* ---- the list of processes ---- */

void top_rows_free(struct top_rows *r)
{
	size_t i;

	for (i = 0; i < r->cnt; i++)
		free(r->rows[i].text);
	free(r->rows);
	*r = (struct top_rows){ .rows = NULL };
}

char *top_process_text(const struct live_process *p, const struct live_sums *s, uint64_t ns,
		       int where_columns, const char *where, const char *hottest)
{
	char *comm = text_escape(process_comm(p->process), strlen(process_comm(p->process)));
	char *shown = text_escape(where, strlen(where)), *text;

	text = top_text("%8d  %-15.15s  %-*.*s  %-7.7s  %6.1f  %5.1f  %5.1f  %7" PRIu32
			"  %6" PRIu64 "  %s", process_tgid(p->process), comm ? comm : "?",
			where_columns, where_columns, shown ? shown : "?",
			process_image(p->process)->version, percent(s->cpu_ns, ns),
			percent(s->gil_ns, ns), percent(s->gc_ns, s->cpu_ns), p->threads, p->lost,
			hottest);
	free(comm);
	free(shown);
	return text;
}

void top_process_headings(char *out, size_t size, int where_columns, const char *where)
{
	snprintf(out, size, "%8s  %-15s  %-*s  %-7s  %6s  %5s  %5s  %7s  %6s  %s", "pid", "name",
		 where_columns, where, "python", "cpu %", "gil %", "gc %", "threads", "lost",
		 "hottest function");
}

static char *process_text(const struct live_process *p, const struct live_sums *s, uint64_t ns,
			  bool wide)
{
	char label[CONTAINER_LABEL_BYTES], held[HELD_BY_BYTES] = "";
	char *comm, *hottest = NULL, *text;

	top_where(p->process, label);
	comm = text_escape(process_comm(p->process), strlen(process_comm(p->process)));
	if (p->hottest)
		hottest = top_function(process_tables(p->process), p->hottest->file,
					p->hottest->func, LINE_NONE);
	else
		held_by_words(process_tgid(p->process), held);
	if (wide)
		text = top_process_text(p, s, ns, WHERE_COLUMNS, label, hottest ? hottest : held);
	else
		text = top_text("%8d  %-12.12s  %6.1f  %5.1f  %s", process_tgid(p->process),
			       comm ? comm : "?", percent(s->cpu_ns, ns), percent(s->gil_ns, ns),
			       hottest ? hottest : held);
	free(comm);
	free(hottest);
	return text;
}

static void title_of_host(struct top_ui *ui, const struct live_process *list, size_t cnt,
			  uint64_t span_ns)
{
	struct top_rows *r = &ui->rows;
	struct live_total total;
	uint64_t cpu_ns = 0;
	char what[96];
	size_t i;

	live_total(ui->session->live, &total);
	for (i = 0; i < cnt; i++)
		cpu_ns += ui->choice->since_start ? list[i].all.cpu_ns : list[i].recent.cpu_ns;
	top_say_what(ui, span_ns, what, sizeof(what));
	snprintf(r->title, sizeof(r->title), "%zu %s  %.1f %% CPU  %" PRIu64 " lost  %s", cnt,
		 text_plural(cnt, "Python process", "Python processes"),
		 percent(cpu_ns, span_ns), total.lost, what);
}

static int make_processes(struct top_ui *ui, size_t columns)
{
	uint64_t span_ns = top_span(ui, now_ns());
	struct top_rows *r = &ui->rows;
	struct live_process *list;
	size_t cnt, i;

	list = live_list(ui->session->live, &cnt);
	r->rows = list ? calloc(cnt + 1, sizeof(*r->rows)) : NULL;
	for (i = 0; r->rows && i < cnt; i++) {
		const struct live_process *p = &list[i];
		const struct live_sums *s = ui->choice->since_start ? &p->all : &p->recent;

		r->rows[i] = (struct top_row){
			.text = process_text(p, s, span_ns, columns >= WIDE),
			.id = process_tgid(p->process),
			.values = { s->cpu_ns, s->gil_ns,
				    s->cpu_ns ? (double)s->gc_ns / s->cpu_ns : 0,
				    p->threads, p->lost, -process_tgid(p->process) },
		};
		r->cnt++;
	}
	if (r->rows)
		title_of_host(ui, list, cnt, span_ns);
	if (columns >= WIDE)
		top_process_headings(r->columns, sizeof(r->columns), WHERE_COLUMNS,
				     "container or user");
	else
		snprintf(r->columns, sizeof(r->columns), "%8s  %-12s  %6s  %5s  %s", "pid", "name",
			 "cpu %", "gil %", "hottest function");
	live_begin_window(ui->session->live);
	free(list);
	return r->rows ? 0 : -ENOMEM;
}

int top_rows_make(struct top_ui *ui, size_t columns)
{
	top_rows_free(&ui->rows);
	return ui->choice->view == VIEW_PROCESSES ?
	       make_processes(ui, columns) : top_views_make(ui);
}

/* ---- filtering and sorting ---- */

const char *const *top_sort_names(enum top_view view, unsigned int *cnt)
{
	static const char *const processes[] = { "cpu", "gil", "gc", "threads", "lost", "pid" };
	static const char *const functions[] = { "self", "total" };
	static const char *const threads[] = { "cpu", "gil", "wants the GIL", "off-CPU" };
	static const char *const gil[] = { "waits", "holds" };
	static const struct {
		const char *const *names;
		unsigned int cnt;
	} all[VIEW_CNT] = {
		[VIEW_PROCESSES] = { processes, ARRAY_SIZE(processes) },
		[VIEW_FUNCTIONS] = { functions, ARRAY_SIZE(functions) },
		[VIEW_THREADS] = { threads, ARRAY_SIZE(threads) },
		[VIEW_GIL] = { gil, ARRAY_SIZE(gil) },
	};

	*cnt = all[view].cnt;
	return all[view].names;
}

struct order {
	const struct top_row *rows;
	unsigned int value;
	bool sorted;
};

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	double x = o->rows[i].values[o->value], y = o->rows[j].values[o->value];

	if (o->sorted && x != y)
		return x < y ? 1 : -1;
	return i < j ? -1 : i > j;
}

/* Finds the selected row, if it still exists. */
static void find_cursor(struct top_ui *ui, bool had, uint64_t id)
{
	size_t i;

	for (i = 0; had && i < ui->shown_cnt; i++)
		if (ui->rows.rows[ui->shown[i]].id == id)
			ui->cursor = i;
	if (ui->cursor >= ui->shown_cnt)
		ui->cursor = ui->shown_cnt ? ui->shown_cnt - 1 : 0;
}

int top_rows_choose(struct top_ui *ui)
{
	const struct top_choice *c = ui->choice;
	struct order order = { .rows = ui->rows.rows, .value = c->sort[c->view] };
	size_t *shown = calloc(ui->rows.cnt + 1, sizeof(*shown)), i;
	unsigned int names;

	if (!shown)
		return -ENOMEM;
	top_sort_names(c->view, &names);
	order.sorted = names;
	free(ui->shown);
	ui->shown = shown;
	ui->shown_cnt = 0;
	for (i = 0; i < ui->rows.cnt; i++)
		if (!*c->filter || (ui->rows.rows[i].text &&
				    strstr(ui->rows.rows[i].text, c->filter)))
			shown[ui->shown_cnt++] = i;
	qsort_r(shown, ui->shown_cnt, sizeof(*shown), compare_rows, &order);
	find_cursor(ui, ui->follows, ui->chosen);
	ui->follows = ui->cursor;
	if (ui->shown_cnt)
		ui->chosen = ui->rows.rows[shown[ui->cursor]].id;
	return 0;
}
