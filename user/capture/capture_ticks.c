// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_ticks.c - what ticks on every CPU, with which periods, and which processes are walked at
 * each tick.
 *
 * Periods change at random; tick_jitter.c computes them. The array tick_periods shows them to the
 * BPF side, which counts missed ticks by them. In a burst, the map burst_procs says which processes
 * are walked at every tick; the BPF side thins the ticks of all others.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/cpu_events.h"
#include "tachbpf.skel.h"

#define NS_PER_S 1000000000ull

struct sampler {
	struct cpu_events cpus;	/* first member: its functions get it as struct cpu_events */
	struct tachbpf_bpf *skel;
	uint32_t rate_hz;
	enum sampler_event event;	/* as in capture_args */
	struct tick_jitter jitter;
	int timer;		/* timerfd; expires when the periods must change: */
	uint64_t turn_ns;	/* then (CLOCK_MONOTONIC); the timer does so later, if at all */
};

/* Returns true if hardware cycles tick, false if the kernel's cpu-clock does. */
static bool is_hardware(const struct sampler *s)
{
	return s->cpus.args.attr.type == PERF_TYPE_HARDWARE;
}

/* ---- what the BPF side knows about a CPU's ticks ---- */

static struct tick_period *period_of(struct sampler *s, const struct cpu_event *e)
{
	return &s->skel->bss->tick_periods[tick_slot(e->cpu)];
}

/* Returns true if the CPU's timer changes at random: the BPF side counts by its own period. */
static bool varies_period(const struct sampler *s, const struct cpu_event *e)
{
	return e->cpu < TICK_CPUS_MAX && !is_hardware(s);
}

/* From now on the CPU's samples report this rate. */
static void publish_rate(struct sampler *s, const struct cpu_event *e, uint32_t hz)
{
	__atomic_store_n(&period_of(s, e)->rate_hz, hz, __ATOMIC_RELAXED);
}

/* Shows the BPF side a CPU's new period. before_ns: the period before; 0: none. */
static void publish_period(struct sampler *s, const struct cpu_event *e, uint64_t before_ns)
{
	struct tick_period *p = period_of(s, e);

	if (!varies_period(s, e))
		return;
	p->since_ns = e->clock.since_ns;
	p->before_ns = before_ns;
	__atomic_store_n(&p->period_ns, e->clock.period_ns, __ATOMIC_RELEASE);
}

/* Until the next publish_period() the BPF side counts no missed ticks of this CPU. */
static void publish_change(struct sampler *s, const struct cpu_event *e)
{
	__atomic_store_n(&period_of(s, e)->period_ns, TICK_PERIOD_CHANGES, __ATOMIC_RELEASE);
}

/* ---- periods that change ---- */

/* The kernel keeps the rate of hardware events, and refuses one above its limit. */
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
	publish_period(s, e, before);
}

/* ns: from now; 0: never. */
static void set_timer(struct sampler *s, uint64_t ns)
{
	struct itimerspec in = {
		.it_value = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S },
	};

	timerfd_settime(s->timer, 0, &in, NULL);
}

/* A timer that has expired needs no read(2): it is set anew. */
static void begin_turns(struct sampler *s)
{
	uint64_t wait = tick_jitter_turn(&s->jitter);

	s->turn_ns = now_ns() + wait;
	set_timer(s, wait);
}

static int ticks_fd(const struct capture *c)
{
	return c->sampler->timer;
}

/* Gives each CPU another period, if that is due; see tick_jitter.h. */
static void ticks_poll(struct capture *c)
{
	struct sampler *s = c->sampler;
	int i;

	if (!s->cpus.started || s->cpus.paused || now_ns() < s->turn_ns)
		return;
	begin_turns(s);
	for (i = 0; i < s->cpus.cnt; i++) {
		struct cpu_event *e = &s->cpus.events[i];

		if (e->fd < 0)
			continue;
		if (is_hardware(s))
			change_frequency(s, e);
		else if (e->cpu < TICK_CPUS_MAX)
			change_period(s, e);
	}
}

/* ---- the rate ---- */

/*
 * Gives a CPU the nominal rate of s->jitter. before: the jitter that it had until now. Ticks before
 * the ioctl have the old rate. If this thread loses its CPU in the middle, ticks of both rates
 * count as of the higher one: some time may be missing, but a tick of 1 ms is never taken for 53
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
	period = varies_period(s, e) ? tick_clock_next(&e->clock, &s->jitter, begin) :
				       NS_PER_S / hz;
	publish_rate(s, e, hz > s->rate_hz ? hz : s->rate_hz);
	if (varies_period(s, e))
		publish_change(s, e);
	if (!ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period)) {
		end = now_ns();
		tick_clock_changed(&e->clock, before, begin + (end - begin) / 2, period);
	}
	publish_period(s, e, period_before);
	publish_rate(s, e, hz);
}

/* Hardware cycles: returns 0, or -errno of the CPU that refused. */
static int change_hardware_rate(struct sampler *s, struct cpu_event *e, uint32_t hz)
{
	uint64_t freq = hz;

	publish_rate(s, e, hz > s->rate_hz ? hz : s->rate_hz);
	if (ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &freq))
		return -errno;
	publish_rate(s, e, hz);
	return 0;
}

/* CPUs from TICK_CPUS_MAX on: all have this rate from now on, and tick without jitter. */
static void publish_other_cpus(struct sampler *s, uint32_t hz)
{
	struct tick_period *p = &s->skel->bss->tick_periods[TICK_CPUS_MAX];

	if (is_hardware(s))
		return;
	p->since_ns = now_ns();
	p->before_ns = hz == s->rate_hz ? 0 : NS_PER_S / s->rate_hz;
	__atomic_store_n(&p->period_ns, NS_PER_S / hz, __ATOMIC_RELEASE);
}

static int change_all(struct sampler *s, uint32_t hz, const struct tick_jitter *before)
{
	int i, err = 0;

	for (i = 0; i < s->cpus.cnt && !err; i++) {
		struct cpu_event *e = &s->cpus.events[i];

		if (e->fd < 0)
			continue;
		if (is_hardware(s))
			err = change_hardware_rate(s, e, hz);
		else
			change_rate(s, e, hz, before);
	}
	publish_other_cpus(s, hz);
	return err;
}

int capture_set_rate(struct capture *c, uint32_t hz)
{
	struct sampler *s = c->sampler;
	struct tick_jitter before = s->jitter;
	uint32_t rate_before = s->rate_hz;
	int err = 0;

	if (!hz || hz > SAMPLER_RATE_MAX_HZ || !s->cpus.started)
		return -EINVAL;
	if (hz == rate_before)
		return 0;
	tick_jitter_set_period(&s->jitter, NS_PER_S / hz, s->cpus.cnt);
	if (!s->cpus.paused) {
		begin_turns(s);
		err = change_all(s, hz, &before);
	}
	if (!err) {
		s->rate_hz = hz;	/* CPUs that come online later begin with it, too */
		return 0;
	}
	/* Only hardware refuses, above the kernel's limit: the CPUs that accepted go back. */
	tick_jitter_set_period(&s->jitter, before.period_ns, s->cpus.cnt);
	change_all(s, rate_before, &before);
	return err;
}

uint32_t capture_rate(const struct capture *c)
{
	return c->sampler->rate_hz;
}

/* ---- a pause ---- */

/* The CPU does not tick from now on; what its clock owes stays owed. */
static void stop_ticks(struct sampler *s, struct cpu_event *e)
{
	cpu_event_enable(e, false);
	if (varies_period(s, e))
		publish_change(s, e);
	tick_clock_settle(&e->clock, &s->jitter, now_ns());
}

/* The first tick comes a whole period from now, at the present rate. */
static void resume_ticks(struct sampler *s, struct cpu_event *e)
{
	uint64_t now = now_ns(), period = s->rate_hz;

	e->clock.since_ns = now;
	if (varies_period(s, e))
		period = tick_clock_next(&e->clock, &s->jitter, now);
	else if (!is_hardware(s))
		period = NS_PER_S / s->rate_hz;
	e->clock.period_ns = period;
	ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period);
	publish_rate(s, e, s->rate_hz);
	cpu_event_enable(e, true);
	publish_period(s, e, 0);
}

/* A cpu_events_args.pause. */
static void pause_ticks(struct cpu_events *c, struct cpu_event *e, bool pause)
{
	if (pause)
		stop_ticks((struct sampler *)c, e);
	else
		resume_ticks((struct sampler *)c, e);
}

/* A change of the rate in a pause takes effect at its end. */
static void ticks_pause(struct capture *c, bool pause)
{
	struct sampler *s = c->sampler;

	if (!s->cpus.started || s->cpus.paused == pause)
		return;
	if (pause)
		set_timer(s, 0);
	else
		begin_turns(s);
	cpu_events_pause(&s->cpus, pause);
	if (!pause)
		publish_other_cpus(s, s->rate_hz);
}

/* ---- the events ---- */

static void count_clock(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->freq = 0;
	/* An idle CPU has no stack, and an idle virtual CPU often does not tick. */
	attr->exclude_idle = 1;
}

/* Returns 0, or -errno: cycles cannot be sampled on this CPU. */
static int count_cycles(const struct sampler *s, struct perf_event_attr *attr, int cpu)
{
	int fd;

	attr->type = PERF_TYPE_HARDWARE;
	attr->config = PERF_COUNT_HW_CPU_CYCLES;
	attr->freq = 1;
	attr->sample_freq = s->rate_hz;
	fd = cpu_event_open(attr, cpu);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* Returns 0, or -errno after logging: -e cycles was given, but cycles cannot be sampled. */
static int choose_event(struct sampler *s)
{
	struct perf_event_attr *attr = &s->cpus.args.attr;
	int err;

	if (s->event == SAMPLER_CLOCK) {
		count_clock(attr);
		return 0;
	}
	err = count_cycles(s, attr, s->cpus.events[0].cpu);
	if (!err)
		return 0;
	if (s->event == SAMPLER_CYCLES) {
		/* The kernel limits a frequency (cycles), but not a period (cpu-clock). */
		if (err == -EINVAL)
			log_error("%u Hz is more than kernel.perf_event_max_sample_rate allows: "
				  "lower -r, or raise the limit with sysctl", s->rate_hz);
		else
			log_error("hardware cycles cannot be sampled (%s): leave out -e cycles to "
				  "use the kernel's cpu-clock", strerror(-err));
		return err;
	}
	log_debug("no hardware cycles (%s): using the kernel's CPU clock instead", strerror(-err));
	count_clock(attr);
	return 0;
}

/* Above the limit perf throttles silently: missed ticks of a busy CPU cannot be counted. */
static void warn_throttled(uint32_t rate_hz)
{
	static const char knob[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	FILE *f = fopen(knob, "re");
	unsigned int max;

	if (f && fscanf(f, "%u", &max) == 1 && rate_hz > max)
		log_warn("the kernel throttles to about %u samples per second: raise "
			 "kernel.perf_event_max_sample_rate, or choose a lower rate", max);
	if (f)
		fclose(f);
}

/* A cpu_events_args.period: a CPU's first one. */
static uint64_t first_period(struct cpu_events *c, struct cpu_event *e)
{
	struct sampler *s = (struct sampler *)c;
	uint64_t period = tick_clock_first(&e->clock, &s->jitter);

	publish_rate(s, e, s->rate_hz);
	if (varies_period(s, e))
		return period;
	return is_hardware(s) ? s->rate_hz : NS_PER_S / s->rate_hz;
}

/* A cpu_events_args.begun. */
static void begin_ticks(struct cpu_events *c, struct cpu_event *e, uint64_t since_ns)
{
	struct sampler *s = (struct sampler *)c;

	tick_clock_changed(&e->clock, &s->jitter, e->seen_ns, e->period);
	publish_period(s, e, 0);
	if (since_ns)
		e->missed += (e->seen_ns - since_ns) * s->rate_hz / NS_PER_S;
}

static void free_sampler(struct sampler *s)
{
	if (!s)
		return;
	cpu_events_free(&s->cpus);
	if (s->timer >= 0)
		close(s->timer);
	free(s);
}

/* Chooses the event; sampling does not begin yet. Returns NULL with errno after logging. */
static struct sampler *new_sampler(struct capture *c)
{
	struct cpu_events_args args = {
		.program = c->skel->progs.on_cpu_tick, .cpu_list = c->args.cpu_list,
		.period = first_period, .begun = begin_ticks, .pause = pause_ticks,
	};
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	s->skel = c->skel;
	s->rate_hz = c->args.rate_hz;
	s->event = c->args.event;
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	err = s->timer < 0 ? -errno : cpu_events_init(&s->cpus, &args);
	if (!err)
		err = choose_event(s);
	if (!err) {
		warn_throttled(s->rate_hz);
		return s;
	}
	free_sampler(s);
	errno = -err;
	return NULL;
}

static int ticks_configure(struct capture *c)
{
	c->sampler = new_sampler(c);
	if (!c->sampler)
		return -errno;
	c->skel->rodata->cfg_ticks = c->mode->ticks;
	/* The kernel keeps the rate of hardware cycles: the period is unknown. */
	c->skel->rodata->cfg_period_ns = is_hardware(c->sampler) ? 0 : NS_PER_S / c->args.rate_hz;
	/* A mode that requires a status has no use for these threads. */
	c->skel->rodata->cfg_native_threads = c->args.native_threads && !c->mode->need_status;
	if (!c->args.bursts)
		bpf_map__set_max_entries(c->skel->maps.burst_procs, 1);
	return 0;
}

static void init_varying(struct sampler *s)
{
	uint64_t seed = now_ns();

	/* A seed that programs cannot know; the time if there is no random number yet. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		log_debug("no random numbers: %s", strerror(errno));
	tick_jitter_init(&s->jitter, NS_PER_S / s->rate_hz, seed, s->cpus.cnt);
}

static int ticks_open(struct capture *c)
{
	struct sampler *s = c->sampler;
	int err;

	init_varying(s);
	err = cpu_events_open(&s->cpus);
	/* A CPU may have no free counter, or the kernel may have lowered its limit of the rate. */
	if (err && err != -EMFILE && is_hardware(s) && s->event == SAMPLER_ANY) {
		log_debug("no hardware cycles on CPU %d (%s): using the kernel's CPU clock instead",
			  s->cpus.failed_cpu, strerror(-err));
		count_clock(&s->cpus.args.attr);
		err = cpu_events_open(&s->cpus);
	}
	return err ? cpu_events_complain(&s->cpus, err) : 0;
}

static int ticks_start(struct capture *c)
{
	int err = cpu_events_start(&c->sampler->cpus);

	if (!err)
		begin_turns(c->sampler);	/* tests see by it that all CPUs tick */
	return err;
}

static void ticks_refresh(struct capture *c)
{
	cpu_events_refresh(&c->sampler->cpus);
}

static void ticks_stop(struct capture *c)
{
	cpu_events_stop(&c->sampler->cpus);
}

static void ticks_free(struct capture *c)
{
	free_sampler(c->sampler);
}

const struct source_ops capture_ticks_source = {
	.configure = ticks_configure,
	.open = ticks_open,
	.fd = ticks_fd,
	.start = ticks_start,
	.poll = ticks_poll,
	.pause = ticks_pause,
	.refresh = ticks_refresh,
	.stop = ticks_stop,
	.free = ticks_free,
};

bool capture_ticks_are_hardware(const struct capture *c)
{
	return c->sampler && is_hardware(c->sampler);
}

uint64_t capture_ticks_missed(const struct capture *c, int cpu)
{
	const struct cpu_event *e = cpu_events_find(&c->sampler->cpus, cpu);

	return e ? e->missed : 0;
}

/* ---- a burst ---- */

void capture_thin_more(struct capture *c)
{
	struct bpf_map *map = c->skel->maps.burst_procs;
	struct tracked *t;
	uint64_t judged;
	size_t pos = 0;

	while (c->chosen && (t = lifecycle_next_profiled(&c->life, &pos))) {
		uint32_t tgid = t->tgid;
		bool known = !bpf_map__lookup_elem(map, &tgid, sizeof(tgid), &judged,
						   sizeof(judged), 0);

		if (!t->start_ns || (known && (!judged || judged == t->start_ns)))
			continue;
		judged = c->chosen(c->chosen_ctx, t->process) ? t->start_ns : 0;
		bpf_map__update_elem(map, &tgid, sizeof(tgid), &judged, sizeof(judged), BPF_ANY);
	}
}

/* Includes processes that have ended. */
static void forget_all(struct capture *c)
{
	struct bpf_map *map = c->skel->maps.burst_procs;
	uint32_t tgid;

	while (!bpf_map__get_next_key(map, NULL, &tgid, sizeof(tgid)))
		if (bpf_map__delete_elem(map, &tgid, sizeof(tgid), 0))
			break;
}

int capture_thin(struct capture *c, unsigned int every, capture_chosen_fn chosen, void *ctx)
{
	c->skel->bss->tick_thinning = 0;
	forget_all(c);
	c->chosen = NULL;
	if (every <= 1)
		return 0;
	if (every > THINNING_MAX || !chosen || !c->args.bursts)
		return -EINVAL;
	c->chosen = chosen;
	c->chosen_ctx = ctx;
	capture_thin_more(c);
	c->skel->bss->tick_thinning = every;
	return 0;
}
