// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_top.c - `tachbpf top`: the busiest Python processes, after each interval: a table, or a line
 * of JSON; on a terminal a screen with keys (top_screen.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/colour.h"
#include "base/json.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/command_process.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/top_state.h"
#include "commands/top_table.h"
#include "cpython/image.h"
#include "doctor/precheck.h"
#include "host/held_by.h"
#include "host/identity.h"
#include "live/live_counts.h"
#include "live/terminal.h"
#include "model/event.h"
#include "resolve/process.h"

#define POLL_MS 200
#define OTHER_ROWS 4	/* of a table: its head, "3 more", the cursor's */

/* One window. */
struct top_window {
	struct live_total total;
	const struct live_process *list;	/* cnt of them, in the order of --sort */
	size_t cnt;
	size_t limit;		/* rows; 0: all */
	enum top_sort sort;
	uint64_t ns;		/* its length */
	uint32_t rate_hz;
	uint64_t utc_s;		/* its end, seconds since 1970 */
};

/* ---- the table ---- */

/* Prints the line above the table. */
static void print_head(const struct top_window *w, size_t columns)
{
	char when[16] = "", processes[48], cpu[48], lost[32], last[32], rate[16], ended[32];
	char line[256];
	const struct top_part parts[] = {
		{ "", when, 0 }, { "  ", processes, 0 }, { ", ", cpu, 0 }, { ", ", rate, 3 },
		{ ", ", last, 1 }, { ", ", lost, 2 }, { ", ", ended, 4 },
	};
	time_t now = (time_t)w->utc_s;
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%H:%M:%S", &tm);
	snprintf(processes, sizeof(processes), "%zu %s", w->total.processes,
		 text_plural(w->total.processes, "Python process", "Python processes"));
	snprintf(cpu, sizeof(cpu), "%.1f %% CPU (100 %% = one CPU)",
		 percent(w->total.last.cpu_ns, w->ns));
	snprintf(rate, sizeof(rate), "%u Hz", w->rate_hz);
	snprintf(last, sizeof(last), "last %.1f s", w->ns / 1e9);
	snprintf(lost, sizeof(lost), "%" PRIu64 " lost", w->total.lost);
	snprintf(ended, sizeof(ended), "%zu ended", w->total.ended);
	top_fit(line, sizeof(line), columns, parts, ARRAY_SIZE(parts) - !w->total.ended);
	printf("%s\n", line);
}

static void print_line(const struct top_layout *layout, const struct top_cells *cells)
{
	char *line = top_layout_line(layout, cells);

	printf("%s\n", line ? line : "?");
	free(line);
}

static int print_table(const struct top_window *w, struct top_session *session)
{
	size_t cnt = w->limit && w->limit < w->cnt ? w->limit : w->cnt, i;
	const struct top_span span = { .ns = w->ns, .rate_hz = w->rate_hz };
	struct top_cells *cells = calloc(cnt + 1, sizeof(*cells));
	size_t columns = text_terminal_width(stdout);
	struct top_layout layout;

	if (!cells)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		const struct top_facts facts = top_facts_of(session, w->list[i].process, false);

		top_cells_make(&w->list[i], &w->list[i].last, &w->list[i].hot, &span, &facts,
			       &cells[i]);
	}
	top_layout_make(&layout, cells, cnt, columns, w->sort);
	print_head(w, columns);
	printf("%s", colour_on(stdout, COLOUR_BOLD));
	print_line(&layout, NULL);
	printf("%s", colour_off(stdout));
	for (i = 0; i < cnt; i++) {
		print_line(&layout, &cells[i]);
		top_cells_free(&cells[i]);
	}
	if (cnt < w->cnt)
		printf("%zu more\n", w->cnt - cnt);
	free(cells);
	return 0;
}

/* ---- JSON: a line for each window ---- */

static void write_sums(struct json *j, const struct live_sums *s)
{
	json_uint(j, "samples", s->samples);
	json_double(j, "cpu_s", s->cpu_ns / 1e9);
	json_double(j, "gil_s", s->gil_ns / 1e9);
	json_double(j, "gc_s", s->gc_ns / 1e9);
}

static void write_hottest(struct json *j, const struct live_process *p)
{
	const struct profile_tables *t = process_tables(p->process);
	const struct live_function *f = p->hottest;

	if (!f) {
		json_null(j, "hottest");
		return;
	}
	json_object(j, "hottest");
	json_ref(j, "function", &t->strings[f->func]);
	json_ref(j, "file", &t->strings[f->file]);
	json_double(j, "self_s", f->self_ns / 1e9);
	json_double(j, "total_s", f->total_ns / 1e9);
	json_object_end(j);
}

static void write_hottest_line(struct json *j, const struct live_process *p)
{
	const struct profile_tables *t = process_tables(p->process);
	const struct live_function *line = p->hot.line;

	if (!line) {
		json_null(j, "hottest_line");
		return;
	}
	json_object(j, "hottest_line");
	json_ref(j, "function", &t->strings[line->func]);
	json_ref(j, "file", &t->strings[line->file]);
	if (line->line > 0)
		json_uint(j, "line", line->line);
	else
		json_null(j, "line");
	json_double(j, "self_s", p->hot.self_ns / 1e9);
	json_object_end(j);
}

/* Null: it cannot be told from noise. */
static void write_growth(struct json *j, const struct memory_growth *g)
{
	if (!g->steady) {
		json_null(j, "rss_growth");
		return;
	}
	json_object(j, "rss_growth");
	json_double(j, "bytes_per_min", g->bytes_per_min);
	json_double(j, "seconds", g->span_ns / 1e9);
	json_object_end(j);
}

static void write_process(struct json *j, const struct live_process *p,
			  struct top_session *session)
{
	const struct top_facts facts = top_facts_of(session, p->process, false);
	const struct top_facts all = top_facts_of(session, p->process, true);
	pid_t tgid = process_tgid(p->process);
	char held[HELD_BY_BYTES] = "";

	json_object(j, NULL);
	json_uint(j, "pid", tgid);
	identity_json(j, process_identity(p->process), tgid);
	container_json(j, process_identity(p->process)->container);
	json_string(j, "comm", process_comm(p->process));
	json_string(j, "program", facts.label);
	json_string(j, "python", process_image(p->process)->version);
	write_sums(j, &p->last);
	json_object(j, "since_start");
	write_sums(j, &p->all);
	write_growth(j, &all.growth);
	json_object_end(j);
	if (facts.rss)
		json_uint(j, "rss_bytes", facts.rss);
	else
		json_null(j, "rss_bytes");
	write_growth(j, &facts.growth);
	json_uint(j, "threads", p->threads);
	json_uint(j, "lost", p->lost);
	top_loops_json(session, p->process, j);
	write_hottest(j, p);
	write_hottest_line(j, p);
	if (!p->hottest)
		held_by_words(tgid, held);
	json_string(j, "held", *held ? held : NULL);
	json_object_end(j);
}

static void print_json(const struct top_window *w, struct top_session *session)
{
	size_t rows = w->limit && w->limit < w->cnt ? w->limit : w->cnt, i;
	struct json j;

	json_start(&j, stdout, false);
	json_object(&j, NULL);
	json_uint(&j, "version", 1);
	json_uint(&j, "time", w->utc_s);
	json_double(&j, "seconds", w->ns / 1e9);
	json_uint(&j, "rate_hz", w->rate_hz);
	json_uint(&j, "pythons", w->total.processes);
	json_uint(&j, "ended", w->total.ended);
	write_sums(&j, &w->total.last);
	json_uint(&j, "lost", w->total.lost);
	json_array(&j, "processes");
	for (i = 0; i < rows; i++)
		write_process(&j, &w->list[i], session);
	json_array_end(&j);
	json_object_end(&j);
	putchar('\n');
}

/* ---- windows ---- */

struct top {
	struct top_session session;	/* first */
	const struct top_options *opts;
	bool redraw;		/* on a terminal: each table replaces the previous one */
	uint64_t window_ns;	/* when the window began */
	uint32_t shown;		/* windows so far */
};

/* Returns how many rows are shown: on a terminal at most as many as fit. */
static size_t shown_rows(const struct top *t)
{
	struct winsize size;
	size_t room;

	if (!t->redraw || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < OTHER_ROWS + 1)
		return t->opts->limit;
	room = size.ws_row - OTHER_ROWS;
	return !t->opts->limit || room < t->opts->limit ? room : t->opts->limit;
}

struct sorted {
	struct live_process process;
	double value;
	size_t place;		/* in the list: equal ones stay in their order */
};

static int compare_sorted(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->place < y->place ? -1 : 1;
}

/* Sorts a list, which is sorted by CPU time, in another way. 0 or -ENOMEM. */
static int sort_list(struct top *t, struct live_process *list, size_t cnt)
{
	struct sorted *sorted;
	size_t i;

	if (t->opts->sort == TOP_SORT_CPU)
		return 0;
	sorted = calloc(cnt + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		const struct top_facts facts = top_facts_of(&t->session, list[i].process, false);
		double values[TOP_SORTS];

		top_values_make(&list[i], &list[i].last, &facts, values);
		sorted[i] = (struct sorted){ .process = list[i], .place = i,
					     .value = values[t->opts->sort] };
	}
	qsort(sorted, cnt, sizeof(*sorted), compare_sorted);
	for (i = 0; i < cnt; i++)
		list[i] = sorted[i].process;
	free(sorted);
	return 0;
}

static int show_window(struct top *t, uint64_t now)
{
	struct top_window w = { .limit = shown_rows(t), .ns = now - t->window_ns,
				.sort = t->opts->sort,
				.rate_hz = capture_rate(t->session.capture),
				.utc_s = time(NULL) };
	struct live_process *list = live_list(t->session.live, &w.cnt);
	int err = list ? sort_list(t, list, w.cnt) : -ENOMEM;

	if (err) {
		free(list);
		return err;
	}
	w.list = list;
	live_total(t->session.live, &w.total);
	if (t->opts->json) {
		print_json(&w, &t->session);
	} else {
		if (t->redraw)
			printf("\033[H\033[2J");
		else if (t->shown)
			printf("\n");
		err = print_table(&w, &t->session);
	}
	free(list);
	if (err)
		return err;
	t->shown++;
	t->window_ns = now;
	live_begin_window(t->session.live);
	return output_flush_stdout();
}

static bool is_finished(struct top *t)
{
	uint32_t count = t->opts->once ? 1 : t->opts->count;

	return (count && t->shown >= count) || top_session_over(&t->session);
}

static int top_loop(struct top *t)
{
	uint64_t interval = (uint64_t)(t->opts->interval_s * 1e9), now;
	bool second;
	int err = 0;

	while (!err && !is_finished(t)) {
		uint64_t left = t->window_ns + interval;

		now = now_ns();
		left = left > now ? (left - now) / 1000000 + 1 : 1;
		err = top_session_poll(&t->session, left < POLL_MS ? (int)left : POLL_MS, &second);
		now = now_ns();
		if (!err && now - t->window_ns >= interval)
			err = show_window(t, now);
	}
	return err;
}

static int run_tables(const struct top_options *opts)
{
	struct top t = { .opts = opts };
	int err, end_err;

	t.redraw = !opts->batch && !opts->once && isatty(STDOUT_FILENO);
	record_signals_catch(false);
	err = top_session_begin(&t.session, opts, RECORD_CPU, opts->rate_hz, false);
	t.window_ns = t.session.start_ns;
	if (!err && !opts->json)
		log_info("sampling; the first table comes in %g s", opts->interval_s);
	if (!err)
		err = top_loop(&t);
	if (!err)
		err = output_flush_stdout();
	end_err = top_session_end(&t.session);
	return err ? err : end_err;
}

int top_run(const struct top_options *opts)
{
	bool tables = opts->batch || opts->once || opts->count || opts->json;
	int err = precheck_record(opts->ignore_kernel_bugs);

	if (!err)
		err = tables || !terminal_is_there() ? run_tables(opts) : top_screen_run(opts);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
