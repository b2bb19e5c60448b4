// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* counts_since.c - see counts_since.h. */
#include "recording/counts_since.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "recording/totals.h"

struct counts_since {
	struct capture_counts then;		/* bpf and cpus are below */
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

static uint64_t grown(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

/* What a CPU had then; NULL: it was not there. */
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
		s->cpus_since[i].delivered = grown(now->cpus[i].delivered, then->delivered);
		s->cpus_since[i].missed = grown(now->cpus[i].missed, then->missed);
	}
}

double counts_since(struct counts_since *s, const struct capture_counts *now,
		    struct capture_counts *out)
{
	int i;

	*out = *now;
	for (i = 0; i < CNT_MAX; i++)
		s->bpf_since[i] = grown(now->bpf[i], s->bpf[i]);
	subtract_cpus(s, now, out);
	out->bpf = s->bpf_since;
	out->no_event = grown(now->no_event, s->then.no_event);
	out->received = grown(now->received, s->then.received);
	out->orphans = grown(now->orphans, s->then.orphans);
	out->table_full = grown(now->table_full, s->then.table_full);
	out->files_stuck = grown(now->files_stuck, s->then.files_stuck);
	out->workers_lost = grown(now->workers_lost, s->then.workers_lost);
	out->unidentified = grown(now->unidentified, s->then.unidentified);
	out->scan.threads = grown(now->scan.threads, s->then.scan.threads);
	out->scan.moved = grown(now->scan.moved, s->then.scan.moved);
	out->scan.lost = grown(now->scan.lost, s->then.scan.lost);
	native_counts_since(&out->native, &s->then.native);
	out->startup_cpu_s = s->then.startup_cpu_s;
	return tick_sums_missed_pct(out);
}
