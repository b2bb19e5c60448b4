// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_status.c - the agent's state for `tachbpf agent ctl status`. See agent_state.h. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/agent_state.h"
#include "base/arith.h"
#include "base/json.h"
#include "base/time.h"
#include "base/util.h"
#include "capture/capture.h"
#include "config/config.h"
#include "delivery/spool_dir.h"

struct status {
	struct totals totals;
	struct capture_counts capture;
	struct agent_windows_counts windows;
	uint32_t services;
};

static void collect_status(const struct agent *a, struct status *s)
{
	agent_totals(a, &s->totals, &s->capture);
	agent_windows_counts(a->windows, &s->windows);
	s->services = agent_services_cnt(agent_windows_services(a->windows));
}

static void put_exporter_text(const struct agent *a, size_t i, FILE *f)
{
	const struct delivery *d = agent_exports_delivery(a->exports);
	const struct delivery_counts *c = delivery_counts(d, i);
	struct delivery_state state;
	uint64_t dropped = 0;
	int cause;

	delivery_state(d, i, &state);
	for (cause = 0; cause < DROP_CAUSES; cause++)
		dropped += c->dropped[cause].requests;
	fprintf(f, "exporter %s: %llu requests sent, %zu queued, %llu dropped",
		agent_exports_name(a->exports, i), (unsigned long long)c->sent.requests,
		state.waiting + state.in_flight, (unsigned long long)dropped);
	if (state.failures_in_row)
		fprintf(f, "; the server does not accept them: %s", state.last_text);
	fputc('\n', f);
}

static void put_native_text(const struct status *s, FILE *f)
{
	const struct native_sums *n = &s->totals.native;
	uint64_t stacks = native_sums_stacks(n), cut = native_sums_cut(n);

	fprintf(f, "machine code: %llu frames, %.1f %% without a symbol; %.1f %% of the stacks "
		"unwound in part; %u tables, %llu KiB\n", (unsigned long long)n->frames,
		percent(n->unnamed, n->frames), percent(cut, stacks), s->capture.native.tables,
		(unsigned long long)s->capture.native.memory_bytes / 1024);
}

static void put_heap_text(const struct agent_heap_counts *c, FILE *f)
{
	size_t i;

	fprintf(f, "heap: objects of %llu processes counted, %.3f s",
		(unsigned long long)c->results[AGENT_HEAP_TAKEN], c->cpu_ns / 1e9);
	for (i = AGENT_HEAP_TAKEN + 1; i < AGENT_HEAP_RESULTS; i++)
		if (c->results[i])
			fprintf(f, "; %s: %llu", agent_heap_results[i],
				(unsigned long long)c->results[i]);
	fputc('\n', f);
}

static void put_heap_json(const struct agent_heap_counts *c, struct json *j)
{
	size_t i;

	json_object(j, "heap_censuses");
	for (i = 0; i < AGENT_HEAP_RESULTS; i++)
		json_uint(j, agent_heap_results[i], c->results[i]);
	json_object_end(j);
}

static void put_debug_text(const struct native_counts *n, FILE *f)
{
	fprintf(f, "debug files: %u requested, %u received, %u awaited", n->debug_asked,
		n->debug_found, n->debug_awaited);
	if (n->debug_failure)
		fprintf(f, "; the last request failed: %s", n->debug_failure);
	fputc('\n', f);
}

static void put_text(struct agent *a, const struct status *s, FILE *f)
{
	const struct spool_dir *spool = delivery_spool(agent_exports_delivery(a->exports));
	const char *path = agent_files_path(a->files);
	size_t i;

	fprintf(f, "Python processes: %u in %u services; %u seen so "
		   "far\n", s->capture.processes_live,
		s->services, s->capture.processes_seen);
	fprintf(f, "samples: %llu, %llu lost\n",
		(unsigned long long)(s->totals.samples), (unsigned long long)s->totals.lost_total);
	if (a->config->native != AGENT_NATIVE_OFF)
		put_native_text(s, f);
	if (a->heap)
		put_heap_text(agent_heap_counts(a->heap), f);
	if (a->config->debuginfod.cnt)
		put_debug_text(&s->capture.native, f);
	fprintf(f, "windows: %llu of %g s\n", (unsigned long long)s->windows.finished,
		a->config->window_ns / 1e9);
	for (i = 0; i < agent_exports_cnt(a->exports); i++)
		put_exporter_text(a, i, f);
	if (path)
		fprintf(f, "recording: %s\n", path);
	fprintf(f, "spool: %zu requests, %llu bytes of %llu\n", spool_dir_cnt(spool),
		(unsigned long long)spool_dir_bytes(spool),
		(unsigned long long)a->config->spool.size_bytes);
}

static void put_exporter_json(const struct agent *a, size_t i, struct json *j)
{
	const struct delivery *d = agent_exports_delivery(a->exports);
	const struct delivery_counts *c = delivery_counts(d, i);
	struct delivery_state state;
	int cause;

	delivery_state(d, i, &state);
	json_object(j, NULL);
	json_string(j, "name", agent_exports_name(a->exports, i));
	json_uint(j, "sent_requests", c->sent.requests);
	json_uint(j, "sent_samples", c->sent.samples);
	json_uint(j, "waiting_requests", state.waiting);
	json_uint(j, "in_flight_requests", state.in_flight);
	json_uint(j, "failures_in_row", state.failures_in_row);
	json_string(j, "last_failure", state.last_text);
	json_object(j, "dropped_samples");
	for (cause = 0; cause < DROP_CAUSES; cause++)
		json_uint(j, drop_cause_name(cause), c->dropped[cause].samples);
	json_object_end(j);
	json_object_end(j);
}

static void put_json(struct agent *a, const struct status *s, FILE *f)
{
	const struct spool_dir *spool = delivery_spool(agent_exports_delivery(a->exports));
	const char *path = agent_files_path(a->files);
	struct json j;
	size_t i;

	json_start(&j, f, false);
	json_object(&j, NULL);
	json_string(&j, "version", TACHBPF_VERSION);
	agent_rate_json(a->rate, now_ns(), &j);
	json_uint(&j, "processes", s->capture.processes_live);
	json_uint(&j, "processes_seen", s->capture.processes_seen);
	json_uint(&j, "services", s->services);
	json_uint(&j, "samples", s->totals.samples);
	json_object(&j, "lost");
	for (i = 0; i < LOSS_CNT; i++)
		json_uint(&j, loss_names[i].key, s->totals.lost[i]);
	json_object_end(&j);
	if (a->config->native != AGENT_NATIVE_OFF)
		native_json(&j, &s->totals.native, &s->capture);
	if (a->heap)
		put_heap_json(agent_heap_counts(a->heap), &j);
	json_uint(&j, "windows", s->windows.finished);
	json_double(&j, "window_s", a->config->window_ns / 1e9);
	json_array(&j, "exporters");
	for (i = 0; i < agent_exports_cnt(a->exports); i++)
		put_exporter_json(a, i, &j);
	json_array_end(&j);
	if (path)
		json_string(&j, "recording", path);
	json_uint(&j, "spool_requests", spool_dir_cnt(spool));
	json_uint(&j, "spool_bytes", spool_dir_bytes(spool));
	json_object_end(&j);
	fputc('\n', f);
}

int agent_status(struct agent *a, bool json, struct buf *out)
{
	struct status s = { .services = 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = f ? 0 : -1;

	collect_status(a, &s);
	if (!err && !json)
		err = agent_rate_text(a->rate, now_ns(), out);
	if (f && json)
		put_json(a, &s, f);
	else if (f)
		put_text(a, &s, f);
	if (f && fclose(f))
		err = -1;
	if (!err)
		err = buf_add(out, text, len);
	free(text);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
