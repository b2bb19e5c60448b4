/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampler.h - what makes samples happen: the clock that ticks on every CPU.
 */
#ifndef TACHBPF_SAMPLER_H
#define TACHBPF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct tachbpf_bpf;
struct sampler;

enum sampler_event {
	SAMPLER_ANY,		/* cycles if the machine has them, else the clock */
	SAMPLER_CYCLES,		/* the hardware's; virtual machines often have none */
	SAMPLER_CLOCK,		/* the kernel's cpu-clock */
};

struct sampler_args {
	uint32_t rate_hz;
	enum sampler_event event;
	const char *cpu_list;	/* "0-3,7"; NULL: every online CPU, as they come and go */
};

/* Nothing ticks yet. NULL with errno; logs why. */
struct sampler *sampler_new(struct tachbpf_bpf *skel, const struct sampler_args *args);

/* Let the clock tick on every selected CPU. 0 or -errno; logs why. */
int sampler_start(struct sampler *s);

/*
 * A file descriptor that becomes readable when sampler_vary() has something to do: for
 * epoll(7). The sampler owns it.
 */
int sampler_timer(const struct sampler *s);

/* Give each CPU's clock another period, if it is time; see tick_jitter.h. */
void sampler_vary(struct sampler *s);

/* CPUs come and go: cover those that came. Call about once a second. */
void sampler_refresh(struct sampler *s);

/* No tick after this. */
void sampler_stop(struct sampler *s);
void sampler_free(struct sampler *s);

/* The hardware counts cycles; otherwise the kernel's CPU clock ticks. */
bool sampler_is_hardware(const struct sampler *s);

/*
 * The mean time between two ticks of a CPU. 0: nobody knows (hardware cycles, whose rate is
 * kept by the kernel).
 */
uint32_t sampler_period_ns(const struct sampler *s);

#endif
