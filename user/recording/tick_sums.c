// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tick_sums.c - see tick_sums.h. */
#include "recording/tick_sums.h"

#include "base/arith.h"
#include "base/json.h"
#include "recording/capture_counts.h"
#include "recording/totals.h"
#include "resolve/losses.h"

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * What the BPF side counted, with what it lost itself. Unless --no-native-threads was given, the
 * only ticks without a stack that are not sent are those from before the interpreter's start.
 */
static void sum_counters(struct tick_sums *out, const struct capture_counts *c)
{
	const uint64_t *cnt = c->bpf;
	uint64_t outside = cnt[CNT_NATIVE_THREAD] + cnt[CNT_NO_FRAMES];
	bool events = cnt[CNT_EVENT];	/* ticks only find processes */
	int i;

	*out = (struct tick_sums){
		.samples = cnt[CNT_SAMPLE] + cnt[CNT_NO_STACK],
		.start = events ? 0 : cnt[CNT_NO_STACK] ?
			 less(outside + cnt[CNT_NOT_READY], cnt[CNT_NO_STACK]) : cnt[CNT_NOT_READY],
		.end = events ? 0 : cnt[CNT_ENDED],
		.no_stack = cnt[CNT_NO_STACK] ? 0 : outside,
		.left_out = events ? 0 : cnt[CNT_UNWANTED] + cnt[CNT_THINNED],
		.missed = less(cnt[CNT_MISSED], c->no_event),
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
	return less(c->bpf[CNT_OTHER] + c->bpf[CNT_UNKNOWN],
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
