// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_figures.c - the agent's state as metrics. See agent_state.h. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_metrics.h"
#include "agent/agent_state.h"
#include "base/time.h"
#include "base/util.h"
#include "capture/capture.h"
#include "config/config.h"
#include "cpython/image.h"
#include "resolve/process.h"
#include "worker/worker.h"

/* ---- samples and losses ---- */

void agent_totals(const struct agent *a, struct totals *t, struct capture_counts *c)
{
	const struct agent_process *p;
	struct process_stats stats;

	*t = a->ended;
	for (p = agent_processes_first(agent_windows_processes(a->windows)); p; p = p->next) {
		process_stats(p->process, &stats);
		totals_add(t, &stats, false);
	}
	capture_counts(a->capture, c);
	totals_losses(t, c);
}

static void put_capture(const struct agent *a, struct agent_metrics *m)
{
	struct capture_counts c;
	struct totals t;

	agent_totals(a, &t, &c);
	memcpy(m->lost, t.lost, sizeof(m->lost));
	m->ticks = c.bpf[CNT_TICK];
	m->ticks_missed = c.bpf[CNT_MISSED] - c.no_event;
	m->processes_seen = c.processes_seen;
	m->processes = c.processes_live;
	m->processes_pending = c.processes_pending;
	m->has_native = a->config->native != AGENT_NATIVE_OFF;
	m->native = t.native;
	m->native_counts = c.native;
	m->workers_lost += c.native.helper_restarts;
}

static void put_windows(const struct agent *a, struct agent_metrics *m)
{
	struct agent_windows_counts w;

	agent_windows_counts(a->windows, &w);
	memcpy(m->samples, w.samples, sizeof(m->samples));
	memcpy(m->window_others, w.others, sizeof(m->window_others));
	m->lost[LOSS_MEMORY] += w.no_memory;
	m->windows = w.finished;
	m->window_ns = a->config->window_ns;
	m->window_bytes = w.bytes;
	m->stacks = w.stacks;
	m->links_beyond = w.links_beyond;
	m->held_beyond = w.held_beyond;
	m->services_beyond = agent_services_beyond(agent_windows_services(a->windows));
	m->services = agent_services_cnt(agent_windows_services(a->windows));
}

/* ---- costs ---- */

static void put_cost(struct agent *a, struct agent_metrics *m)
{
	struct agent_rate_now now;

	agent_rate_now(a->rate, now_ns(), &now);
	m->cpu_ns[AGENT_PART_MAIN] = now.main_cpu_ns;
	m->cpu_ns[AGENT_PART_WORKERS] = now.own_cpu_ns - now.main_cpu_ns;
	m->cpu_ns[AGENT_PART_BPF] = now.bpf_ns;
	m->rss_bytes[AGENT_PART_MAIN] = now.main_rss;
	m->rss_bytes[AGENT_PART_WORKERS] = now.workers_rss;
	m->budget_ratio = a->config->budget.cpu_percent / 100;
	m->cost_ratio = now.cpu_share;
	m->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->rate_hz = now.rate_hz;
	m->rate_configured_hz = now.configured_hz;
	m->probability = now.probability;
	m->windows_skipped = now.windows_skipped;
}

/* ---- exporters ---- */

static size_t put_exporters(const struct agent *a, struct agent_metrics_exporter *out)
{
	const struct delivery *d = agent_exports_delivery(a->exports);
	size_t cnt = agent_exports_cnt(a->exports), i;

	for (i = 0; i < cnt; i++) {
		out[i].name = agent_exports_name(a->exports, i);
		out[i].counts = delivery_counts(d, i);
		delivery_state(d, i, &out[i].state);
	}
	return cnt;
}

static void put_spool(const struct agent *a, struct agent_metrics *m)
{
	const struct delivery *d = agent_exports_delivery(a->exports);
	const struct spool_dir *spool = delivery_spool(d);

	m->has_spool = true;
	m->spool_bytes = spool_dir_bytes(spool);
	m->spool_limit_bytes = a->config->spool.size_bytes;
	m->spool_entries = spool_dir_cnt(spool);
	m->spool = *spool_dir_counts(spool);
	m->killed_samples = delivery_killed_samples(d);
	m->workers_lost += delivery_senders_lost(d);
	m->encode_cpu_ns = agent_exports_counts(a->exports)->encode_ns;
	m->encode_failures = agent_exports_counts(a->exports)->failed;
	m->too_large_samples = agent_exports_counts(a->exports)->too_large;
}

static size_t put_files(const struct agent *a, struct agent_metrics_files out[2])
{
	struct tach_exporter_stats tach;
	struct pprof_exporter_stats pprof;

	agent_files_stats(a->files, &tach, &pprof);
	out[0] = (struct agent_metrics_files){ .name = "tach", .files = tach.recordings,
					       .failures = tach.errors };
	out[1] = (struct agent_metrics_files){ .name = "pprof", .files = pprof.files,
					       .bytes = pprof.bytes, .failures = pprof.errors };
	return 2;
}

void agent_figures_render(void *ctx, struct metrics_text *t)
{
	struct agent *a = ctx;
	struct agent_metrics_exporter exporters[SENDER_EXPORTERS_MAX];
	struct agent_metrics_files files[2];
	struct agent_metrics m = {
		.version = TACHBPF_VERSION, .exporters = exporters, .files = files,
		.started_wall_ns = a->started_wall_ns, .reload_ok = a->reload_ok,
		.reload_wall_ns = a->reload_wall_ns, .reloads = a->reloads,
		.workers_lost = worker_lost_cnt(),
	};
	struct metrics_server_counts served;
	struct utsname host;

	if (!uname(&host)) {
		m.kernel = host.release;
		m.arch = host.machine;
	}
	m.now_wall_ns = wall_ns();
	put_capture(a, &m);
	put_windows(a, &m);
	if (a->heap) {
		m.heap = agent_heap_counts(a->heap);
		m.heap_late_ns = agent_heap_late_ns(a->heap, now_ns());
	}
	m.loops = a->loops ? agent_loops_counts(a->loops) : NULL;
	put_cost(a, &m);
	m.exporter_cnt = put_exporters(a, exporters);
	put_spool(a, &m);
	m.file_cnt = put_files(a, files);
	metrics_server_counts(a->server, &served);
	m.scrapes = served.texts;
	m.left_out = served.left_out;
	m.workers_lost += served.lost;
	agent_metrics_render(&m, t);
	agent_pythons_render(a->pythons, t);
}

/*
 * The programs are loaded when the loop runs. One exporter that works is enough. One that has not
 * sent anything yet is not known to fail; without any, requests wait in the spool, as they should.
 */
bool agent_figures_ready(void *ctx, char why[METRICS_WHY_BYTES])
{
	const struct agent *a = ctx;
	const struct delivery *d = agent_exports_delivery(a->exports);
	size_t cnt = agent_exports_cnt(a->exports), i;
	struct delivery_state state;
	bool works, on = agent_files_on(a->files, &works);

	for (i = 0; i < cnt && !works; i++) {
		delivery_state(d, i, &state);
		works = !state.failures_in_row;
	}
	if (works || (!cnt && !on))
		return true;
	if (cnt)
		snprintf(why, METRICS_WHY_BYTES, "No exporter works: %s was answered %u (0: no "
			 "answer) %u times in a row.\n", agent_exports_name(a->exports, cnt - 1),
			 state.last_status, state.failures_in_row);
	else
		snprintf(why, METRICS_WHY_BYTES,
			 "No exporter works: files cannot be written; see the agent's log.\n");
	return false;
}

/* ---- processes that have ended ---- */

static void view_end(void *ctx, struct agent_process *p, uint64_t end_ns)
{
	struct agent *a = ctx;
	struct process_stats stats;

	process_stats(p->process, &stats);
	totals_add(&a->ended, &stats, false);
}

struct agent_viewer agent_figures_viewer(struct agent *a)
{
	return (struct agent_viewer){ .end = view_end, .ctx = a };
}
