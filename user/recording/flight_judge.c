// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flight_judge.c - which processes meet the conditions of --when. See flight.h.
 *
 * A second of CLOCK_MONOTONIC is judged when its samples have arrived.
 */
#include <stdio.h>

#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"
#include "recording/flight_parts.h"

/* How long a sample may wait in the ring buffer, and a margin (capture_args.batch_ms). */
#define LATE_NS 300000000ull

void flight_judge_event(struct flight *f, struct kept_process *k, const struct event *ev)
{
	uint64_t second = ev->time_us / 1000000;
	size_t at = second % KEPT_SECONDS;
	struct live_sums sums;

	if (!f->args.when->cnt || second < k->seconds[at].second)
		return;
	sums = live_sums_of(process_tables(k->process), ev, ev->weight * ev->tick_ns);
	if (k->seconds[at].second != second) {
		k->seconds[at].second = second;
		k->seconds[at].sums = (struct live_sums){ 0 };
	}
	live_sums_add(&k->seconds[at].sums, &sums);
}

static void set_fact(struct when_facts *facts, enum when_metric metric, double value)
{
	facts->values[metric] = value;
	facts->known[metric] = true;
}

static void read_facts(const struct flight *f, const struct kept_process *k, uint64_t second,
		       struct when_facts *facts)
{
	size_t at = second % KEPT_SECONDS;
	const struct live_sums none = { 0 };
	const struct live_sums *s = k->seconds[at].second == second ? &k->seconds[at].sums : &none;
	struct proc_status status;
	uint64_t rss;

	*facts = (struct when_facts){ 0 };
	set_fact(facts, WHEN_CPU, 100.0 * s->cpu_ns / NS_PER_S);
	set_fact(facts, WHEN_GIL, 100.0 * s->gil_ns / NS_PER_S);
	set_fact(facts, WHEN_GC, 100.0 * s->gc_ns / NS_PER_S);
	if (when_needs(f->args.when, WHEN_THREADS) &&
	    !proc_status(process_tgid(k->process), &status))
		set_fact(facts, WHEN_THREADS, status.threads);
	if (when_needs(f->args.when, WHEN_RSS) && !proc_rss(process_tgid(k->process), &rss))
		set_fact(facts, WHEN_RSS, (double)rss);
}

static void judge_process(struct flight *f, struct kept_process *k, uint64_t second)
{
	struct flight_met met = {
		.tgid = process_tgid(k->process), .comm = process_comm(k->process),
		.command = k->command,
	};
	struct when_facts facts;
	uint32_t bits;
	size_t i;

	read_facts(f, k, second, &facts);
	bits = when_second(f->args.when, &k->when, &facts);
	for (i = 0; bits; i++, bits >>= 1) {
		if (!(bits & 1))
			continue;
		met.condition = f->args.when->list[i].text;
		when_text(&f->args.when->list[i], &k->when, i, met.text);
		f->args.met(f->args.ctx, &met);
	}
}

void flight_judge(struct flight *f, uint64_t now_ns)
{
	uint64_t end = now_ns > LATE_NS ? (now_ns - LATE_NS) / NS_PER_S : 0;
	struct kept_process *k;
	size_t pos;

	if (!f->args.when->cnt)
		return;
	if (f->judged + KEPT_SECONDS - 1 < end)	/* the sums of older ones may be gone */
		f->judged = end - (KEPT_SECONDS - 1);
	for (; f->judged < end; f->judged++) {
		pos = 0;
		while ((k = u64map_next(&f->live, &pos)))
			judge_process(f, k, f->judged);
	}
}
