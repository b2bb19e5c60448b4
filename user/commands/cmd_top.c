// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_top.c - `tachbpf top`: the busiest Python processes, again at the end of each interval; on a terminal
 * as a screen with keys (top_screen.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/record_signals.h"
#include "commands/top_screen.h"
#include "commands/top_session.h"
#include "commands/top_show.h"
#include "doctor/precheck.h"
#include "live/live_counts.h"
#include "live/terminal.h"

#define POLL_MS 200
#define OTHER_ROWS 4	/* of a table: its head, "3 more", the cursor's */

struct top {
	struct top_session session;	/* first */
	const struct top_options *opts;
	bool redraw;		/* on a terminal: each table is drawn over the one before */
	uint64_t window_ns;	/* when the window began */
	uint32_t shown;		/* windows */
};

/* How many rows are shown: on a terminal no more than it has lines. */
static size_t rows(const struct top *t)
{
	struct winsize size;
	size_t room;

	if (!t->redraw || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < OTHER_ROWS + 1)
		return t->opts->limit;
	room = size.ws_row - OTHER_ROWS;
	return !t->opts->limit || room < t->opts->limit ? room : t->opts->limit;
}

static int show(struct top *t, uint64_t now)
{
	struct top_window w = { .limit = rows(t), .ns = now - t->window_ns,
				.rate_hz = capture_rate(t->session.capture),
				.utc_s = time(NULL) };
	struct live_process *list = live_list(t->session.live, &w.cnt);

	if (!list)
		return -ENOMEM;
	w.list = list;
	live_total(t->session.live, &w.total);
	if (t->opts->json) {
		top_json(&w);
	} else {
		if (t->redraw)
			printf("\033[H\033[2J");
		else if (t->shown)
			printf("\n");
		top_table(&w);
	}
	free(list);
	t->shown++;
	t->window_ns = now;
	live_begin_window(t->session.live);
	return output_flush_stdout();
}

static bool finished(struct top *t)
{
	uint32_t count = t->opts->once ? 1 : t->opts->count;

	return (count && t->shown >= count) || top_session_over(&t->session);
}

static int loop(struct top *t)
{
	uint64_t interval = (uint64_t)(t->opts->interval_s * 1e9), now;
	bool second;
	int err = 0;

	while (!err && !finished(t)) {
		uint64_t left = t->window_ns + interval;

		now = now_ns();
		left = left > now ? (left - now) / 1000000 + 1 : 1;
		err = top_session_poll(&t->session, left < POLL_MS ? (int)left : POLL_MS, &second);
		now = now_ns();
		if (!err && now - t->window_ns >= interval)
			err = show(t, now);
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
	if (!err)
		err = loop(&t);
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
