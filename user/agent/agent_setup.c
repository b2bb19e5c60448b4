// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_setup.c - how the parts of a running agent begin and end. See agent_state.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_modes.h"
#include "agent/agent_signals.h"
#include "agent/agent_state.h"
#include "base/output.h"
#include "base/time.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_process.h"
#include "config/config.h"
#include "delivery/sender.h"
#include "doctor/precheck.h"
#include "doctor/worker_calls.h"
#include "heap/heap_worker.h"
#include "host/identity.h"
#include "host/kallsyms.h"
#include "resolve/process.h"
#include "target/inspector.h"
#include "worker/worker.h"

/* ---- parts ---- */

/* All are 0 before there is a capture. */
static void read_counts(void *ctx, struct capture_counts *out)
{
	static const uint64_t none[CNT_MAX];
	const struct agent *a = ctx;

	*out = (struct capture_counts){ .bpf = none };
	if (a->capture)
		capture_counts(a->capture, out);
}

static int open_files(struct agent *a)
{
	struct agent_files_args args = {
		.config = a->config, .mode = &a->file_mode, .counts = read_counts, .ctx = a,
	};

	agent_modes_record(a->config->modes, &a->mode);
	agent_modes_record(a->config->modes & AGENT_TIMES, &a->file_mode);
	return agent_files_new(&a->files, &args);
}

/* A process has another service now. */
static void service_moved(void *ctx, struct agent_process *p, uint32_t old)
{
	struct agent *a = ctx;

	agent_pythons_moved(a->pythons, p,
			    agent_services_get(agent_windows_services(a->windows), p->service));
}

static int trace_process(void *ctx, const struct agent_process *p)
{
	struct agent *a = ctx;

	return capture_trace_process(a->capture, process_tgid(p->process));
}

static int open_windows(struct agent *a)
{
	struct agent_windows_args args = {
		.modes = a->config->modes, .window_ns = a->config->window_ns,
		.interval_ns = sampling_interval_us(a->config->rate_hz) * 1000,
		.services = &a->services, .privacy = agent_window_privacy(a->config),
		.viewers = { agent_figures_viewer(a), agent_pythons_viewer(a->pythons),
			     agent_files_viewer(a->files) },
		.viewer_cnt = 3, .moved = service_moved,
		.trace = a->config->trace_context ? trace_process : NULL,
		.thread_names = a->config->thread_names, .ctx = a,
	};

	a->windows = agent_windows_new(&args);
	if (!a->windows)
		return -errno;
	agent_files_services(a->files, agent_windows_services(a->windows), &a->services);
	return 0;
}

static int open_heap(struct agent *a)
{
	const struct agent_heap_args args = agent_heap_of(a);

	if (!(a->config->modes & AGENT_HEAP))
		return 0;
	a->heap = agent_heap_new(&args);
	return a->heap ? 0 : -errno;
}

static int open_metrics(struct agent *a)
{
	const struct agent_config *c = a->config;
	const struct agent_list *labels = &c->metrics.labels;

	bool loops = c->async && *c->metrics.listen;

	a->pythons = agent_pythons_new(c->metrics.services, c->modes, loops,
				       (const char *const *)labels->items, labels->cnt,
				       &a->services);
	if (!a->pythons) {
		log_error("cannot serve metrics with %zu labels: %s", labels->cnt,
			  strerror(errno));
		return -errno;
	}
	if (!*c->metrics.listen)
		return 0;
	a->loops = loops ? agent_loops_new() : NULL;
	if (loops && !a->loops)
		return -errno;
	return metrics_server_start(&a->server, c->metrics.listen,
				    (const char *const *)c->metrics.hosts.items,
				    c->metrics.hosts.cnt);
}

static int open_ctl(struct agent *a)
{
	if (!*a->config->ctl.socket)
		return 0;
	a->ctl = ctl_new(a->config->ctl.socket, a->config->ctl.allow_group, agent_obey, a);
	return a->ctl ? 0 : -errno;
}

/* Without the kernel's symbols its functions are left out. */
static void read_kernel_names(struct agent *a)
{
	a->kernel = kallsyms_read("/proc/kallsyms");
	if (!a->kernel)
		log_info("kernel functions are left out: /proc/kallsyms %s", errno == EPERM ?
			 "hides its addresses" : strerror(errno));
}

/* Returns the servers, which fit (config.h); NULL: none. */
static const char *join_servers(struct agent *a)
{
	const struct agent_list *urls = &a->config->debuginfod;
	char *end = a->debug_urls;
	size_t i;

	for (i = 0; i < urls->cnt; i++)
		end = stpcpy(stpcpy(end, i ? " " : ""), urls->items[i]);
	return urls->cnt ? a->debug_urls : NULL;
}

/* Not with what needs rows of one process: recordings, held memory, machine code. */
static bool shares_names(const struct agent_config *c)
{
	return c->native == AGENT_NATIVE_OFF && !(c->modes & AGENT_MEMORY) &&
	       !*c->exporters.tach.dir;
}

static int open_capture(struct agent *a)
{
	static const enum sampler_event events[] = {
		[AGENT_EVENT_AUTO] = SAMPLER_ANY, [AGENT_EVENT_CYCLES] = SAMPLER_CYCLES,
		[AGENT_EVENT_CLOCK] = SAMPLER_CLOCK,
	};
	struct capture_args args = {
		.all = true, .gc = true, .self_time = a->config->budget.cpu_percent > 0,
		.batch_ms = AGENT_BATCH_MS, .reads_begin = true, .bursts = a->ctl,
		.share_names = shares_names(a->config),
		.native_threads = a->config->native_threads,
		.trace_context = a->config->trace_context, .rate_hz = a->config->rate_hz,
		.async = a->config->async,
		.mode = &a->mode, .min_wait_ns = a->config->min_wait_ns,
		.every_bytes = a->mode.memory ? a->config->memory.every_bytes : 0,
		.interval_s = (double)a->config->memory.interval_ns / 1e9,
		.event = events[a->config->event],
		.identities = a->identities, .observer = agent_windows_observer(a->windows),
		.proc_filter = agent_filter(a), .filter_may_change = true,
		.native = a->config->native != AGENT_NATIVE_OFF,
		.native_full = a->config->native == AGENT_NATIVE_FULL,
		.native_lines = a->config->native == AGENT_NATIVE_LINES,
		.debug_urls = join_servers(a), .debug_later = true,
	};

	if (args.native)
		read_kernel_names(a);
	args.kernel = a->kernel;
	a->capture = capture_new(&args);
	return a->capture ? 0 : -errno;
}

static int open_parts(struct agent *a)
{
	int err = agent_config_selection(a->config, &a->filters[0]);

	if (!err)
		err = agent_exports_new(&a->exports, a->config);
	if (!err)
		err = open_files(a);
	if (!err)
		err = open_metrics(a);
	if (!err)
		err = open_ctl(a);
	if (!err)
		err = open_windows(a);
	if (!err)
		err = open_heap(a);
	return err ? err : open_capture(a);
}

/* Adds every descriptor on which the loop acts. */
static int wake_for_parts(struct agent *a)
{
	int err = capture_wake_for(a->capture, delivery_fd(agent_exports_delivery(a->exports)));

	if (!err && a->server)
		err = capture_wake_for(a->capture, metrics_server_fd(a->server));
	if (!err && a->ctl)
		err = capture_wake_for(a->capture, ctl_fd(a->ctl));
	return err;
}

/* A number that survives restarts and differs between hosts; for the probability. */
static uint64_t host_number(void)
{
	char id[64] = "";
	FILE *f = fopen("/etc/machine-id", "re");

	if (!f || !fgets(id, sizeof(id), f))
		gethostname(id, sizeof(id) - 1);
	if (f)
		fclose(f);
	return hash_bytes(id, strlen(id));
}

static int start_workers(const struct agent_config *c)
{
	/* The keeper needs them. */
	static const struct worker_kind *kinds[CAPTURE_WORKERS_MAX + 3];
	size_t cnt = capture_workers((c->native != AGENT_NATIVE_OFF ? CAPTURE_NATIVE : 0) |
				     (c->debuginfod.cnt ? CAPTURE_DEBUGINFOD : 0) |
				     (c->modes & AGENT_MEMORY ? CAPTURE_MEMORY : 0), kinds);

	kinds[cnt++] = &sender_kind;
	kinds[cnt++] = &metrics_server_kind;
	if (c->modes & AGENT_HEAP)
		kinds[cnt++] = &heap_worker_kind;
	return workers_start(kinds, cnt);
}

int agent_start(struct agent *a)
{
	int err = precheck_record(false);

	if (err)
		return err;
	a->started_wall_ns = a->reload_wall_ns = wall_ns();
	a->reload_ok = true;
	notify_begin(&a->notify);
	output_keep_roots();	/* under sudo, too: the agent belongs to the host */
	a->workers = !start_workers(a->config);
	agent_signals_catch();
	a->identities = identities_new(inspector_names);
	err = a->identities ? open_parts(a) : -ENOMEM;
	if (err)
		return err;
	capture_process_prepare(a->workers);
	err = wake_for_parts(a);
	if (!err)
		err = agent_signals_end() ? -EINTR : capture_start(a->capture);
	if (err)
		return err;
	a->rate = agent_rate_new(a->capture, a->config, host_number());
	return a->rate ? 0 : -errno;
}

void agent_free(struct agent *a)
{
	ctl_free(a->ctl);
	metrics_server_end(a->server);
	agent_rate_free(a->rate);
	agent_files_free(a->files);	/* it asks the capture for its counts */
	capture_free(a->capture);
	agent_exports_free(a->exports);
	agent_heap_free(a->heap);
	agent_loops_free(a->loops);
	agent_windows_free(a->windows);
	agent_pythons_free(a->pythons);
	identities_free(a->identities);
	kallsyms_free(a->kernel);
	proc_filter_free(&a->filters[0]);
	proc_filter_free(&a->filters[1]);
	notify_end(&a->notify);
	keeper_end();
}
