// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sampler_rate.c - the periods of the perf events: at random, another rate, a pause. See sampler.h.
 *
 * Periods change at random; tick_jitter.c computes them. The array tick_periods shows them to
 * the BPF side, which counts missed ticks by them.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/sampler_parts.h"
#include "tachbpf.skel.h"

/* ---- periods that change ---- */

bool sampler_is_hardware(const struct sampler *s)
{
	return s->attr.type == PERF_TYPE_HARDWARE;
}

uint32_t sampler_period_ns(const struct sampler *s)
{
	return sampler_is_hardware(s) ? 0 : s->attr.sample_period;
}

static struct tick_period *period_of(struct sampler *s, const struct cpu_event *e)
{
	return &s->skel->bss->tick_periods[tick_slot(e->cpu)];
}

/* Does the timer of this CPU change at random? Then the BPF side counts by its own period. */
static bool varies(const struct sampler *s, const struct cpu_event *e)
{
	return e->cpu < TICK_CPUS_MAX && !sampler_is_hardware(s);
}

void sampler_publish_rate(struct sampler *s, const struct cpu_event *e, uint32_t hz)
{
	__atomic_store_n(&period_of(s, e)->rate_hz, hz, __ATOMIC_RELAXED);
}

void sampler_publish_period(struct sampler *s, const struct cpu_event *e, uint64_t before_ns)
{
	struct tick_period *p = period_of(s, e);

	if (!varies(s, e))
		return;
	p->since_ns = e->clock.since_ns;
	p->before_ns = before_ns;
	__atomic_store_n(&p->period_ns, e->clock.period_ns, __ATOMIC_RELEASE);
}

/* Until the next sampler_publish_period() the BPF side counts no missed ticks of this CPU. */
static void publish_change(struct sampler *s, const struct cpu_event *e)
{
	__atomic_store_n(&period_of(s, e)->period_ns, TICK_PERIOD_CHANGES, __ATOMIC_RELEASE);
}

/* Hardware events have a rate that the kernel keeps. It refuses a rate beyond its limit. */
static void change_frequency(struct sampler *s, struct cpu_event *e)
{
	uint64_t hz = s->rate_hz * tick_clock_factor(&e->clock, &s->jitter) + 0.5;

	if (hz)
		ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &hz);
}

/* The ioctl restarts the timer at some time between begin and end. */
static void change_period(struct sampler *s, struct cpu_event *e)
{
	uint64_t begin = now_ns(), before = e->clock.period_ns;
	uint64_t period = tick_clock_next(&e->clock, &s->jitter, begin);

	publish_change(s, e);
	if (!ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period)) {
		uint64_t end = now_ns();

		tick_clock_changed(&e->clock, &s->jitter, begin + (end - begin) / 2, period);
	}
	sampler_publish_period(s, e, before);
}

/* ns: from now; 0: never. */
static void set_timer(struct sampler *s, uint64_t ns)
{
	struct itimerspec in = {
		.it_value = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S },
	};

	timerfd_settime(s->timer, 0, &in, NULL);
}

void sampler_begin_turns(struct sampler *s)
{
	set_timer(s, tick_jitter_turn(&s->jitter));
}

int sampler_timer(const struct sampler *s)
{
	return s->timer;
}

void sampler_vary(struct sampler *s)
{
	uint64_t expired;
	int i;

	if (!s->started || s->paused || read(s->timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	sampler_begin_turns(s);
	for (i = 0; i < s->cnt; i++) {
		struct cpu_event *e = &s->events[i];

		if (e->fd < 0)
			continue;
		if (sampler_is_hardware(s))
			change_frequency(s, e);
		else if (e->cpu < TICK_CPUS_MAX)
			change_period(s, e);
	}
}

/* ---- the rate ---- */

/*
 * Give a CPU the nominal rate of s->jitter. before: the jitter that it had until now. Ticks before
 * the ioctl are of the old rate. If this thread loses its CPU in the middle, ticks of both rates
 * count as of the higher one: some time may be missing, but never is a tick of 1 ms taken for 53
 * ms.
 */
static void change_rate(struct sampler *s, struct cpu_event *e, uint32_t hz,
			const struct tick_jitter *before)
{
	uint64_t begin = now_ns(), period_before = e->clock.period_ns, period, end;

	/* No tick was due between the last change and now: this gap shows no missed ticks. */
	if (begin - e->clock.since_ns < period_before)
		period_before = 0;
	tick_clock_settle(&e->clock, before, begin);
	period = varies(s, e) ? tick_clock_next(&e->clock, &s->jitter, begin) : NS_PER_S / hz;
	sampler_publish_rate(s, e, hz > s->rate_hz ? hz : s->rate_hz);
	if (varies(s, e))
		publish_change(s, e);
	if (!ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period)) {
		end = now_ns();
		tick_clock_changed(&e->clock, before, begin + (end - begin) / 2, period);
	}
	sampler_publish_period(s, e, period_before);
	sampler_publish_rate(s, e, hz);
}

/* Hardware cycles: 0, or -errno of the CPU that refused. */
static int change_hardware_rate(struct sampler *s, struct cpu_event *e, uint32_t hz)
{
	uint64_t freq = hz;

	sampler_publish_rate(s, e, hz > s->rate_hz ? hz : s->rate_hz);
	if (ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &freq))
		return -errno;
	sampler_publish_rate(s, e, hz);
	return 0;
}

/* CPUs from TICK_CPUS_MAX on: all have this rate from now on, and tick without jitter. */
static void publish_other_cpus(struct sampler *s, uint32_t hz)
{
	struct tick_period *p = &s->skel->bss->tick_periods[TICK_CPUS_MAX];

	if (sampler_is_hardware(s))
		return;
	p->since_ns = now_ns();
	p->before_ns = hz == s->rate_hz ? 0 : NS_PER_S / s->rate_hz;
	__atomic_store_n(&p->period_ns, NS_PER_S / hz, __ATOMIC_RELEASE);
}

static int change_all(struct sampler *s, uint32_t hz, const struct tick_jitter *before)
{
	int i, err = 0;

	for (i = 0; i < s->cnt && !err; i++) {
		struct cpu_event *e = &s->events[i];

		if (e->fd < 0)
			continue;
		if (sampler_is_hardware(s))
			err = change_hardware_rate(s, e, hz);
		else
			change_rate(s, e, hz, before);
	}
	publish_other_cpus(s, hz);
	return err;
}

/* CPUs that come online later begin with this rate, too. */
static void remember_rate(struct sampler *s, uint32_t hz)
{
	s->rate_hz = hz;
	if (sampler_is_hardware(s))
		s->attr.sample_freq = hz;
	else
		s->attr.sample_period = NS_PER_S / hz;
}

int sampler_set_rate(struct sampler *s, uint32_t hz)
{
	struct tick_jitter before = s->jitter;
	uint32_t rate_before = s->rate_hz;
	int err = 0;

	if (!hz || hz > SAMPLER_RATE_MAX_HZ || !s->started)
		return -EINVAL;
	if (hz == rate_before)
		return 0;
	tick_jitter_set_period(&s->jitter, NS_PER_S / hz, s->cnt);
	if (!s->paused) {
		sampler_begin_turns(s);
		err = change_all(s, hz, &before);
	}
	if (!err) {
		remember_rate(s, hz);
		return 0;
	}
	/* Only hardware refuses, above the kernel's limit: those that took it go back. */
	tick_jitter_set_period(&s->jitter, before.period_ns, s->cnt);
	change_all(s, rate_before, &before);
	return err;
}

uint32_t sampler_rate(const struct sampler *s)
{
	return s->rate_hz;
}

/* ---- a pause ---- */

void sampler_pause_cpu(struct sampler *s, struct cpu_event *e)
{
	ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
	e->seen_ns = 0;
	if (varies(s, e))
		publish_change(s, e);
	tick_clock_settle(&e->clock, &s->jitter, now_ns());
}

/* The first tick comes a whole period from now, by the present rate. */
static void resume_cpu(struct sampler *s, struct cpu_event *e)
{
	uint64_t now = now_ns(), period = s->rate_hz;

	e->clock.since_ns = now;
	if (varies(s, e))
		period = tick_clock_next(&e->clock, &s->jitter, now);
	else if (!sampler_is_hardware(s))
		period = NS_PER_S / s->rate_hz;
	e->clock.period_ns = period;
	ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period);
	sampler_publish_rate(s, e, s->rate_hz);
	ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
	sampler_publish_period(s, e, 0);
}

void sampler_pause(struct sampler *s, bool pause)
{
	int i;

	if (!s->started || s->paused == pause)
		return;
	s->paused = pause;
	if (pause)
		set_timer(s, 0);
	else
		sampler_begin_turns(s);
	for (i = 0; i < s->cnt; i++) {
		if (s->events[i].fd < 0)
			continue;
		if (pause)
			sampler_pause_cpu(s, &s->events[i]);
		else
			resume_cpu(s, &s->events[i]);
	}
	if (!pause)
		publish_other_cpus(s, s->rate_hz);
}
