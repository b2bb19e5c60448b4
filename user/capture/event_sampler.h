/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event_sampler.h - perf events on every CPU that choose some of what the kernel or the hardware
 * counts: page faults (fault_period.h), context switches, cache misses.
 */
#ifndef TACHBPF_EVENT_SAMPLER_H
#define TACHBPF_EVENT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct event_sampler;

struct event_sampler_args {
	struct bpf_program *program;	/* runs at each event that is chosen */
	uint32_t type;			/* PERF_TYPE_*, and which of that type */
	uint64_t config;
	uint64_t period;		/* each event of so many is chosen ... */
	uint32_t hz;			/* ... or as many in a second, if this is not 0 ... */
	uint64_t every_bytes;		/* ... or, of page faults, one for so many, at random; 0: not */
	uint32_t page_bytes;
	const char *what;		/* for messages: "page faults" */
	const char *cpu_list;		/* "0-3,7"; NULL: every CPU while it is online */
};

/*
 * Open the events, which needs rights that are given up afterwards; none is chosen yet. NULL
 * with errno; logs why.
 */
struct event_sampler *event_sampler_new(const struct event_sampler_args *args);
void event_sampler_free(struct event_sampler *f);

/* Begin on every CPU. 0 or -errno; logs why. */
int event_sampler_start(struct event_sampler *f);
/* Choose none, or go on, in place. */
void event_sampler_pause(struct event_sampler *f, bool pause);
/* With every_bytes, give the next CPU's event another period, if it is time for that. */
void event_sampler_vary(struct event_sampler *f);
/* Follow CPUs that went online or offline: new events where some have ended. */
void event_sampler_refresh(struct event_sampler *f);
void event_sampler_stop(struct event_sampler *f);

#endif
