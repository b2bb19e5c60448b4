/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampler_parts.h - what sampler.c (the events) and sampler_rate.c (their periods) share. For these
 * two alone.
 */
#ifndef TACHBPF_SAMPLER_PARTS_H
#define TACHBPF_SAMPLER_PARTS_H

#include <linux/perf_event.h>

#include "capture/sampler.h"
#include "capture/tick_jitter.h"

#define NS_PER_S 1000000000ull

struct bpf_link;

struct cpu_event {
	int cpu;
	int fd;			/* -1: the CPU is offline */
	struct bpf_link *link;	/* owns fd after it was attached; NULL: it does not tick */
	uint64_t first_period;	/* the period with which it was opened */
	uint64_t seen_ns;	/* when it was last found to tick; 0: not since a pause */
	uint64_t seen_enabled_ns;	/* for how long it had been enabled then */
	uint64_t missed;	/* see sampler_missed() */
	struct tick_clock clock;
};

struct sampler {
	struct tachbpf_bpf *skel;
	struct perf_event_attr attr;
	uint32_t rate_hz;
	enum sampler_event event;	/* as in sampler_args */
	bool fixed_cpus, started, paused;
	uint64_t refreshed_ns;	/* when the list of CPUs was last looked at */
	struct cpu_event *events;
	int cnt;
	struct tick_jitter jitter;
	int timer;		/* timerfd; expires when the periods must change */
};

/* From now on the CPU's samples say this rate. */
void sampler_publish_rate(struct sampler *s, const struct cpu_event *e, uint32_t hz);
/* Show the BPF side a CPU's new period. before_ns: the period before, 0: there was none. */
void sampler_publish_period(struct sampler *s, const struct cpu_event *e, uint64_t before_ns);
/* The CPU does not tick from now on; what its clock owes stays owed. */
void sampler_pause_cpu(struct sampler *s, struct cpu_event *e);
/* Set the timer for the first change of periods. */
void sampler_begin_turns(struct sampler *s);

#endif
