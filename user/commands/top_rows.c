// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_rows.c - the list of processes; filtering and sorting the rows of a view. See top_state.h. */
#include "commands/top_state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/top_table.h"
#include "cpython/image.h"
#include "host/held_by.h"
#include "live/live_counts.h"
#include "model/event.h"
#include "resolve/process.h"

/* ---- the list of processes ---- */

void top_rows_free(struct top_rows *r)
{
	size_t i;

	for (i = 0; i < r->cnt; i++) {
		free(r->rows[i].text);
		free(r->rows[i].match);
	}
	free(r->rows);
	*r = (struct top_rows){ .rows = NULL };
}

/*
 * Returns "app.py:7 handle, 43 %": the line, its function, its share of the process' time. Without
 * CPU time: what keeps the process from running, if anything does.
 */
static char *hottest_text(const struct live_process *p, const struct live_hot_line *hot)
{
	const struct profile_tables *t = process_tables(p->process);
	char held[HELD_BY_BYTES], *line, *text;

	if (!hot->line) {
		held_by_words(process_tgid(p->process), held);
		return strdup(held);
	}
	line = top_line(t, hot->line->file, hot->line->func, hot->line->line);
	text = top_text("%s, %.0f %%", line ? line : "?", percent(hot->self_ns, hot->cpu_ns));
	free(line);
	return text;
}

struct top_facts top_facts_of(struct top_session *s, const struct process *p, bool since_start)
{
	struct top_facts facts = { .label = top_label(s->labels, p) };

	top_memory_of(s->memory, p, since_start, &facts);
	top_loops_lag(s, p, facts.lag);
	return facts;
}

/* "+2.5M"; "-": it cannot be told. */
static char *growth_text(const struct memory_growth *g)
{
	double bytes = g->bytes_per_min;
	char text[16];

	if (!g->steady)
		return strdup("-");
	return top_text("%c%s", bytes < 0 ? '-' : '+', top_bytes(fabs(bytes), text));
}

void top_values_make(const struct live_process *p, const struct live_sums *s,
		     const struct top_facts *facts, double values[TOP_SORTS])
{
	values[TOP_SORT_CPU] = s->cpu_ns;
	values[TOP_SORT_GIL] = s->gil_ns;
	values[TOP_SORT_GC] = s->gc_ns;
	values[TOP_SORT_RSS] = facts->rss;
	values[TOP_SORT_GROWTH] = facts->growth.bytes_per_min;
	values[TOP_SORT_THREADS] = p->threads;
	values[TOP_SORT_LOST] = p->lost;
	values[TOP_SORT_PID] = -process_tgid(p->process);
}

void top_cells_make(const struct live_process *p, const struct live_sums *s,
		    const struct live_hot_line *hot, const struct top_span *span,
		    const struct top_facts *facts, struct top_cells *out)
{
	char where[CONTAINER_LABEL_BYTES], bytes[16];

	out->placed = top_where(p->process, where);
	out->text[TOP_PID] = top_text("%d", process_tgid(p->process));
	out->text[TOP_CPU] = top_text("%.1f", top_percent(s->cpu_ns, span->ns, span->rate_hz));
	out->text[TOP_GIL] = top_text("%.1f", top_percent(s->gil_ns, span->ns, span->rate_hz));
	out->text[TOP_GC] = top_text("%.1f", top_percent(s->gc_ns, span->ns, span->rate_hz));
	out->text[TOP_THREADS] = top_text("%" PRIu32, p->threads);
	out->text[TOP_LOST] = top_text("%" PRIu64, p->lost);
	out->text[TOP_PYTHON] = top_text("%s", process_image(p->process)->version);
	out->text[TOP_RSS] = strdup(facts->rss ? top_bytes(facts->rss, bytes) : "-");
	out->text[TOP_GROWTH] = growth_text(&facts->growth);
	out->text[TOP_LAG] = strdup(facts->lag);
	out->text[TOP_PROGRAM] = top_text("%s", facts->label);
	out->text[TOP_WHERE] = text_escape(where, strlen(where));
	out->text[TOP_HOTTEST] = hottest_text(p, hot);
}

static void title_of_host(struct top_ui *ui, const struct live_process *list, size_t cnt,
			  uint64_t span_ns, size_t columns)
{
	struct top_rows *r = &ui->rows;
	struct live_total total;
	char processes[48], cpu[32], lost[32], mode[32], last[48], rate[16];
	const struct top_part parts[] = {
		{ "", processes, 0 }, { "  ", cpu, 1 }, { "  ", lost, 2 }, { "  ", mode, 3 },
		{ ", ", rate, 5 }, { ", ", last, 4 },
	};
	uint64_t cpu_ns = 0;
	size_t i;

	live_total(ui->session->live, &total);
	for (i = 0; i < cnt; i++)
		cpu_ns += ui->choice->since_start ? list[i].all.cpu_ns : list[i].recent.cpu_ns;
	snprintf(processes, sizeof(processes), "%zu %s", cnt,
		 text_plural(cnt, "Python process", "Python processes"));
	snprintf(cpu, sizeof(cpu), "%.1f %% CPU", percent(cpu_ns, span_ns));
	snprintf(lost, sizeof(lost), "%" PRIu64 " lost", total.lost);
	top_say_what(ui, span_ns, mode, rate, last);
	top_fit(r->title, sizeof(r->title), columns, parts, ARRAY_SIZE(parts));
}

/* Makes the texts of rows from those of their cells. 0 or -ENOMEM. */
static int fit_rows(struct top_rows *r, const struct top_cells *cells, size_t cnt, size_t columns,
		    enum top_sort sort)
{
	struct top_layout screen, all;
	char *headings;
	size_t i;

	top_layout_make(&screen, cells, cnt, columns, sort);
	top_layout_make(&all, cells, cnt, 0, sort);
	for (i = 0; i < cnt; i++) {
		r->rows[i].text = top_layout_line(&screen, &cells[i]);
		r->rows[i].match = top_layout_line(&all, &cells[i]);
	}
	headings = top_layout_line(&screen, NULL);
	snprintf(r->columns, sizeof(r->columns), "%s", headings ? headings : "");
	free(headings);
	return headings ? 0 : -ENOMEM;
}

static int fill_rows(struct top_ui *ui, const struct live_process *list, size_t cnt,
		     const struct top_span *span, size_t columns)
{
	struct top_cells *cells = calloc(cnt + 1, sizeof(*cells));
	struct top_rows *r = &ui->rows;
	size_t i;
	int err;

	if (!cells)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		const struct live_process *p = &list[i];
		const struct live_sums *s = ui->choice->since_start ? &p->all : &p->recent;
		const struct top_facts facts = top_facts_of(ui->session, p->process,
							    ui->choice->since_start);

		r->rows[i] = (struct top_row){ .id = process_tgid(p->process) };
		top_values_make(p, s, &facts, r->rows[i].values);
		top_cells_make(p, s, &p->recent_hot, span, &facts, &cells[i]);
	}
	r->cnt = cnt;
	err = fit_rows(r, cells, cnt, columns, ui->choice->sort[VIEW_PROCESSES]);
	for (i = 0; i < cnt; i++)
		top_cells_free(&cells[i]);
	free(cells);
	return err;
}

/* Windows are so long that a line stays for a while, and overlap: live_process.recent_hot. */
static void next_window(struct top_ui *ui, uint64_t now)
{
	if (now - ui->window_ns < LIVE_RECENT_S * 1000000000ull / 2)
		return;
	ui->window_ns = now;
	live_begin_window(ui->session->live);
}

static int make_processes(struct top_ui *ui, size_t columns)
{
	uint64_t now = now_ns();
	const struct top_span span = { .ns = top_span(ui, now),
				       .rate_hz = capture_rate(ui->session->capture) };
	struct live_process *list;
	size_t cnt;
	int err;

	list = live_list(ui->session->live, &cnt);
	ui->rows.rows = list ? calloc(cnt + 1, sizeof(*ui->rows.rows)) : NULL;
	err = ui->rows.rows ? fill_rows(ui, list, cnt, &span, columns) : -ENOMEM;
	if (!err)
		title_of_host(ui, list, cnt, span.ns, columns);
	next_window(ui, now);
	free(list);
	return err;
}

int top_rows_make(struct top_ui *ui, size_t columns)
{
	top_rows_free(&ui->rows);
	return ui->choice->view == VIEW_PROCESSES ?
	       make_processes(ui, columns) : top_views_make(ui, columns);
}

/* ---- filtering and sorting ---- */

const char *const *top_sort_names(enum top_view view, unsigned int *cnt)
{
	static const char *const processes[TOP_SORTS] = {
		"cpu", "gil", "gc", "rss", "rss growth", "threads", "lost", "pid",
	};
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

/* What is cut on the screen counts, too. */
static bool passes_filter(const struct top_row *row, const char *filter)
{
	const char *text = row->match ? row->match : row->text;

	return text && strstr(text, filter);
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
		if (!*c->filter || passes_filter(&ui->rows.rows[i], c->filter))
			shown[ui->shown_cnt++] = i;
	qsort_r(shown, ui->shown_cnt, sizeof(*shown), compare_rows, &order);
	find_cursor(ui, ui->follows, ui->chosen);
	ui->follows = ui->cursor;
	if (ui->shown_cnt)
		ui->chosen = ui->rows.rows[shown[ui->cursor]].id;
	return 0;
}
