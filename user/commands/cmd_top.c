// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_top.c - `tachbpf top`: the busiest Python processes, again at the end of each interval.
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
#include "capture/capture_process.h"
#include "commands/command_workers.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/record_signals.h"
#include "commands/top_show.h"
#include "doctor/precheck.h"
#include "host/identity.h"
#include "live/live_counts.h"
#include "target/inspector.h"
#include "worker/worker.h"

#define NS_PER_S 1000000000ull
#define POLL_MS 200
#define RATE_HZ 99
#define OTHER_ROWS 4	/* of a table: its head, "3 more", the cursor's */

struct top {
	const struct top_options *opts;
	struct proc_filter conditions;
	struct identities *identities;
	struct live *live;
	struct capture *capture;
	bool redraw;		/* on a terminal: each table is drawn over the one before */
	uint64_t window_ns;	/* when the window began */
	uint64_t next_housekeep_ns;
	uint32_t shown;		/* windows */
};

static int open_capture(struct top *t)
{
	const struct record_options *o = &t->opts->select;
	struct capture_args args = {
		.all = o->all, .rate_hz = o->rate_hz ? o->rate_hz : RATE_HZ, .gc = true,
		.native_threads = true, .sent_codes = SENT_SLOTS, .mode = &record_modes[RECORD_CPU],
		.identities = t->identities, .observer = live_observer(t->live),
	};

	if (t->conditions.cnt || t->conditions.min_age_s > 0)
		args.proc_filter = &t->conditions;
	t->capture = capture_new(&args);
	return t->capture ? 0 : -errno;
}

static int begin(struct top *t)
{
	const struct record_options *o = &t->opts->select;
	bool workers = !command_workers_start(0);
	int err = open_capture(t);
	size_t i;

	if (!err)
		capture_process_prepare(workers);
	for (i = 0; !err && i < o->pid_cnt; i++)
		err = capture_add(t->capture, o->pids[i]);
	if (err == -EAGAIN)
		log_error("process %d does not meet the conditions", o->pids[i - 1]);
	return err ? err : capture_start(t->capture);
}

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
				.rate_hz = capture_rate(t->capture), .utc_s = time(NULL) };
	struct live_process *list = live_list(t->live, &w.cnt);

	if (!list)
		return -ENOMEM;
	w.list = list;
	live_total(t->live, &w.total);
	if (t->opts->select.json) {
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
	live_begin_window(t->live);
	return fflush(stdout) ? -errno : 0;
}

static bool finished(const struct top *t)
{
	uint32_t count = t->opts->once ? 1 : t->opts->count;
	struct capture_counts c;

	if (record_signals_seen().own || (count && t->shown >= count))
		return true;
	if (t->opts->select.all)
		return false;
	capture_counts(t->capture, &c);
	return !c.processes_live && !c.processes_pending;
}

static int loop(struct top *t)
{
	uint64_t interval = (uint64_t)(t->opts->interval_s * NS_PER_S), now;
	int err = 0;

	while (!err && !finished(t)) {
		uint64_t left = t->window_ns + interval;

		now = now_ns();
		left = left > now ? (left - now) / 1000000 + 1 : 1;
		err = capture_poll(t->capture, left < POLL_MS ? (int)left : POLL_MS);
		now = now_ns();
		if (!err && now >= t->next_housekeep_ns) {
			t->next_housekeep_ns = now + NS_PER_S;
			err = capture_housekeep(t->capture);
		}
		if (!err && now - t->window_ns >= interval)
			err = show(t, now);
	}
	return err;
}

static int run(struct top *t)
{
	int err = begin(t), stop_err;

	if (err)
		return err;
	record_signals_begun();
	t->window_ns = now_ns();
	t->next_housekeep_ns = t->window_ns + NS_PER_S;
	live_begin_window(t->live);
	err = loop(t);
	stop_err = capture_stop(t->capture);
	return err ? err : stop_err;
}

int top_run(const struct top_options *opts)
{
	struct top t = { .opts = opts, .conditions = opts->select.proc_filter };
	int err = precheck_record(opts->select.ignore_kernel_bugs);

	t.redraw = !opts->batch && !opts->once && isatty(STDOUT_FILENO);
	t.identities = identities_new(inspector_names);
	t.live = live_new();
	if (!err && (!t.identities || !t.live))
		err = -ENOMEM;
	record_signals_catch(false);
	if (!err)
		err = run(&t);
	if (!err)
		err = output_flush_stdout();
	capture_free(t.capture);
	live_free(t.live);
	identities_free(t.identities);
	keeper_end();
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
