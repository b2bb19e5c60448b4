// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sampler.c - one perf event per CPU, to which the BPF program is attached. See sampler.h;
 * sampler_rate.c changes their periods.
 */
#include "capture/sampler_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "tachbpf.skel.h"

/* Some kernels' clock of perf events is as coarse as their timer interrupt. */
#define CLOCK_GRAIN_NS 20000000ull

static int open_event(struct perf_event_attr *attr, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void set_clock(struct perf_event_attr *attr, uint32_t rate_hz)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		/* An idle CPU has no stack, and an idle virtual CPU often does not tick. */
		.exclude_idle = 1,
		.disabled = 1,	/* the program's attachment enables it: no tick comes before */
		.sample_period = NS_PER_S / rate_hz,
	};
}

/* Fills s->attr. 0, or -errno: -e cycles was given, but cycles cannot be sampled; logs why. */
static int choose_event(struct sampler *s, int cpu)
{
	int fd;

	if (s->event == SAMPLER_CLOCK) {
		set_clock(&s->attr, s->rate_hz);
		return 0;
	}
	s->attr = (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(s->attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.freq = 1,
		.sample_freq = s->rate_hz,
	};
	fd = open_event(&s->attr, cpu);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (s->event == SAMPLER_CYCLES) {
		/* The kernel limits a frequency (cycles), but not a period (cpu-clock). */
		if (fd == -EINVAL)
			log_error("%u Hz is more than kernel.perf_event_max_sample_rate allows: "
				  "lower -r, or raise the limit with sysctl", s->rate_hz);
		else
			log_error("the hardware counts no cycles that can be sampled (%s): leave "
				  "out -e cycles for the kernel's cpu-clock", strerror(-fd));
		return fd;
	}
	log_debug("no hardware cycles (%s): the kernel's CPU clock ticks instead", strerror(-fd));
	set_clock(&s->attr, s->rate_hz);
	return 0;
}

/* Beyond the limit perf throttles silently: missed ticks of a busy CPU cannot be counted. */
static void warn_throttled(uint32_t rate_hz)
{
	static const char knob[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	FILE *f = fopen(knob, "re");
	unsigned int max;

	if (f && fscanf(f, "%u", &max) == 1 && rate_hz > max)
		log_warn("the kernel throttles to about %u samples a second: raise "
			 "kernel.perf_event_max_sample_rate or choose a lower rate", max);
	if (f)
		fclose(f);
}

struct sampler *sampler_new(struct tachbpf_bpf *skel, const struct sampler_args *args)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int *cpus = NULL, i, err = -ENOMEM;

	if (!s)
		return NULL;
	s->skel = skel;
	s->rate_hz = args->rate_hz;
	s->event = args->event;
	s->fixed_cpus = args->cpu_list;
	s->cnt = args->cpu_list ? proc_cpu_list(args->cpu_list, &cpus) : proc_online_cpus(&cpus);
	if (s->cnt <= 0) {
		log_error("cannot read the list of CPUs '%s': give a list like 0-3,7",
			  args->cpu_list ? args->cpu_list : "/sys/devices/system/cpu/online");
		free(s);
		errno = EINVAL;
		return NULL;
	}
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->events = s->timer >= 0 ? calloc(s->cnt, sizeof(*s->events)) : NULL;
	for (i = 0; s->events && i < s->cnt; i++)
		s->events[i] = (struct cpu_event){ .cpu = cpus[i], .fd = -1 };
	if (s->events)
		err = choose_event(s, cpus[0]);
	if (!err)
		warn_throttled(s->rate_hz);
	free(cpus);
	if (!err)
		return s;
	if (!s->events)
		s->cnt = 0;
	sampler_free(s);
	errno = -err;
	return NULL;
}

static void init_varying(struct sampler *s)
{
	uint64_t seed = now_ns();

	/* A seed that programs cannot know; if there is no random number yet, the time. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		log_debug("no random numbers: %s", strerror(errno));
	tick_jitter_init(&s->jitter, NS_PER_S / s->rate_hz, seed, s->cnt);
}

/* ---- the events ---- */

static void stop_cpu(struct cpu_event *e)
{
	if (e->fd < 0)
		return;
	ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (e->link)
		bpf_link__destroy(e->link);	/* closes fd */
	else
		close(e->fd);
	e->fd = -1;
	e->link = NULL;
}

/* Open an event, which does not tick yet. 0 or -errno. */
static int open_cpu(struct sampler *s, struct cpu_event *e)
{
	struct perf_event_attr attr = s->attr;
	uint64_t period = tick_clock_first(&e->clock, &s->jitter);
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	if (!sampler_is_hardware(s) && e->cpu < TICK_CPUS_MAX)
		attr.sample_period = period;
	fd = open_event(&attr, e->cpu);
	if (fd < 0)
		return fd;
	e->fd = fd;
	e->first_period = attr.sample_period;
	return 0;
}

/* 0 or -errno; then the CPU has no event. */
static int start_cpu(struct sampler *s, struct cpu_event *e)
{
	int err = e->fd < 0 ? open_cpu(s, e) : 0;

	if (err)
		return err;
	sampler_publish_rate(s, e, s->rate_hz);
	e->link = bpf_program__attach_perf_event(s->skel->progs.on_cpu_tick, e->fd);
	if (!e->link) {
		err = -errno;
		stop_cpu(e);
		return err;
	}
	e->seen_ns = now_ns();
	e->seen_enabled_ns = 0;
	tick_clock_changed(&e->clock, &s->jitter, e->seen_ns, e->first_period);
	sampler_publish_period(s, e, 0);
	if (s->paused)	/* attaching has enabled it */
		sampler_pause_cpu(s, e);
	return 0;
}

/*
 * Call how() for each CPU. 0; or -errno, and *cpu is the CPU for which it failed: then no CPU
 * has an event.
 */
static int each_cpu(struct sampler *s, int (*how)(struct sampler *s, struct cpu_event *e), int *cpu)
{
	int i, err, done = 0;

	for (i = 0; i < s->cnt; i++) {
		err = how(s, &s->events[i]);
		if (err == -ENODEV && !s->fixed_cpus)
			continue;	/* it went offline after the CPUs were listed */
		if (err) {
			*cpu = s->events[i].cpu;
			sampler_stop(s);
			return err;
		}
		done++;
	}
	return done ? 0 : -ENODEV;
}

/* Log why a CPU cannot be sampled. Returns err. */
static int complain(const struct sampler *s, int cpu, int err)
{
	log_error("cannot sample CPU %d: %s%s", cpu, strerror(-err),
		  err == -EPERM || err == -EACCES ?
			  ": perf_event_open(2) is denied, by a seccomp filter "
			  "(containers have one) or a security module" :
		  err == -EMFILE ? ": raise the limit of open files (ulimit -n)" :
		  err == -ENODEV ? ": it is offline; choose others with -C" :
		  err == -EINVAL && sampler_is_hardware(s) ?
			  ": lower -r or raise kernel.perf_event_max_sample_rate" : "");
	return err;
}

int sampler_open(struct sampler *s)
{
	int cpu = 0, err;

	init_varying(s);
	err = each_cpu(s, open_cpu, &cpu);
	/* A CPU may have no free counter, or the kernel may have lowered its limit of the rate. */
	if (err && err != -EMFILE && sampler_is_hardware(s) && s->event == SAMPLER_ANY) {
		log_debug("no hardware cycles on CPU %d (%s): the kernel's CPU clock ticks instead",
			  cpu, strerror(-err));
		set_clock(&s->attr, s->rate_hz);
		err = each_cpu(s, open_cpu, &cpu);
	}
	return err ? complain(s, cpu, err) : 0;
}

int sampler_start(struct sampler *s)
{
	int cpu = 0, err = each_cpu(s, start_cpu, &cpu);

	if (err)
		return complain(s, cpu, err);
	s->started = true;
	s->refreshed_ns = now_ns();
	sampler_begin_turns(s);	/* tests see by it that all CPUs tick */
	return 0;
}

static struct cpu_event *find_cpu(const struct sampler *s, int cpu)
{
	int i;

	for (i = 0; i < s->cnt; i++)
		if (s->events[i].cpu == cpu)
			return &s->events[i];
	return NULL;
}

static struct cpu_event *add_cpu(struct sampler *s, int cpu)
{
	struct cpu_event *bigger = realloc(s->events, (s->cnt + 1) * sizeof(*bigger));

	if (!bigger)
		return NULL;
	s->events = bigger;
	s->events[s->cnt] = (struct cpu_event){ .cpu = cpu, .fd = -1 };
	return &s->events[s->cnt++];
}

/* How long an event has been enabled: the kernel counts it, also while the CPU is idle. */
static bool read_enabled(const struct cpu_event *e, uint64_t *ns)
{
	uint64_t value[2];	/* of read(2): the count, then the time */

	if (read(e->fd, value, sizeof(value)) != sizeof(value))
		return false;
	*ns = value[1];
	return true;
}

/*
 * An event ends when its CPU goes offline, and stays so when the CPU is online again: then the time
 * for which it has been enabled stands still. Between the end of one read and the begin of the next
 * one less time passes than the event counts, however long this thread waits for its CPU.
 */
static bool stands_still(struct sampler *s, struct cpu_event *e)
{
	uint64_t begin = now_ns(), enabled, counted;

	if (s->paused || !read_enabled(e, &enabled))
		return false;
	counted = enabled - e->seen_enabled_ns;
	if (e->seen_ns && counted + CLOCK_GRAIN_NS < begin - e->seen_ns) {
		e->seen_ns += counted;
		return true;
	}
	e->seen_ns = now_ns();
	e->seen_enabled_ns = enabled;
	return false;
}

static void stop_ended(struct sampler *s, const int *cpus, int cnt)
{
	int i, k;

	for (i = 0; i < s->cnt; i++) {
		struct cpu_event *e = &s->events[i];

		if (e->fd < 0)
			continue;
		for (k = 0; k < cnt && cpus[k] != e->cpu; k++)
			;
		if (k == cnt || stands_still(s, e))
			stop_cpu(e);
	}
}

/* The CPU is online, and had no event, or one that had ended, since then. */
static void start_again(struct sampler *s, struct cpu_event *e, uint64_t now)
{
	uint64_t since = e->seen_ns > s->refreshed_ns ? e->seen_ns : s->refreshed_ns;

	if (start_cpu(s, e))
		return;
	log_debug("CPU %d came online", e->cpu);
	e->missed += (now - since) * s->rate_hz / NS_PER_S;
}

void sampler_refresh(struct sampler *s)
{
	uint64_t now = now_ns();
	int *cpus = NULL, cnt, k;

	if (!s->started)
		return;
	cnt = proc_online_cpus(&cpus);
	if (cnt > 0)
		stop_ended(s, cpus, cnt);
	for (k = 0; k < cnt; k++) {
		struct cpu_event *e = find_cpu(s, cpus[k]);

		if (!e && !s->fixed_cpus)
			e = add_cpu(s, cpus[k]);
		if (e && e->fd < 0)
			start_again(s, e, now);
	}
	free(cpus);
	s->refreshed_ns = now;
}

uint64_t sampler_missed(const struct sampler *s, int cpu)
{
	const struct cpu_event *e = find_cpu(s, cpu);

	return e ? e->missed : 0;
}

void sampler_stop(struct sampler *s)
{
	int i;

	for (i = 0; i < s->cnt; i++)
		stop_cpu(&s->events[i]);
	s->started = false;
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	if (s->timer >= 0)
		close(s->timer);
	free(s->events);
	free(s);
}
