/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampler.h - the perf events that tick on every CPU (cpu_events.h).
 */
#ifndef TACHBPF_SAMPLER_H
#define TACHBPF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct tachbpf_bpf;
struct sampler;

enum sampler_event {
	SAMPLER_ANY,		/* hardware cycles if the machine has them, else cpu-clock */
	SAMPLER_CYCLES,		/* hardware cycles; virtual machines often have none */
	SAMPLER_CLOCK,		/* the kernel's cpu-clock */
};

#define SAMPLER_RATE_MAX_HZ 50000	/* fits raw_header.rate_hz */

struct sampler_args {
	uint32_t rate_hz;
	enum sampler_event event;
	const char *cpu_list;	/* "0-3,7"; NULL: every CPU while it is online */
};

/* Choose the event; sampling does not begin yet. NULL with errno; logs why. */
struct sampler *sampler_new(struct tachbpf_bpf *skel, const struct sampler_args *args);

/*
 * Open the events, which needs rights that are given up afterwards. 0 or -errno; logs why. Some
 * kernels want CAP_SYS_ADMIN for it: there, CPUs that come online later do not tick.
 */
int sampler_open(struct sampler *s);

/* Start the ticks on every selected CPU. 0 or -errno; logs why. */
int sampler_start(struct sampler *s);

/*
 * Returns a file descriptor, owned by the sampler, that is readable when sampler_vary() must be
 * called.
 */
int sampler_timer(const struct sampler *s);

/* Give each CPU another period, if it is time for that; see tick_jitter.h. */
void sampler_vary(struct sampler *s);

/*
 * Change the rate of all CPUs in place; the ticks go on. Time of a CPU that got no tick because its
 * timer was restarted is paid back with ticks of the new rate (tick_jitter.h). A system call and an
 * interrupt for each CPU: 3 us, in virtual machines 30 us. 0; -EINVAL: not started, or not 1 to
 * SAMPLER_RATE_MAX_HZ; other -errno: hardware cycles, and the kernel refused (more than
 * kernel.perf_event_max_sample_rate): then the rate stays.
 */
int sampler_set_rate(struct sampler *s, uint32_t hz);

/* Returns the nominal rate in Hz. */
uint32_t sampler_rate(const struct sampler *s);

/*
 * End the ticks, or let them go on, in place (PERF_EVENT_IOC_DISABLE): a pause costs nothing. A
 * change of the rate in a pause takes effect at its end. Nothing happens if there is nothing to
 * change.
 */
void sampler_pause(struct sampler *s, bool pause);

/*
 * Follow CPUs that went online or offline, also those that did both since the last call. To be
 * called about once a second.
 */
void sampler_refresh(struct sampler *s);

/*
 * The ticks that a CPU did not have, at most, because it was online before sampler_refresh() gave it
 * a new event. How much of that time it was idle is not known.
 */
uint64_t sampler_missed(const struct sampler *s, int cpu);

/* End the ticks on all CPUs. */
void sampler_stop(struct sampler *s);
void sampler_free(struct sampler *s);

/* Returns true if hardware cycles tick, false if the kernel's cpu-clock does. */
bool sampler_is_hardware(const struct sampler *s);

/*
 * The mean time between two ticks of a CPU. 0: it is not known (hardware cycles, whose rate the
 * kernel keeps).
 */
uint32_t sampler_period_ns(const struct sampler *s);

#endif
