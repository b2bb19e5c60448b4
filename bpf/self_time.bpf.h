/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* self_time.bpf.h - how long samples take (--self-time). */
#ifndef TACHBPF_SELF_TIME_H
#define TACHBPF_SELF_TIME_H

#include "pyscratch.bpf.h"

/* Add the time of the sample that began at start, without its stalls, to sample_times. */
static __always_inline void record_time(u64 start)
{
	u32 zero = 0;
	struct sample_times *t = bpf_map_lookup_elem(&sample_times, &zero);
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
	u64 now = bpf_ktime_get_ns(), ns, class;

	if (!t || !s)
		return;
	if (cfg_limit_ns)	/* without a limit the walk has not read the clock */
		detect_stall(s, now);
	ns = now - start - s->stalled_ns;
	class = sample_time_class(ns);
	barrier_var(class);
	if (class >= SAMPLE_TIME_CLASSES)
		return;
	t->stalls += s->stalls;
	t->stalled_ns += s->stalled_ns;
	t->cnt[class]++;
	t->sum_ns += ns;
	if (ns > t->max_ns)
		t->max_ns = ns;
}

#endif
