// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * top_screen.c - runs the screen, in a process of its own: each mode has its own BPF programs, and
 * a process that samples has given up the right to load others. So another mode is another process.
 */
#include "commands/top_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/command_process.h"
#include "commands/options.h"
#include "commands/top_table.h"
#include "live/canvas.h"
#include "live/keys.h"
#include "live/live_counts.h"
#include "live/live_rows.h"
#include "live/terminal.h"

#define POLL_MS 200
#define FIRST_NS 500000000ull	/* between updates in the first interval */
#define MESSAGE_NS 10000000000ull
#define ESC_MS 50	/* bytes of one key arrive together */

struct args {
	const struct top_options *opts;
	struct top_choice *choice;
};

static void keep_second(struct top_ui *ui)
{
	const struct stack_tree *stacks;
	struct stack_tree_view v;
	uint64_t beyond;

	stacks = live_stacks(ui->session->live, ui->choice->entered, &beyond);
	if (!stacks)
		return;
	v = stack_tree_view(stacks);
	live_recent_second(ui->recent, &v, now_ns());
}

/* ---- drawing ---- */

/* Lines that are not rows: title, tabs or sort, headings, the last line. */
#define OTHER_LINES 4
#define FIRST_ROW 3

static const char *const tabs[VIEW_CNT] = {
	[VIEW_FUNCTIONS] = "functions", [VIEW_THREADS] = "threads", [VIEW_CALLERS] = "callers",
	[VIEW_TREE] = "tree", [VIEW_GIL] = "GIL",
};

static const char *const help[] = {
	"Enter, Right   open a process, or the callers and callees of a function",
	"Esc, Left      go back",
	"Tab            next view of the process: functions, threads, callers, tree, GIL",
	"arrows, j, k   select a row; also Page Up, Page Down, Home, End",
	"s              sort by another column; ↑ behind the rss: it grows steadily",
	"/              filter rows by text; Esc: all rows",
	"t              toggle the last 10 seconds / everything since the start",
	"l              toggle functions by line",
	"m              next mode: cpu, wall, gil (restarts sampling)",
	"+ -            raise or lower the sampling rate",
	"Space, p       pause the screen; sampling continues",
	"w              write a flame graph of everything since the start",
	"q, Ctrl-C      quit",
};

/* What 100 % is in each view. */
static const char *base_text(enum top_view view)
{
	return view == VIEW_PROCESSES || view == VIEW_THREADS ? "100 % = one CPU" :
								"100 % = the process' time";
}

/* Writes the names of the views, or if there is no room only that of the current one. */
static void tabs_text(enum top_view view, bool all, char *out, size_t size)
{
	int i;

	*out = '\0';
	for (i = VIEW_FUNCTIONS; view != VIEW_PROCESSES && i < VIEW_CNT; i++)
		if (all || i == (int)view)
			snprintf(out + strlen(out), size - strlen(out), "%s%s", *out ? "  " : "",
				 tabs[i]);
}

static void draw_tabs(struct canvas *c, enum top_view view, bool all)
{
	int i;

	for (i = VIEW_FUNCTIONS; view != VIEW_PROCESSES && i < VIEW_CNT; i++) {
		if (!all && i != (int)view)
			continue;
		canvas_add(c, 1, i == (int)view ? CANVAS_REVERSE : CANVAS_PLAIN, tabs[i]);
		canvas_add(c, 1, CANVAS_PLAIN, "  ");
	}
}

static void draw_second_line(const struct top_ui *ui, struct canvas *c, size_t columns)
{
	const struct top_choice *choice = ui->choice;
	const char *base = base_text(choice->view);
	char all[64], by[48] = "", line[128];
	const struct top_part parts[] = { { "", base, 0 }, { "  ", by, 1 } };
	unsigned int cnt;
	const char *const *names = top_sort_names(choice->view, &cnt);
	size_t used;
	bool fits;

	tabs_text(choice->view, true, all, sizeof(all));
	fits = strlen(all) + 2 + strlen(base) <= columns;
	draw_tabs(c, choice->view, fits);
	if (!fits)
		tabs_text(choice->view, false, all, sizeof(all));
	if (cnt)
		snprintf(by, sizeof(by), "by %s", names[choice->sort[choice->view]]);
	used = *all ? strlen(all) + 2 : 0;
	top_fit(line, sizeof(line), columns > used ? columns - used : 1, parts, 1 + (cnt > 0));
	canvas_add(c, 1, CANVAS_DIM, line);
	if (*choice->filter && !choice->typing) {
		canvas_add(c, 1, CANVAS_BOLD, "  /");
		canvas_add(c, 1, CANVAS_BOLD, choice->filter);
	}
	if (ui->paused)
		canvas_add(c, 1, CANVAS_RED, "  paused");
}

/* Returns why there are no rows. */
static const char *empty_text(const struct top_ui *ui)
{
	if (*ui->choice->filter)
		return "no row matches this text";
	if (ui->choice->view == VIEW_PROCESSES)
		return "no Python process found yet";
	if (ui->choice->view == VIEW_CALLERS && !ui->func)
		return "select a function first: press Enter in the functions view";
	if (ui->choice->view == VIEW_GIL)
		return "no sample with the GIL yet; mode wall (key m) also shows who waits for it";
	if (ui->choice->mode == RECORD_CPU)
		return "it used no CPU; mode wall (key m) shows where it waits";
	return "no samples yet";
}

static void draw_rows(struct top_ui *ui, struct canvas *c, size_t columns)
{
	size_t first = FIRST_ROW + !!*ui->rows.loop, i;

	if (ui->cursor < ui->first)
		ui->first = ui->cursor;
	if (ui->height && ui->cursor >= ui->first + ui->height)
		ui->first = ui->cursor - ui->height + 1;
	if (ui->first + ui->height > ui->shown_cnt)
		ui->first = ui->shown_cnt > ui->height ? ui->shown_cnt - ui->height : 0;
	for (i = 0; i < ui->height && ui->first + i < ui->shown_cnt; i++) {
		const char *text = ui->rows.rows[ui->shown[ui->first + i]].text;
		bool chosen = ui->first + i == ui->cursor;

		canvas_add(c, first + i, chosen ? CANVAS_REVERSE : CANVAS_PLAIN,
			   text ? text : "?");
		if (chosen)
			canvas_fill(c, first + i, CANVAS_REVERSE);
	}
	if (!ui->shown_cnt)
		canvas_add(c, first, CANVAS_DIM, empty_text(ui));
}

static void draw_help(struct canvas *c, size_t rows)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(help) && i + 1 < rows; i++)
		canvas_add(c, i, CANVAS_PLAIN, help[i]);
	canvas_add(c, rows - 1, CANVAS_BOLD, "any key: go back");
}

/* The keys; however narrow the screen is, that to leave it is there. */
static void draw_keys(struct canvas *c, size_t row, size_t columns)
{
	static const struct top_part keys[] = {
		{ "", "Enter open", 2 }, { "  ", "Esc back", 3 }, { "  ", "Tab view", 4 },
		{ "  ", "s sort", 6 }, { "  ", "/ filter", 5 }, { "  ", "t time", 8 },
		{ "  ", "m mode", 7 }, { "  ", "w write", 9 }, { "  ", "? help", 1 },
		{ "  ", "q quit", 0 },
	};
	char line[128];

	top_fit(line, sizeof(line), columns, keys, ARRAY_SIZE(keys));
	canvas_add(c, row, CANVAS_DIM, line);
}

/* A message stays for a while, beside the key to leave. */
static void draw_message(struct canvas *c, size_t row, size_t columns, char *message, size_t size)
{
	static const char quit[] = "  q quit";
	size_t room = columns > 2 * strlen(quit) ? columns - strlen(quit) : columns;

	canvas_add(c, row, CANVAS_BOLD, text_shorten(message, size, room));
	canvas_add(c, row, CANVAS_DIM, quit);
}

static void draw_last_line(struct top_ui *ui, struct canvas *c, size_t row, size_t columns)
{
	char message[256];

	if (ui->choice->typing) {
		canvas_add(c, row, CANVAS_BOLD, "/");
		canvas_add(c, row, CANVAS_PLAIN, ui->choice->filter);
		canvas_add(c, row, CANVAS_REVERSE, " ");
		return;
	}
	snprintf(message, sizeof(message), "%s", ui->message);
	if (!*message) {
		terminal_last_message(message, sizeof(message));
		if (strcmp(message, ui->logged) != 0)
			ui->logged_ns = now_ns();
		snprintf(ui->logged, sizeof(ui->logged), "%s", message);
		if (now_ns() - ui->logged_ns > MESSAGE_NS)
			*message = '\0';
	}
	if (*message)
		draw_message(c, row, columns, message, sizeof(message));
	else
		draw_keys(c, row, columns);
}

static int draw_screen(struct top_ui *ui, struct canvas *c, size_t rows, size_t columns)
{
	int err = canvas_begin(c, rows, columns);
	size_t others;

	if (err)
		return err;
	others = OTHER_LINES + !!*ui->rows.loop;
	ui->height = rows > others ? rows - others : 0;
	if (ui->choice->help) {
		draw_help(c, rows);
		return canvas_draw(c, STDOUT_FILENO);
	}
	canvas_add(c, 0, CANVAS_BOLD, ui->rows.title);
	draw_second_line(ui, c, columns);
	canvas_add(c, 2, CANVAS_PLAIN, ui->rows.loop);
	canvas_add(c, 2 + !!*ui->rows.loop, CANVAS_BOLD, ui->rows.columns);
	draw_rows(ui, c, columns);
	draw_last_line(ui, c, rows - 1, columns);
	return canvas_draw(c, STDOUT_FILENO);
}

/* ---- running ---- */

static int refresh_screen(struct top_ui *ui, struct canvas *c, bool counts)
{
	size_t rows, columns;
	int err = 0;

	terminal_size(&rows, &columns);
	if (counts)
		err = top_rows_make(ui, columns);
	if (!err)
		err = top_rows_choose(ui);
	return err ? err : draw_screen(ui, c, rows, columns);
}

/* Handles typed keys; each acts on what the previous one has shown. */
static int take_keys(struct top_ui *ui, struct canvas *c, struct keys *keys)
{
	char bytes[KEYS_BYTES];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	int key, err = terminal_has_gone() ? -EIO : 0;

	if (n > 0)
		keys_add(keys, bytes, (size_t)n);
	while (!err && !ui->quit && !ui->restart && (key = keys_next(keys, n <= 0))) {
		top_key(ui, key);
		err = refresh_screen(ui, c, !ui->paused);
	}
	return err;
}

/* What is found at the start is shown soon, not only after the first interval. */
static uint64_t current_interval(const struct top_ui *ui, uint64_t interval)
{
	bool first = now_ns() - ui->session->start_ns < interval;

	return first && interval > FIRST_NS ? FIRST_NS : interval;
}

static int screen_loop(struct top_ui *ui, struct canvas *c, uint64_t interval)
{
	struct keys keys = { .len = 0 };
	uint64_t shown_ns = 0;
	bool second, due;
	int err = 0;

	while (!err && !ui->quit && !ui->restart && !top_session_over(ui->session)) {
		due = now_ns() - shown_ns >= current_interval(ui, interval) && !ui->paused;
		if (due)
			shown_ns = now_ns();
		err = top_session_poll(ui->session, keys.len ? ESC_MS : POLL_MS, &second);
		if (!err && second && ui->choice->entered)
			keep_second(ui);
		if (!err && (due || terminal_resized()))
			err = refresh_screen(ui, c, !ui->paused);
		if (!err)
			err = take_keys(ui, c, &keys);
	}
	return err;
}

static int show_screen(struct top_ui *ui, struct canvas *c, const struct args *args)
{
	uint64_t interval = (uint64_t)(args->opts->interval_s * 1e9);
	int err = capture_wake_for(ui->session->capture, STDIN_FILENO);

	if (!err)
		err = refresh_screen(ui, c, true);
	return err ? err : screen_loop(ui, c, interval);
}

/* Until the BPF programs are loaded. */
static int draw_start(struct canvas *c)
{
	size_t rows, columns;
	int err;

	terminal_size(&rows, &columns);
	err = canvas_begin(c, rows, columns);
	if (err)
		return err;
	canvas_add(c, 0, CANVAS_DIM, "starting...");
	return canvas_draw(c, STDOUT_FILENO);
}

/* The child: terminal_run(). */
static int run_screen(void *ctx)
{
	struct args *args = ctx;
	struct live_recent recent = { .begun_ns = 0 };
	struct top_session session = { .start_ns = 0 };
	struct top_ui ui = { .choice = args->choice, .session = &session, .recent = &recent };
	struct canvas *c = canvas_new();
	int err = c ? draw_start(c) : -errno, end_err;

	record_signals_catch(false);
	if (!err)
		err = top_session_begin(&session, args->opts, args->choice->mode,
					args->choice->rate_hz, true);
	if (!err)
		err = show_screen(&ui, c, args);
	end_err = top_session_end(&session);
	canvas_free(c);
	live_recent_reset(&recent);
	top_rows_free(&ui.rows);
	free(ui.shown);
	if (err || end_err)
		return EXIT_FAILURE;
	return ui.restart ? TERMINAL_AGAIN : EXIT_SUCCESS;
}

int top_screen_run(const struct top_options *opts)
{
	struct args args = { .opts = opts };
	int result;

	args.choice = mmap(NULL, sizeof(*args.choice), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (args.choice == MAP_FAILED)
		return -errno;
	args.choice->mode = RECORD_CPU;
	args.choice->rate_hz = opts->rate_hz;
	args.choice->sort[VIEW_PROCESSES] = opts->sort;
	result = terminal_run(run_screen, &args);
	munmap(args.choice, sizeof(*args.choice));
	return result == -EINTR ? 0 : result > 0 ? -EIO : result;
}
