// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * totals.c - see totals.h.
 */
#include "recording/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/json.h"
#include "base/table.h"
#include "base/time.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "recording/capture_counts.h"
#include "resolve/losses.h"

void totals_add(struct totals *t, const struct process_stats *s, bool no_file)
{
	int i;

	t->samples += s->samples;
	t->frames += s->frames;
	t->truncated += s->truncated;
	t->shortened += s->shortened;
	t->frames_left_out += s->frames_left_out;
	t->unreadable += s->unreadable;
	t->switching += s->switching;
	t->unresolved += s->unresolved;
	for (i = 0; i < LOSS_CNT; i++)
		t->named[i] += row_lost(s, i, no_file);
	t->repeated += s->code_repeated;
	native_sums_add(&t->native, s);
	async_stats_add(&t->async, &s->async);
	t->waits.waits += s->waits.waits;
	t->waits.repaired += s->waits.repaired;
	t->waits.guessed += s->waits.guessed;
}

static void add_row(void *ctx, const struct row *row)
{
	struct totals *t = ctx;

	totals_add(t, &row->stats, row_has_no_file(row));
	memory_sums_add(&t->memory, &row->memory);
}

/* A cause is counted by the BPF side for all processes, or by user space for each. */
void totals_losses(struct totals *t, const struct capture_counts *c)
{
	uint64_t counted;
	int i;

	t->lost_total = t->lost_samples = 0;
	for (i = 0; i < LOSS_CNT; i++) {
		counted = losses_counted(i, c->bpf);
		if (i == LOSS_ORPHANS)
			counted = c->orphans;
		if (i == LOSS_PROCESS_TABLE_FULL)
			counted += c->table_full;
		t->lost[i] = counted > t->named[i] ? counted : t->named[i];
		t->lost_total += t->lost[i];
		t->lost_samples += loss_names[i].is_sample ? t->lost[i] : 0;
	}
}

void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t)
{
	memset(t, 0, sizeof(*t));
	recording_each_row(r, add_row, t);
	t->cpu_s = cpu_time_s() - c->startup_cpu_s;
	t->elapsed_s = ((r->end_ns ? r->end_ns : now_ns()) - r->start_ns) / 1e9;
	totals_losses(t, c);
}

/* ---- ticks ---- */

static uint64_t less_or_0(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Sums the BPF side's counts, with its own losses. Unless --no-native-threads was given, the only
 * ticks without a stack that are not sent are those before the interpreter's start.
 */
static void sum_counters(struct tick_sums *out, const struct capture_counts *c)
{
	const uint64_t *cnt = c->bpf;
	uint64_t outside = cnt[CNT_NATIVE_THREAD] + cnt[CNT_NO_FRAMES];
	bool events = cnt[CNT_EVENT];	/* ticks only find processes */
	int i;

	*out = (struct tick_sums){
		.samples = cnt[CNT_SAMPLE] + cnt[CNT_NO_STACK],
		.start = events ? 0 : !cnt[CNT_NO_STACK] ? cnt[CNT_NOT_READY] :
			 less_or_0(outside + cnt[CNT_NOT_READY], cnt[CNT_NO_STACK]),
		.end = events ? 0 : cnt[CNT_ENDED],
		.no_stack = cnt[CNT_NO_STACK] ? 0 : outside,
		.left_out = events ? 0 : cnt[CNT_UNWANTED] + cnt[CNT_THINNED],
		.missed = less_or_0(cnt[CNT_MISSED], c->no_event),
	};
	for (i = 0; i < LOSS_CNT; i++)
		if (loss_names[i].is_sample)
			out->lost += losses_counted(i, cnt);
}

static void sum_all(struct tick_sums *t)
{
	t->all = t->samples + t->start + t->end + t->no_stack + t->left_out + t->lost + t->missed;
}

void tick_sums(struct tick_sums *out, const struct capture_counts *c, const struct totals *t,
	       bool waits)
{
	sum_counters(out, c);
	if (waits) {
		out->lost += t->lost[LOSS_LATE_DISCOVERY];
	} else {
		out->samples = t->samples;
		out->lost = t->lost_samples;
	}
	sum_all(out);
}

uint64_t tick_sums_other(const struct capture_counts *c, const struct totals *t)
{
	return less_or_0(c->bpf[CNT_OTHER] + c->bpf[CNT_UNKNOWN],
			 t->lost[LOSS_LATE_DISCOVERY] + c->unidentified);
}

double tick_sums_missed_pct(const struct capture_counts *c)
{
	struct tick_sums t;

	sum_counters(&t, c);
	sum_all(&t);
	return percent(t.missed + c->bpf[CNT_RING_FULL], t.all);
}

void tick_sums_json(const struct tick_sums *ticks, struct json *j)
{
	json_object(j, "cpu_time");
	json_uint(j, "ticks", ticks->all);
	json_uint(j, "samples", ticks->samples);
	json_uint(j, "start", ticks->start);
	json_uint(j, "end", ticks->end);
	json_uint(j, "no_stack", ticks->no_stack);
	json_uint(j, "left_out", ticks->left_out);
	json_uint(j, "lost", ticks->lost);
	json_uint(j, "missed", ticks->missed);
	json_object_end(j);
}

/* ---- counts of a capture since a time ---- */

struct counts_since {
	struct capture_counts then;		/* bpf and cpus are stored below */
	uint64_t bpf[CNT_MAX], bpf_since[CNT_MAX];
	struct cpu_ticks *cpus, *cpus_since;	/* cpus: then.cpu_cnt */
};

struct counts_since *counts_since_new(const struct capture_counts *now)
{
	struct counts_since *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->then = *now;
	memcpy(s->bpf, now->bpf, sizeof(s->bpf));
	s->then.startup_cpu_s = cpu_time_s();
	s->cpus = calloc(now->cpu_cnt + 1, sizeof(*s->cpus));
	if (!s->cpus) {
		counts_since_free(s);
		return NULL;
	}
	if (now->cpu_cnt)
		memcpy(s->cpus, now->cpus, now->cpu_cnt * sizeof(*s->cpus));
	return s;
}

struct counts_since *counts_since_copy(const struct counts_since *s)
{
	struct capture_counts then = s->then;
	struct counts_since *copy;

	then.bpf = s->bpf;
	then.cpus = s->cpus;
	copy = counts_since_new(&then);
	if (copy)
		copy->then.startup_cpu_s = s->then.startup_cpu_s;
	return copy;
}

void counts_since_free(struct counts_since *s)
{
	if (!s)
		return;
	free(s->cpus);
	free(s->cpus_since);
	free(s);
}

static uint64_t growth_since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* Returns a CPU's ticks then; NULL: it was not online. */
static const struct cpu_ticks *ticks_then(const struct counts_since *s, int cpu)
{
	size_t i;

	for (i = 0; i < s->then.cpu_cnt; i++)
		if (s->cpus[i].cpu == cpu)
			return &s->cpus[i];
	return NULL;
}

/* Without memory there are no CPUs. */
static void subtract_cpus(struct counts_since *s, const struct capture_counts *now,
			  struct capture_counts *out)
{
	const struct cpu_ticks *then;
	size_t i;

	free(s->cpus_since);
	s->cpus_since = calloc(now->cpu_cnt + 1, sizeof(*s->cpus_since));
	out->cpus = s->cpus_since;
	out->cpu_cnt = s->cpus_since ? now->cpu_cnt : 0;
	for (i = 0; i < out->cpu_cnt; i++) {
		s->cpus_since[i] = now->cpus[i];
		then = ticks_then(s, now->cpus[i].cpu);
		if (!then)
			continue;
		s->cpus_since[i].delivered = growth_since(now->cpus[i].delivered, then->delivered);
		s->cpus_since[i].missed = growth_since(now->cpus[i].missed, then->missed);
	}
}

#define COUNTED(member) COLUMN(NULL, struct capture_counts, member)
static const struct column counted[] = {
	COUNTED(no_event), COUNTED(received), COUNTED(orphans), COUNTED(table_full),
	COUNTED(files_stuck), COUNTED(workers_lost), COUNTED(unidentified), COUNTED(scan.threads),
	COUNTED(scan.moved), COUNTED(scan.lost),
};

double counts_since(struct counts_since *s, const struct capture_counts *now,
		    struct capture_counts *out)
{
	int i;

	*out = *now;
	for (i = 0; i < CNT_MAX; i++)
		s->bpf_since[i] = growth_since(now->bpf[i], s->bpf[i]);
	subtract_cpus(s, now, out);
	out->bpf = s->bpf_since;
	table_subtract(counted, ARRAY_SIZE(counted), out, &s->then);
	native_counts_since(&out->native, &s->then.native);
	out->startup_cpu_s = s->then.startup_cpu_s;
	return tick_sums_missed_pct(out);
}
