// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_rows.c - the rows of each view, as text. See top_state.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/top_session.h"
#include "commands/top_state.h"
#include "cpython/image.h"
#include "host/containers.h"
#include "host/identity.h"
#include "host/users.h"
#include "live/live_counts.h"
#include "live/live_recent.h"
#include "live/live_rows.h"
#include "model/thread_names.h"
#include "resolve/process.h"

#define WIDE 100		/* columns of a screen that has room for all */
#define TREE_MIN 200		/* calls below a 200th of the time are not in the tree */
#define TREE_INDENT 40		/* deeper calls are not indented further */

/* What a view of one process is made from. */
struct seen {
	struct live_weights w;
	uint64_t *recent;	/* to be freed */
	uint64_t *all;		/* to be freed */
	uint64_t span_ns;	/* of which time it is */
	const struct process *process;
};

void top_rows_free(struct top_rows *r)
{
	size_t i;

	for (i = 0; i < r->cnt; i++)
		free(r->rows[i].text);
	free(r->rows);
	*r = (struct top_rows){ .rows = NULL };
}

static double percent(uint64_t ns, uint64_t of)
{
	return of ? 100.0 * ns / of : 0;
}

/* printf into new memory; NULL: no memory. */
__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

/* ---- processes ---- */

/* The name of a user. Valid until the next call. The last ones are remembered: each is read from a file. */
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

/* Where a process is: its container, else its unit, else its user. */
static void where_text(const struct process *p, char out[CONTAINER_LABEL_BYTES])
{
	const struct identity *id = process_identity(p);
	if (id->container && container_is(id->container)) {
		container_label(id->container, out);
	} else if (id->container && *id->container->unit) {
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", id->container->unit);
	} else if (id->uid == IDENTITY_NO_UID) {
		strcpy(out, "-");
	} else {
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", user_text(id->uid));
	}
}

/* "handle (app.py)", to be freed; NULL: no memory. */
static char *function_text(const struct profile_tables *t, uint32_t file, uint32_t func,
			   int32_t line)
{
	const struct string_ref *f = &t->strings[file];
	char *name = text_escape(t->strings[func].data, t->strings[func].len);
	char *path = text_escape(f->data, f->len), *text = NULL;
	const char *base = path ? strrchr(path, '/') : NULL;

	if (name && path) {
		base = base ? base + 1 : path;
		if (!strcmp(base, SYNTHETIC_FILE))
			text = text_of("%s", name);
		else if (line > 0)
			text = text_of("%s (%s:%" PRId32 ")", name, base, line);
		else
			text = text_of("%s (%s)", name, base);
	}
	free(name);
	free(path);
	return text;
}

static char *process_text(const struct live_process *p, const struct live_sums *s, uint64_t ns,
			  bool wide)
{
	char label[CONTAINER_LABEL_BYTES], *where, *comm, *hottest = NULL, *text;

	where_text(p->process, label);
	where = text_escape(label, strlen(label));
	comm = text_escape(process_comm(p->process), strlen(process_comm(p->process)));
	if (p->hottest)
		hottest = function_text(process_tables(p->process), p->hottest->file,
					p->hottest->func, LINE_NONE);
	if (wide)
		text = text_of("%8d  %-15.15s  %-18.18s  %-7.7s  %6.1f  %5.1f  %5.1f  %7" PRIu32
			       "  %6" PRIu64 "  %s", process_tgid(p->process), comm ? comm : "?",
			       where ? where : "?", process_image(p->process)->version,
			       percent(s->cpu_ns, ns), percent(s->gil_ns, ns),
			       percent(s->gc_ns, s->cpu_ns), p->threads, p->lost,
			       hottest ? hottest : "");
	else
		text = text_of("%8d  %-12.12s  %6.1f  %5.1f  %s", process_tgid(p->process),
			       comm ? comm : "?", percent(s->cpu_ns, ns), percent(s->gil_ns, ns),
			       hottest ? hottest : "");
	free(where);
	free(comm);
	free(hottest);
	return text;
}

/* Of which time the counts of processes are. */
static uint64_t span_of(const struct top_ui *ui, uint64_t now)
{
	if (ui->choice->since_start)
		return now - ui->session->start_ns;
	return live_recent_ns(ui->session->live, now);
}

static const char *mode_name(const struct top_ui *ui)
{
	return record_modes[ui->choice->mode].name;
}

/* "cpu mode, 99 Hz, last 10 s" */
static void say_what(const struct top_ui *ui, uint64_t span_ns, char *out, size_t size)
{
	snprintf(out, size, "%s mode, %" PRIu32 " Hz, %s %.0f s", mode_name(ui),
		 capture_rate(ui->session->capture),
		 ui->choice->since_start ? "since the start:" : "last", span_ns / 1e9);
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
	say_what(ui, span_ns, what, sizeof(what));
	snprintf(r->title, sizeof(r->title), "%zu %s  %.1f %% CPU  %" PRIu64 " lost  %s", cnt,
		 text_plural(cnt, "Python", "Pythons"), percent(cpu_ns, span_ns), total.lost, what);
}

static int make_processes(struct top_ui *ui, size_t columns)
{
	uint64_t span_ns = span_of(ui, now_ns());
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

/* ---- one process ---- */

static const struct live_process *find_process(const struct live_process *list, size_t cnt,
					       pid_t tgid)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (process_tgid(list[i].process) == tgid)
			return &list[i];
	return NULL;
}

static void title_of_process(struct top_ui *ui, const struct live_process *p, uint64_t span_ns)
{
	const struct live_sums *s = ui->choice->since_start ? &p->all : &p->recent;
	char label[CONTAINER_LABEL_BYTES], what[96], *where, *comm;

	where_text(p->process, label);
	where = text_escape(label, strlen(label));
	comm = text_escape(process_comm(p->process), strlen(process_comm(p->process)));
	say_what(ui, span_ns, what, sizeof(what));
	snprintf(ui->rows.title, sizeof(ui->rows.title),
		 "%s %d (%.40s, %s)  %.1f %% CPU  GIL %.1f %%  GC %.1f %%  %" PRIu64 " lost  %s",
		 comm ? comm : "?", process_tgid(p->process), where ? where : "?",
		 process_image(p->process)->version, percent(s->cpu_ns, span_of(ui, now_ns())),
		 percent(s->gil_ns, span_of(ui, now_ns())), percent(s->gc_ns, s->cpu_ns), p->lost,
		 what);
	free(where);
	free(comm);
}

/* The stacks of the chosen process and what they weigh. Returns false if it has none, or no memory. */
static bool see(struct top_ui *ui, const struct live_process *p, struct seen *out)
{
	uint64_t now = now_ns(), beyond;
	const struct stack_tree *stacks = live_stacks(ui->session->live, ui->choice->entered,
						      &beyond);
	struct stack_tree_view v;
	uint32_t i;

	if (!stacks)
		return false;
	v = stack_tree_view(stacks);
	*out = (struct seen){ .w.v = v, .process = p->process };
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

static void unsee(struct seen *s)
{
	free(s->recent);
	free(s->all);
}

static uint64_t function_id(const struct live_row *row)
{
	return (uint64_t)row->file << 32 | row->func;
}

static char *row_of_functions(const struct seen *s, const struct live_rows *l,
			      const struct live_row *row)
{
	char *function = function_text(s->w.v.tables, row->file, row->func, row->line);
	char *text = text_of("%6.1f  %6.1f  %s", percent(row->self, l->total),
			     percent(row->total, l->total), function ? function : "?");

	free(function);
	return text;
}

static char *row_of_threads(const struct seen *s, const struct live_rows *l,
			    const struct live_row *row)
{
	char label[THREAD_LABEL_BYTES];

	thread_label(process_thread_names(s->process), row->thread_id, "thread ", label);
	return text_of("%6.1f  %6.1f  %6.1f  %6.1f  %s", percent(row->cpu, s->span_ns),
		       percent(row->holds, s->span_ns), percent(row->wants, s->span_ns),
		       percent(row->total - row->cpu, s->span_ns), label);
}

static char *row_of_callers(const struct seen *s, const struct live_rows *l,
			    const struct live_row *row)
{
	static const char *const kinds[] = { "called by", "", "calls" };
	char *function = function_text(s->w.v.tables, row->file, row->func, LINE_NONE);
	char *text = text_of("%6.1f  %-9s  %s", percent(row->total, l->total), kinds[row->depth],
			     function ? function : "?");

	free(function);
	return text;
}

static char *row_of_tree(const struct seen *s, const struct live_rows *l,
			 const struct live_row *row)
{
	int indent = row->depth < TREE_INDENT ? (int)row->depth : TREE_INDENT;
	char *function = function_text(s->w.v.tables, row->file, row->func, row->line);
	char *text = text_of("%6.1f  %6.1f  %*s%s", percent(row->total, l->total),
			     percent(row->self, l->total), indent, "", function ? function : "?");

	free(function);
	return text;
}

static char *row_of_gil(const struct seen *s, const struct live_rows *l, const struct live_row *row)
{
	char *function = function_text(s->w.v.tables, row->file, row->func, LINE_NONE);
	char *text = text_of("%6.1f  %6.1f  %s", percent(row->wants, s->span_ns),
			     percent(row->holds, s->span_ns), function ? function : "?");

	free(function);
	return text;
}

static const struct {
	char *(*text)(const struct seen *s, const struct live_rows *l, const struct live_row *row);
	const char *columns;
} views[VIEW_CNT] = {
	[VIEW_FUNCTIONS] = { row_of_functions, "self %  total %  function" },
	[VIEW_THREADS] = { row_of_threads, " cpu %   gil %  wants   off %  thread" },
	[VIEW_CALLERS] = { row_of_callers, "     %             function" },
	[VIEW_TREE] = { row_of_tree, "total %  self %  call" },
	[VIEW_GIL] = { row_of_gil, "waits %  holds %  function" },
};

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
	default:
		return live_rows_functions(&s->w, ui->choice->lines &&
						  ui->choice->view == VIEW_FUNCTIONS, out);
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
		to->text = views[view].text(s, l, row);
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

static int make_views(struct top_ui *ui)
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
	snprintf(ui->rows.columns, sizeof(ui->rows.columns), "%s", views[ui->choice->view].columns);
	if (!p) {
		snprintf(ui->rows.title, sizeof(ui->rows.title), "process %d has ended, or has had no sample yet",
			 ui->choice->entered);
	} else if (see(ui, p, &s)) {
		err = list_rows(ui, &s, &l);
		if (!err)
			err = take_rows(ui, &s, &l);
	}
	if (p)
		title_of_process(ui, p, s.span_ns);
	live_rows_free(&l);
	unsee(&s);
	free(list);
	return err;
}

int top_rows_make(struct top_ui *ui, size_t columns)
{
	top_rows_free(&ui->rows);
	return ui->choice->view == VIEW_PROCESSES ? make_processes(ui, columns) : make_views(ui);
}

/* ---- which rows, and in which order ---- */

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

static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	double x = o->rows[i].values[o->value], y = o->rows[j].values[o->value];

	if (o->sorted && x != y)
		return x < y ? 1 : -1;
	return i < j ? -1 : i > j;
}

/* The place of the row that was chosen, if it is still there. */
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
	qsort_r(shown, ui->shown_cnt, sizeof(*shown), compare, &order);
	find_cursor(ui, ui->follows, ui->chosen);
	ui->follows = ui->shown_cnt;
	if (ui->shown_cnt)
		ui->chosen = ui->rows.rows[shown[ui->cursor]].id;
	return 0;
}
