// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_session.c - see top_state.h. */
#include "commands/top_state.h"

#include <errno.h>

#include "base/start.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_process.h"
#include "commands/command_process.h"
#include "commands/options.h"
#include "host/identity.h"
#include "live/live_counts.h"
#include "look/loop_poll.h"
#include "target/inspector.h"
#include "worker/worker.h"

#define NS_PER_S 1000000000ull
#define RATE_HZ 99

static int open_capture(struct top_session *s, enum record_mode mode, uint32_t rate_hz)
{
	const struct select_options *o = &s->opts->select;
	struct capture_args args = {
		.all = o->all, .rate_hz = rate_hz ? rate_hz : RATE_HZ, .gc = true,
		.native_threads = true, .mode = &record_modes[mode], .async = s->opts->async,
		.identities = s->identities, .observer = live_observer(s->live),
	};

	if (s->conditions.cnt || s->conditions.min_age_s > 0)
		args.proc_filter = &s->conditions;
	s->capture = capture_new(&args);
	return s->capture ? 0 : -errno;
}

/* Workers are started while this process has all of its rights. */
static int start_capture(struct top_session *s, enum record_mode mode, uint32_t rate_hz)
{
	const struct select_options *o = &s->opts->select;
	bool workers = !command_workers_start(0);
	int err = open_capture(s, mode, rate_hz);
	size_t i;

	if (!err)
		capture_process_prepare(workers);
	for (i = 0; !err && i < o->pid_cnt; i++)
		err = capture_add(s->capture, o->pids[i]);
	if (err == -EAGAIN)
		log_error("process %d does not match the filters", o->pids[i - 1]);
	if (!err)
		err = capture_start(s->capture);
	start_over();
	return err;
}

int top_session_begin(struct top_session *s, const struct top_options *opts, enum record_mode mode,
		      uint32_t rate_hz, bool stacks)
{
	uint64_t wait_ns = sampling_interval_us(rate_hz ? rate_hz : RATE_HZ) * 1000;
	int err;

	*s = (struct top_session){ .opts = opts, .conditions = opts->select.proc_filter };
	s->identities = identities_new(inspector_names);
	s->live = live_new(stacks, wait_ns);
	s->labels = top_labels_new();
	s->memory = top_memory_new();
	s->loops = opts->async ? loop_poll_new() : NULL;
	if (!s->identities || !s->live || !s->labels || !s->memory ||
	    (opts->async && !s->loops))
		return -ENOMEM;
	err = start_capture(s, mode, rate_hz);
	if (err)
		return err;
	record_signals_begun();
	s->start_ns = now_ns();
	s->next_second_ns = s->start_ns + NS_PER_S;
	live_begin_window(s->live);
	return 0;
}

int top_session_poll(struct top_session *s, int ms, bool *second)
{
	int err = capture_poll(s->capture, top_loops_wait_ms(s, ms));
	uint64_t now = now_ns();

	if (s->loops && !err)
		loop_poll_tick(s->loops);

	/* What is found at the start is looked at soon. */
	if (!err && now - s->start_ns < NS_PER_S)
		top_loops_second(s);
	*second = !err && now >= s->next_second_ns;
	if (!*second)
		return err;
	s->next_second_ns = now + NS_PER_S;
	err = capture_housekeep(s->capture);
	live_second(s->live, now);
	top_labels_forget(s->labels);
	top_memory_second(s->memory, s->live);
	top_loops_second(s);
	return err;
}

bool top_session_over(struct top_session *s)
{
	struct capture_counts c;

	if (record_signals_seen().own)
		return true;
	if (s->opts->select.all)
		return false;
	capture_counts(s->capture, &c);
	return !c.processes_live && !c.processes_pending;
}

int top_session_end(struct top_session *s)
{
	int err = s->start_ns ? capture_stop(s->capture) : 0;

	capture_free(s->capture);
	live_free(s->live);
	top_labels_free(s->labels);
	top_memory_free(s->memory);
	loop_poll_free(s->loops);
	identities_free(s->identities);
	keeper_end();
	return err;
}
