// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_reload.c - SIGHUP and `ctl reload`: applies another configuration to a running agent. */
#include <string.h>
#include <time.h>

#include "agent/agent_state.h"
#include "base/time.h"
#include "base/util.h"
#include "capture/capture.h"
#include "config/config.h"

/*
 * Applies the configuration to all parts that can refuse it, or to none. Returns 0, or -errno after
 * logging. Requests made earlier keep their place. The exporters point into their configuration,
 * and setting them back might fail, so they are the last that can refuse.
 */
static int exchange_exporters(struct agent *a, const struct agent_config *new)
{
	int err = agent_files_set(a->files, new);

	if (!err)
		err = agent_exports_set(a->exports, new);
	if (err)
		agent_files_set(a->files, a->config);
	return err;
}

/* Returns 0, or -errno after logging: the old selection is in force. */
static int exchange_selection(struct agent *a, const struct agent_config *new)
{
	int old = a->filter, err;

	memset(&a->filters[!old], 0, sizeof(a->filters[!old]));
	err = agent_config_selection(new, &a->filters[!old]);
	a->filter = !old;
	if (!err)
		err = capture_set_filter(a->capture, agent_filter(a));
	if (err)
		a->filter = old;
	proc_filter_free(&a->filters[!a->filter]);
	return err;
}

/* Applies all that can fail, or nothing. */
static int exchange_parts(struct agent *a, const struct agent_config *new,
			  const struct agent_changes *changes)
{
	bool selection = agent_config_changed(changes, "selection");
	int err = selection ? exchange_selection(a, new) : 0;

	if (err)
		return err;
	err = exchange_exporters(a, new);
	if (err && selection)
		exchange_selection(a, a->config);
	return err;
}

/* Rows of metrics have labels, too. */
static void relabel_pythons(struct agent *a)
{
	const struct agent_services *services = agent_windows_services(a->windows);
	struct agent_process *p = agent_processes_first(agent_windows_processes(a->windows));

	for (; p; p = p->next)
		if (p->metrics)
			agent_pythons_moved(a->pythons, p,
					    agent_services_get(services, p->service));
}

static void take_changes(struct agent *a, const struct agent_changes *changes)
{
	const struct agent_config *c = a->config;
	struct window_privacy privacy = agent_window_privacy(c);

	agent_take_services(a);
	agent_take_log(c);
	agent_windows_set_length(a->windows, c->window_ns);
	agent_windows_set_privacy(a->windows, &privacy);
	if (agent_config_changed(changes, "service_rules") ||
	    agent_config_changed(changes, "privacy") || agent_config_changed(changes, "trust"))
		agent_windows_renamed(a->windows);
	if (agent_config_changed(changes, "labels"))
		relabel_pythons(a);
	agent_pythons_set(a->pythons, c->metrics.services, c->modes);
	agent_rate_configure(a->rate, c);
	if (a->heap) {
		const struct agent_heap_args heap = agent_heap_of(a);

		agent_heap_set(a->heap, &heap);
	}
}

/* What was sampled so far belongs to the old configuration. */
static bool exchange_config(struct agent *a, struct agent_config *new,
			    const struct agent_changes *changes)
{
	struct agent_config *old = a->config;

	agent_end_window(a);
	if (exchange_parts(a, new, changes)) {
		agent_begin_window(a);
		return false;
	}
	a->config = new;
	take_changes(a, changes);
	agent_begin_window(a);
	agent_config_free(old);
	return true;
}

bool agent_reload(struct agent *a)
{
	struct agent_changes changes = { .cnt = 0 };
	struct agent_config *new;

	notify_reloading(&a->notify);
	a->reloads++;
	new = agent_config_load(a->options);
	a->reload_ok = new && !agent_config_diff(a->config, new, &changes) &&
		       exchange_config(a, new, &changes);
	if (!a->reload_ok)
		agent_config_free(new);
	if (a->reload_ok) {
		a->reload_wall_ns = wall_ns();
		log_info("configuration reloaded: %zu keys changed", changes.cnt);
	} else {
		log_error("configuration not reloaded: the old one remains in force");
	}
	notify_ready(&a->notify);
	return a->reload_ok;
}
