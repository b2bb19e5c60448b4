// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_views.c - the views of one process; text of all rows and titles. See top_state.h. */
#include "commands/top_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/top_table.h"
#include "cpython/image.h"
#include "host/containers.h"
#include "host/identity.h"
#include "host/users.h"
#include "live/live_counts.h"
#include "live/live_rows.h"
#include "model/event.h"
#include "model/thread_names.h"
#include "resolve/process.h"
#include "telemetry/command_label.h"

/* ---- text of rows and titles ---- */

char *top_text(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

/*
 * Returns the name of a user, valid until the next call. The last ones are cached: each is read
 * from a file.
 */
static const char *user_text(uint32_t uid)
{
	static struct {
		uint32_t uid;
		char name[48];	/* "": free */
	} known[16];
	const struct passwd *user;
	size_t i = uid % ARRAY_SIZE(known);

	if (*known[i].name && known[i].uid == uid)
		return known[i].name;
	user = user_by_uid(uid);
	known[i].uid = uid;
	if (user && *user->pw_name)
		snprintf(known[i].name, sizeof(known[i].name), "%s", user->pw_name);
	else
		snprintf(known[i].name, sizeof(known[i].name), "uid %" PRIu32, uid);
	return known[i].name;
}

bool top_where(const struct process *p, char out[CONTAINER_LABEL_BYTES])
{
	const struct identity *id = process_identity(p);

	if (id->container && container_is(id->container)) {
		container_label(id->container, out);
		return true;
	}
	if (id->container && *id->container->unit) {
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", id->container->unit);
		return true;
	}
	if (id->uid == IDENTITY_NO_UID)
		strcpy(out, "-");
	else
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", user_text(id->uid));
	return false;
}

/* Returns "app.py:7", or without a line "app.py"; NULL: no memory, or there is no file. */
static char *place_text(const struct profile_tables *t, uint32_t file, int32_t line)
{
	const struct string_ref *f = &t->strings[file];
	char *path = text_escape(f->data, f->len), *text = NULL;
	const char *base = path ? strrchr(path, '/') : NULL;

	base = base ? base + 1 : path;
	if (base && line > 0)
		text = top_text("%s:%" PRId32, base, line);
	else if (base && strcmp(base, SYNTHETIC_FILE) != 0)
		text = top_text("%s", base);
	free(path);
	return text;
}

/* Returns "handle (app.py:7)", or without a line "handle (app.py)"; else as top_line(). */
static char *function_text(const struct profile_tables *t, uint32_t file, uint32_t func,
			   int32_t line)
{
	char *name = text_escape(t->strings[func].data, t->strings[func].len);
	char *place = place_text(t, file, line), *text = NULL;

	if (name)
		text = place ? top_text("%s (%s)", name, place) : top_text("%s", name);
	free(name);
	free(place);
	return text;
}

char *top_line(const struct profile_tables *t, uint32_t file, uint32_t func, int32_t line)
{
	char *name = text_escape(t->strings[func].data, t->strings[func].len);
	char *place = place_text(t, file, line), *text = NULL;

	if (name)
		text = place ? top_text("%s %s", place, name) : top_text("%s", name);
	free(name);
	free(place);
	return text;
}

uint64_t top_span(const struct top_ui *ui, uint64_t now)
{
	if (ui->choice->since_start)
		return now - ui->session->start_ns;
	return live_recent_ns(ui->session->live, now);
}

void top_say_what(const struct top_ui *ui, uint64_t span_ns, char mode[32], char rate[16],
		  char last[48])
{
	snprintf(mode, 32, "%s mode", record_modes[ui->choice->mode].name);
	snprintf(rate, 16, "%" PRIu32 " Hz", capture_rate(ui->session->capture));
	snprintf(last, 48, "%s %.0f s", ui->choice->since_start ? "since the start:" : "last",
		 span_ns / 1e9);
}

/* ---- views ---- */

#define WHO_COLUMNS 28		/* of a title, for the program */
#define TREE_MIN 200		/* calls below 1/200 of the time are not in the tree */
#define TREE_INDENT 40		/* deeper calls are not indented further */

/* The data of a view of one process. */
struct seen {
	struct live_weights w;
	uint64_t *recent;	/* to be freed */
	uint64_t *all;		/* to be freed */
	uint64_t span_ns;	/* the time that it covers */
	const struct process *process;
	bool waits;		/* the mode samples waits */
};

static const struct live_process *find_process(const struct live_process *list, size_t cnt,
					       pid_t tgid)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (process_tgid(list[i].process) == tgid)
			return &list[i];
	return NULL;
}

static void title_of_process(struct top_ui *ui, const struct live_process *p, size_t columns)
{
	const struct live_sums *s = ui->choice->since_start ? &p->all : &p->recent;
	uint64_t ns = top_span(ui, now_ns());
	uint32_t hz = capture_rate(ui->session->capture);
	char where[CONTAINER_LABEL_BYTES], name[COMMAND_LABEL_BYTES], who[16], place[96];
	char cpu[24], gil[24], gc[24], lost[32], mode[32], rate[16], last[48];
	const struct top_part parts[] = {
		{ "", name, 0 }, { " ", who, 0 }, { " ", place, 6 }, { "  ", cpu, 1 },
		{ "  ", gil, 2 }, { "  ", gc, 8 }, { "  ", lost, 7 }, { "  ", mode, 3 },
		{ ", ", rate, 5 }, { ", ", last, 4 },
	};
	char *shown;

	top_where(p->process, where);
	shown = text_escape(where, strlen(where));
	snprintf(name, sizeof(name), "%s", top_label(ui->session->labels, p->process));
	text_shorten(name, sizeof(name), columns < 2 * WHO_COLUMNS ? columns / 2 :
		     columns < 3 * WHO_COLUMNS ? WHO_COLUMNS : columns / 3);
	snprintf(who, sizeof(who), "%d", process_tgid(p->process));
	snprintf(place, sizeof(place), "(%.40s, %s)", shown ? shown : "?",
		 process_image(p->process)->version);
	snprintf(cpu, sizeof(cpu), "%.1f %% CPU", top_percent(s->cpu_ns, ns, hz));
	snprintf(gil, sizeof(gil), "GIL %.1f %%", top_percent(s->gil_ns, ns, hz));
	snprintf(gc, sizeof(gc), "GC %.1f %%", top_percent(s->gc_ns, ns, hz));
	snprintf(lost, sizeof(lost), "%" PRIu64 " lost", p->lost);
	top_say_what(ui, ns, mode, rate, last);
	top_fit(ui->rows.title, sizeof(ui->rows.title), columns, parts, ARRAY_SIZE(parts));
	free(shown);
}

/* Gets the selected process' stacks and their weights. Returns false if none, or no memory. */
static bool get_seen(struct top_ui *ui, const struct live_process *p, struct seen *out)
{
	uint64_t now = now_ns(), beyond;
	const struct stack_tree *stacks = live_stacks(ui->session->live, ui->choice->entered,
						      &beyond);
	struct stack_tree_view v;
	uint32_t i;

	if (!stacks)
		return false;
	v = stack_tree_view(stacks);
	*out = (struct seen){ .w.v = v, .process = p->process,
			      .waits = record_modes[ui->choice->mode].waits };
	if (ui->choice->since_start) {
		out->all = calloc(v.share_cnt + 1, sizeof(*out->all));
		for (i = 0; out->all && i < v.share_cnt; i++)
			out->all[i] = v.shares[i].weight;
		out->w.weights = out->all;
		out->span_ns = now - ui->session->start_ns;
	} else {
		if (!ui->recent->begun_ns)
			live_recent_second(ui->recent, &v, now);
		out->recent = live_recent_weights(ui->recent, &v);
		out->w.weights = out->recent;
		out->span_ns = live_recent_span(ui->recent, now);
	}
	return out->w.weights;
}

static void free_seen(struct seen *s)
{
	free(s->recent);
	free(s->all);
}

static uint64_t function_id(const struct live_row *row)
{
	return (uint64_t)row->file << 32 | row->func;
}

/* function: printable; unused for threads. */
static char *row_of_functions(const struct seen *s, const struct live_rows *l,
			      const struct live_row *row, const char *function)
{
	return top_text("%6.1f  %6.1f  %s", percent(row->self, l->total),
			percent(row->total, l->total), function);
}

/* Returns a share of one thread's time, or nothing if that was not sampled. */
static char *share_text(uint64_t ns, uint64_t span_ns, bool sampled, char out[16])
{
	double share = percent(ns, span_ns);

	snprintf(out, 16, sampled ? "%.1f" : "-", share < 100 ? share : 100);
	return out;
}

static char *row_of_threads(const struct seen *s, const struct live_rows *l,
			    const struct live_row *row, const char *function)
{
	char label[THREAD_LABEL_BYTES], cpu[16], gil[16], wants[16], off[16];

	thread_label(process_thread_names(s->process), row->thread_id, "thread ", label);
	return top_text("%6s  %6s  %6s  %6s  %s", share_text(row->cpu, s->span_ns, true, cpu),
			share_text(row->holds, s->span_ns, true, gil),
			share_text(row->wants, s->span_ns, s->waits, wants),
			share_text(row->total - row->cpu, s->span_ns, s->waits, off), label);
}

static char *row_of_callers(const struct seen *s, const struct live_rows *l,
			    const struct live_row *row, const char *function)
{
	static const char *const kinds[] = { "called by", "", "calls" };

	return top_text("%6.1f  %-9s  %s", percent(row->total, l->total), kinds[row->depth],
			function);
}

static char *row_of_tree(const struct seen *s, const struct live_rows *l,
			 const struct live_row *row, const char *function)
{
	int indent = row->depth < TREE_INDENT ? (int)row->depth : TREE_INDENT;

	return top_text("%6.1f  %6.1f  %*s%s", percent(row->total, l->total),
			percent(row->self, l->total), indent, "", function);
}

static char *row_of_gil(const struct seen *s, const struct live_rows *l,
			const struct live_row *row, const char *function)
{
	return top_text("%6.1f  %6.1f  %s", percent(row->wants, l->total),
			percent(row->holds, l->total), function);
}

static const struct {
	char *(*text)(const struct seen *s, const struct live_rows *l, const struct live_row *row,
		      const char *function);
	const char *columns;
	bool lines;		/* functions with their lines, if the row has one */
} views[VIEW_CNT] = {
	[VIEW_FUNCTIONS] = { row_of_functions, "self %  total %  function (hottest line)", true },
	[VIEW_THREADS] = { row_of_threads, " cpu %   gil %  wants   off %  thread" },
	[VIEW_CALLERS] = { row_of_callers, "     %             function" },
	[VIEW_TREE] = { row_of_tree, "total %  self %  call", true },
	[VIEW_GIL] = { row_of_gil, "waits %  holds %  function" },
};

static char *row_text(enum top_view view, const struct seen *s, const struct live_rows *l,
		      const struct live_row *row)
{
	char *function = view == VIEW_THREADS ? NULL :
			 function_text(s->w.v.tables, row->file, row->func,
				      views[view].lines ? row->line : LINE_NONE);
	char *text = views[view].text(s, l, row, function ? function : "?");

	free(function);
	return text;
}

static int list_rows(const struct top_ui *ui, const struct seen *s, struct live_rows *out)
{
	switch (ui->choice->view) {
	case VIEW_THREADS:
		return live_rows_threads(&s->w, out);
	case VIEW_CALLERS:
		return live_rows_callers(&s->w, ui->file, ui->func, out);
	case VIEW_TREE: {
		uint64_t total = 0;
		uint32_t i;

		for (i = 0; i < s->w.v.share_cnt; i++)
			total += s->w.weights[i];
		return live_rows_tree(&s->w, total / TREE_MIN, out);
	}
	case VIEW_FUNCTIONS:
		return ui->choice->lines ? live_rows_lines(&s->w, out) :
					   live_rows_functions(&s->w, out);
	default:
		return live_rows_functions(&s->w, out);
	}
}

static void fill_values(enum top_view view, const struct live_row *row, double values[TOP_VALUES])
{
	switch (view) {
	case VIEW_THREADS:
		values[0] = row->cpu;
		values[1] = row->holds;
		values[2] = row->wants;
		values[3] = row->total - row->cpu;
		break;
	case VIEW_GIL:
		values[0] = row->wants;
		values[1] = row->holds;
		break;
	default:
		values[0] = row->self;
		values[1] = row->total;
	}
}

static int take_rows(struct top_ui *ui, const struct seen *s, const struct live_rows *l)
{
	enum top_view view = ui->choice->view;
	struct top_rows *r = &ui->rows;
	size_t i;

	r->rows = calloc(l->cnt + 1, sizeof(*r->rows));
	for (i = 0; r->rows && i < l->cnt; i++) {
		const struct live_row *row = &l->rows[i];
		struct top_row *to = &r->rows[r->cnt];

		if (view == VIEW_GIL && !row->wants && !row->holds)
			continue;
		to->text = row_text(view, s, l, row);
		to->id = view == VIEW_THREADS ? row->thread_id :
			 view == VIEW_TREE || ui->choice->lines ? i : function_id(row);
		if (view == VIEW_CALLERS)
			to->id = function_id(row) << 2 | row->depth;
		to->function = view == VIEW_THREADS ? 0 : function_id(row);
		fill_values(view, row, to->values);
		r->cnt++;
	}
	return r->rows ? 0 : -ENOMEM;
}

static const char *headings_of(const struct top_choice *c)
{
	return c->view == VIEW_FUNCTIONS && c->lines ? "self %  total %  function (line)" :
						       views[c->view].columns;
}

int top_views_make(struct top_ui *ui, size_t columns)
{
	struct live_rows l = { .rows = NULL };
	struct seen s = { .recent = NULL };
	const struct live_process *p;
	struct live_process *list;
	size_t cnt;
	int err = 0;

	list = live_list(ui->session->live, &cnt);
	if (!list)
		return -ENOMEM;
	p = find_process(list, cnt, ui->choice->entered);
	snprintf(ui->rows.columns, sizeof(ui->rows.columns), "%s", headings_of(ui->choice));
	if (!p) {
		snprintf(ui->rows.title, sizeof(ui->rows.title),
			 "process %d has exited, or has no samples yet",
			 ui->choice->entered);
	} else if (get_seen(ui, p, &s)) {
		err = list_rows(ui, &s, &l);
		if (!err)
			err = take_rows(ui, &s, &l);
	}
	*ui->rows.loop = '\0';
	if (p) {
		title_of_process(ui, p, columns);
		top_loops_line(ui->session, p->process, LIVE_RECENT_S, ui->rows.loop);
		text_shorten(ui->rows.loop, sizeof(ui->rows.loop), columns);
	}
	live_rows_free(&l);
	free_seen(&s);
	free(list);
	return err;
}
