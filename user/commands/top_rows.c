// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_rows.c - the rows of the list of processes. See top_state.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "commands/top_session.h"
#include "commands/top_state.h"
#include "commands/top_text.h"
#include "commands/top_views.h"
#include "cpython/image.h"
#include "host/held_by.h"
#include "live/live_counts.h"
#include "resolve/process.h"

#define WIDE 100		/* columns of a screen that has room for all */

void top_rows_free(struct top_rows *r)
{
	size_t i;

	for (i = 0; i < r->cnt; i++)
		free(r->rows[i].text);
	free(r->rows);
	*r = (struct top_rows){ .rows = NULL };
}

static char *process_text(const struct live_process *p, const struct live_sums *s, uint64_t ns,
			  bool wide)
{
	char label[CONTAINER_LABEL_BYTES], held[HELD_BY_BYTES] = "";
	char *where, *comm, *hottest = NULL, *text;

	top_where(p->process, label);
	where = text_escape(label, strlen(label));
	comm = text_escape(process_comm(p->process), strlen(process_comm(p->process)));
	if (p->hottest)
		hottest = top_function(process_tables(p->process), p->hottest->file,
					p->hottest->func, LINE_NONE);
	else
		held_by_words(process_tgid(p->process), held);
	if (wide)
		text = top_text("%8d  %-15.15s  %-18.18s  %-7.7s  %6.1f  %5.1f  %5.1f  %7" PRIu32
			       "  %6" PRIu64 "  %s", process_tgid(p->process), comm ? comm : "?",
			       where ? where : "?", process_image(p->process)->version,
			       top_percent(s->cpu_ns, ns), top_percent(s->gil_ns, ns),
			       top_percent(s->gc_ns, s->cpu_ns), p->threads, p->lost,
			       hottest ? hottest : held);
	else
		text = top_text("%8d  %-12.12s  %6.1f  %5.1f  %s", process_tgid(p->process),
			       comm ? comm : "?", top_percent(s->cpu_ns, ns), top_percent(s->gil_ns, ns),
			       hottest ? hottest : held);
	free(where);
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
		 top_percent(cpu_ns, span_ns), total.lost, what);
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
			.values = { s->cpu_ns, s->gil_ns, s->cpu_ns ? (double)s->gc_ns / s->cpu_ns : 0,
				    p->threads, p->lost, -process_tgid(p->process) },
		};
		r->cnt++;
	}
	if (r->rows)
		title_of_host(ui, list, cnt, span_ns);
	if (columns >= WIDE)
		snprintf(r->columns, sizeof(r->columns), "%8s  %-15s  %-18s  %-7s  %6s  %5s  %5s  %7s  %6s  %s",
			 "pid", "name", "container or user", "python", "cpu %", "gil %", "gc %",
			 "threads", "lost", "hottest function");
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
	return ui->choice->view == VIEW_PROCESSES ? make_processes(ui, columns) : top_views_make(ui);
}
