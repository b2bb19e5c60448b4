// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * agent.c - see agent.h: drives the parts in one loop, and ends them in order.
 *
 * One thread does everything. Whatever has to wait runs in workers; each part offers a descriptor
 * that wakes capture_poll(), or a time when it is due, and a function that never waits.
 */
#include "agent/agent.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/agent_modes.h"
#include "agent/agent_signals.h"
#include "agent/agent_state.h"
#include "base/start.h"
#include "base/time.h"
#include "base/util.h"
#include "capture/capture.h"
#include "config/config.h"

/* How long requests in flight may take at shutdown. systemd and Kubernetes allow more. */
#define FINISH_MS 4000

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Milliseconds until the next thing is due that has no descriptor to wake the loop. */
static int wait_ms(struct agent *a)
{
	uint64_t now = now_ns(), next;
	bool some_new = agent_processes_some_new(agent_windows_processes(a->windows), now);
	int window = agent_windows_left_ms(a->windows), limit;

	next = now + (some_new ? AGENT_BATCH_NEW_MS : AGENT_BATCH_MS) * NS_PER_MS;
	next = earlier_of(next, delivery_next_ns(agent_exports_delivery(a->exports), now));
	if (a->server)
		next = earlier_of(next, metrics_server_next_ns(a->server));
	next = earlier_of(next, agent_loops_next_ns(a->loops));
	limit = next > now ? (int)((next - now + NS_PER_MS - 1) / NS_PER_MS) : 0;
	return window < limit ? window : limit;
}

static int once_a_second(struct agent *a)
{
	uint64_t now = now_ns();
	int err;

	if (now < a->next_housekeep_ns)
		return 0;
	a->next_housekeep_ns = now + NS_PER_S;
	err = capture_housekeep(a->capture);
	notify_tick(&a->notify, now);
	agent_loops_second(a->loops,
			   agent_processes_first(agent_windows_processes(a->windows)));
	return err;
}

static void count_objects(struct agent *a)
{
	if (!a->heap)
		return;
	agent_heap_tick(a->heap, now_ns());
	agent_rate_beside(a->rate, agent_heap_counts(a->heap)->cpu_ns,
			  agent_heap_is_open(a->heap));
}

static int run_loop(struct agent *a)
{
	const struct metrics_source source = {
		.render = agent_figures_render, .ready = agent_figures_ready, .ctx = a,
	};
	int err = 0;
	bool cut;

	while (!err && !agent_signals_end()) {
		err = capture_poll(a->capture, wait_ms(a));
		if (!err)
			err = once_a_second(a);
		cut = agent_rate_tick(a->rate, now_ns(), agent_exports_counts(a->exports)->bytes);
		if (cut || !agent_windows_left_ms(a->windows)) {
			agent_end_window(a);
			agent_begin_window(a);
		}
		count_objects(a);
		agent_loops_tick(a->loops);
		agent_draft_window(a, now_ns());
		delivery_tick(agent_exports_delivery(a->exports), now_ns());
		metrics_server_tick(a->server, now_ns(), &source);
		if (a->ctl)
			ctl_tick(a->ctl, now_ns());
		if (agent_signals_reload())
			agent_reload(a);
	}
	return err;
}

/* Finishes the open window: its server accepts it at once, or it is spooled. */
static int finish_exports(struct agent *a)
{
	int err;

	notify_stopping(&a->notify);
	err = capture_stop(a->capture);
	agent_end_window(a);
	delivery_finish(agent_exports_delivery(a->exports), FINISH_MS);
	return err;
}

static void log_begun(const struct agent_config *config)
{
	char text[AGENT_MODES_TEXT];

	agent_modes_text(config->modes, config->rate_hz, text);
	log_info("%s", text);
}

int agent_run(const struct agent_options *options, struct agent_config *config)
{
	struct agent *a = calloc(1, sizeof(*a));
	int err = -ENOMEM, end_err;

	if (a) {
		a->options = options;
		a->config = config;
		a->notify.fd = -1;
		agent_take_log(config);
		agent_take_services(a);
		err = agent_start(a);
		start_over();
		config = a->config;
	}
	if (a && !err) {
		agent_signals_begun();
		notify_ready(&a->notify);
		log_begun(a->config);
		err = run_loop(a);
		end_err = finish_exports(a);
		err = err ? err : end_err;
		config = a->config;
	}
	if (a)
		agent_free(a);
	free(a);
	agent_config_free(config);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
