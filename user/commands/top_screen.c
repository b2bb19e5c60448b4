// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * top_screen.c - runs the screen. It is a process of its own: a mode has BPF programs of its own, and who
 * samples has given up the right to load others. So another mode is another process.
 */
#include "commands/top_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture.h"
#include "commands/options.h"
#include "commands/record_signals.h"
#include "commands/top_session.h"
#include "commands/top_state.h"
#include "live/canvas.h"
#include "live/keys.h"
#include "live/live_counts.h"
#include "live/live_recent.h"
#include "live/terminal.h"

#define POLL_MS 200
#define ESC_MS 50	/* bytes of one key come together */

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

static int refresh(struct top_ui *ui, struct canvas *c, bool counts)
{
	size_t rows, columns;
	int err = 0;

	terminal_size(&rows, &columns);
	if (counts)
		err = top_rows_make(ui, columns);
	if (!err)
		err = top_rows_choose(ui);
	return err ? err : top_draw(ui, c, rows, columns);
}

/* Do what was typed; a key acts on what the one before has shown. */
static int take_keys(struct top_ui *ui, struct canvas *c, struct keys *keys)
{
	char bytes[KEYS_BYTES];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	int key, err = terminal_has_gone() ? -EIO : 0;

	if (n > 0)
		keys_add(keys, bytes, (size_t)n);
	while (!err && !ui->quit && !ui->restart && (key = keys_next(keys, n <= 0))) {
		top_key(ui, key);
		err = refresh(ui, c, !ui->paused);
	}
	return err;
}

static int loop(struct top_ui *ui, struct canvas *c, uint64_t interval)
{
	struct keys keys = { .len = 0 };
	uint64_t shown_ns = 0;
	bool second, due;
	int err = 0;

	while (!err && !ui->quit && !ui->restart && !top_session_over(ui->session)) {
		due = now_ns() - shown_ns >= interval && !ui->paused;
		if (due)
			shown_ns = now_ns();
		err = top_session_poll(ui->session, keys.len ? ESC_MS : POLL_MS, &second);
		if (!err && second && ui->choice->entered)
			keep_second(ui);
		if (!err && (due || terminal_resized()))
			err = refresh(ui, c, !ui->paused);
		if (!err)
			err = take_keys(ui, c, &keys);
	}
	return err;
}

static int show(struct top_ui *ui, const struct args *args)
{
	struct canvas *c = canvas_new();
	uint64_t interval = (uint64_t)(args->opts->interval_s * 1e9);
	int err = c ? capture_wake_for(ui->session->capture, STDIN_FILENO) : -errno;

	if (!err)
		err = refresh(ui, c, true);
	if (!err)
		err = loop(ui, c, interval);
	canvas_free(c);
	return err;
}

/* The child: terminal_run(). */
static int run(void *ctx)
{
	struct args *args = ctx;
	struct live_recent recent = { .begun_ns = 0 };
	struct top_session session;
	struct top_ui ui = { .choice = args->choice, .session = &session, .recent = &recent };
	int err, end_err;

	record_signals_catch(false);
	err = top_session_begin(&session, args->opts, args->choice->mode, args->choice->rate_hz,
				true);
	if (!err)
		err = show(&ui, args);
	end_err = top_session_end(&session);
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
	result = terminal_run(run, &args);
	munmap(args.choice, sizeof(*args.choice));
	return result == -EINTR ? 0 : result > 0 ? -EIO : result;
}
