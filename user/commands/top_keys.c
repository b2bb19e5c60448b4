// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_keys.c - the keys of `tachbpf top`. See top_state.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/top_state.h"
#include "cpython/image.h"
#include "formats/sinks.h"
#include "live/keys.h"
#include "live/live_counts.h"
#include "live/live_rows.h"
#include "model/stack_tree.h"
#include "resolve/process.h"

static const uint32_t rates[] = { 9, 19, 49, 99, 199, 499, 999, 1999 };

/* Another view starts at its first row. */
static void show_view(struct top_ui *ui, enum top_view view)
{
	ui->choice->view = view;
	ui->cursor = ui->first = 0;
	ui->follows = false;
	ui->choice->filter[0] = '\0';
}

static const struct top_row *chosen_row(const struct top_ui *ui)
{
	return ui->cursor < ui->shown_cnt ? &ui->rows.rows[ui->shown[ui->cursor]] : NULL;
}

/* Enter: into a process; from a function to its callers. */
static void enter_row(struct top_ui *ui)
{
	const struct top_row *row = chosen_row(ui);

	if (!row)
		return;
	if (ui->choice->view == VIEW_PROCESSES) {
		ui->choice->entered = (pid_t)row->id;
		live_recent_reset(ui->recent);
		ui->paused = false;
		show_view(ui, VIEW_FUNCTIONS);
	} else if (row->function) {
		ui->file = (uint32_t)(row->function >> 32);
		ui->func = (uint32_t)row->function;
		show_view(ui, VIEW_CALLERS);
	}
}

/* Esc: one step back: the filter, the view, the process. */
static void leave_view(struct top_ui *ui)
{
	if (*ui->choice->filter) {
		ui->choice->filter[0] = '\0';
	} else if (ui->choice->view == VIEW_CALLERS) {
		show_view(ui, VIEW_FUNCTIONS);
	} else if (ui->choice->view != VIEW_PROCESSES) {
		ui->choice->entered = 0;
		show_view(ui, VIEW_PROCESSES);
	}
}

static void next_tab(struct top_ui *ui, int step)
{
	int tabs = VIEW_CNT - 1, tab = (int)ui->choice->view - 1;

	if (ui->choice->view != VIEW_PROCESSES)
		show_view(ui, (enum top_view)((tab + step + tabs) % tabs + 1));
}

static void next_mode(struct top_ui *ui)
{
	static const enum record_mode after[RECORD_MODE_CNT] = {
		[RECORD_CPU] = RECORD_WALL, [RECORD_WALL] = RECORD_GIL, [RECORD_GIL] = RECORD_CPU,
	};

	ui->choice->mode = after[ui->choice->mode];
	ui->restart = true;
}

static void change_rate(struct top_ui *ui, int step)
{
	uint32_t now = capture_rate(ui->session->capture), rate = now;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(rates); i++)
		if (step > 0 ? rates[i] > now && rate == now : rates[i] < now)
			rate = rates[i];
	err = rate == now ? 0 : capture_set_rate(ui->session->capture, rate);
	if (err)
		snprintf(ui->message, sizeof(ui->message), "cannot change the rate: %s",
			 strerror(-err));
	else
		ui->choice->rate_hz = rate;
}

static void next_sort(struct top_ui *ui)
{
	unsigned int cnt, *sort = &ui->choice->sort[ui->choice->view];

	top_sort_names(ui->choice->view, &cnt);
	if (cnt)
		*sort = (*sort + 1) % cnt;
	ui->follows = false;
	ui->cursor = 0;
}

/* Handles a key while the filter is being typed. */
static void type_filter(struct top_ui *ui, int key)
{
	char *filter = ui->choice->filter, bytes[4];
	size_t len = strlen(filter), n;

	if (key == KEY_ENTER || key == KEY_ESC) {
		ui->choice->typing = false;
		if (key == KEY_ESC)
			*filter = '\0';
	} else if (key == KEY_BACKSPACE) {
		while (len && (filter[--len] & 0xc0) == 0x80)
			;
		filter[len] = '\0';
	} else if (key >= ' ' && key < KEY_UP) {
		n = keys_utf8(key, bytes);
		if (len + n < TOP_FILTER_BYTES) {
			memcpy(filter + len, bytes, n);
			filter[len + n] = '\0';
		}
	}
	ui->cursor = 0;
	ui->follows = false;
}

/* Moves by this many rows. */
static void move_cursor(struct top_ui *ui, long by)
{
	size_t last = ui->shown_cnt ? ui->shown_cnt - 1 : 0;

	if (by < 0)
		ui->cursor = ui->cursor > (size_t)-by ? ui->cursor - (size_t)-by : 0;
	else
		ui->cursor = ui->cursor + (size_t)by < last ? ui->cursor + (size_t)by : last;
	ui->follows = false;
}

/* Returns true if the key moves the cursor. */
static bool is_moved_by(struct top_ui *ui, int key)
{
	const long page = ui->height > 1 ? (long)ui->height - 1 : 1, all = 1000000000;
	const struct {
		int key;
		long by;
	} ways[] = {
		{ KEY_UP, -1 }, { 'k', -1 }, { KEY_DOWN, 1 }, { 'j', 1 }, { KEY_PAGE_UP, -page },
		{ KEY_PAGE_DOWN, page }, { KEY_HOME, -all }, { KEY_END, all },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways) && ways[i].key != key; i++)
		;
	if (i == ARRAY_SIZE(ways))
		return false;
	move_cursor(ui, ways[i].by);
	return true;
}

/* ---- w: all samples since the start as a flame graph ---- */

/* Writes events of the distinct stacks, innermost frame first. 0 or -errno. */
static int write_shares(struct sink *sink, const struct stack_tree_view *v)
{
	uint32_t frames[EVENT_MAX_FRAMES], node, i;
	int err = 0;

	for (i = 0; !err && i < v->share_cnt; i++) {
		const struct stack_share *s = &v->shares[i];
		struct event ev = {
			.thread_id = v->threads[s->thread].thread_id, .frames = frames,
			.interp_id = v->threads[s->thread].interp_id, .weight = s->weight,
			.status = s->status,
		};

		for (node = s->node; node && ev.nframes < EVENT_MAX_FRAMES;
		     node = v->nodes[node].parent)
			frames[ev.nframes++] = v->nodes[node].frame;
		err = sink->ops->event(sink, &ev);
	}
	return err;
}

static int write_process(struct sink *sink, const struct top_ui *ui, const struct process *p,
			 uint64_t span_ns)
{
	static const enum profile_mode modes[RECORD_MODE_CNT] = {
		[RECORD_CPU] = MODE_CPU, [RECORD_WALL] = MODE_WALL, [RECORD_GIL] = MODE_GIL,
	};
	const struct profile_stats stats = { .known = true, .duration_s = span_ns / 1e9 };
	struct profile_meta meta = {
		.unit = UNIT_NANOSECONDS, .mode = modes[ui->choice->mode], .interval_us = 1,
		.tgid = (uint32_t)process_tgid(p), .comm = process_comm(p),
		.thread_names = process_thread_names(p), .start_us = ui->session->start_ns / 1000,
	};
	const struct stack_tree *stacks;
	struct stack_tree_view v;
	uint64_t beyond;
	int err;

	stacks = live_stacks(ui->session->live, process_tgid(p), &beyond);
	if (!stacks)
		return 0;
	v = stack_tree_view(stacks);
	err = sink->ops->begin(sink, &meta, v.tables);
	if (!err)
		err = write_shares(sink, &v);
	return err ? err : sink->ops->end(sink, &stats);
}

static int write_all_processes(struct top_ui *ui, struct sink *sink)
{
	struct live_process *list;
	size_t cnt, i;
	int err = 0;

	list = live_list(ui->session->live, &cnt);
	if (!list)
		return -ENOMEM;
	for (i = 0; !err && i < cnt; i++)
		if (!ui->choice->entered || process_tgid(list[i].process) == ui->choice->entered)
			err = write_process(sink, ui, list[i].process,
					    now_ns() - ui->session->start_ns);
	free(list);
	return err;
}

static int write_to(struct top_ui *ui, int fd, const char *title)
{
	const struct sink_ops *ops = sink_find("flamegraph");
	const struct sink_args args = { .fd = fd, .many = !ui->choice->entered, .title = title };
	struct sink *sink = sink_new(ops, &args);
	int err = sink ? write_all_processes(ui, sink) : -errno, close_err;

	if (!sink)
		return err;
	close_err = sink->ops->close(sink);
	return err ? err : close_err;
}

static void write_page(struct top_ui *ui)
{
	char path[64], when[32] = "";
	time_t now = time(NULL);
	struct output_file f;
	struct tm tm;
	int err;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	if (ui->choice->entered)
		snprintf(path, sizeof(path), "tachbpf-top-%d-%s.html", ui->choice->entered, when);
	else
		snprintf(path, sizeof(path), "tachbpf-top-%s.html", when);
	err = output_open(&f, path);
	if (!err) {
		err = write_to(ui, f.fd, path);
		if (err)
			output_abort(&f);
		else
			err = output_commit(&f);
	}
	if (err)
		snprintf(ui->message, sizeof(ui->message), "%s was not written: %s", path,
			 strerror(-err));
	else
		snprintf(ui->message, sizeof(ui->message), "written: %s", path);
}

/* ---- all keys ---- */

static void take_command(struct top_ui *ui, int key)
{
	struct top_choice *c = ui->choice;

	switch (key) {
	case 'q':
		ui->quit = true;
		break;
	case KEY_ENTER:
	case KEY_RIGHT:
		enter_row(ui);
		break;
	case KEY_ESC:
	case KEY_LEFT:
	case KEY_BACKSPACE:
		leave_view(ui);
		break;
	case KEY_TAB:
		next_tab(ui, 1);
		break;
	case KEY_BACK_TAB:
		next_tab(ui, -1);
		break;
	case 's':
		next_sort(ui);
		break;
	case '/':
		c->typing = true;
		break;
	case ' ':
	case 'p':
		ui->paused = !ui->paused;
		break;
	case 't':
		c->since_start = !c->since_start;
		break;
	case 'l':
		c->lines = !c->lines;
		break;
	case 'm':
		next_mode(ui);
		break;
	case '+':
	case '-':
		change_rate(ui, key == '+' ? 1 : -1);
		break;
	case 'w':
		write_page(ui);
		break;
	case '?':
	case 'h':
		c->help = true;
		break;
	}
}

void top_key(struct top_ui *ui, int key)
{
	ui->message[0] = '\0';
	if (ui->choice->typing)
		type_filter(ui, key);
	else if (ui->choice->help)
		ui->choice->help = false;
	else if (!is_moved_by(ui, key))
		take_command(ui, key);
}
