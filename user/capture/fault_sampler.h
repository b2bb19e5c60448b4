/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault_sampler.h - the perf events that choose page faults on every CPU: fault_period.h.
 */
#ifndef TACHBPF_FAULT_SAMPLER_H
#define TACHBPF_FAULT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct fault_sampler;

struct fault_sampler_args {
	struct bpf_program *program;	/* runs at each fault that is chosen */
	uint64_t every_bytes;
	uint32_t page_bytes;
	const char *cpu_list;	/* "0-3,7"; NULL: every CPU while it is online */
};

/*
 * Open the events, which needs rights that are given up afterwards; no fault is chosen yet. NULL
 * with errno; logs why.
 */
struct fault_sampler *fault_sampler_new(const struct fault_sampler_args *args);
void fault_sampler_free(struct fault_sampler *f);

/* Begin on every CPU. 0 or -errno; logs why. */
int fault_sampler_start(struct fault_sampler *f);
/* Choose no faults, or go on, in place. */
void fault_sampler_pause(struct fault_sampler *f, bool pause);
/* Give the next CPU's event another period, if it is time for that. */
void fault_sampler_vary(struct fault_sampler *f);
/* Follow CPUs that went online or offline: new events where some have ended. */
void fault_sampler_refresh(struct fault_sampler *f);
void fault_sampler_stop(struct fault_sampler *f);

#endif
