// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * event_sampler.c - opens, starts and changes the events of each CPU. See event_sampler.h.
 *
 * An event ends when its CPU goes offline, and stays so when the CPU is online again. Whether that
 * has happened shows in the time for which the kernel says it was enabled, which stands still.
 */
#include "capture/event_sampler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/fault_period.h"
#include "host/proc.h"

struct counted_cpu {
	int cpu;
	int fd;			/* -1: there is no event */
	struct bpf_link *link;	/* owns fd after it was attached; NULL: the event chooses none */
	uint64_t period;	/* or the frequency */
	uint64_t enabled_ns;	/* for how long the event was enabled when last looked at */
};

struct event_sampler {
	struct event_sampler_args args;
	bool fixed_cpus, started, paused;
	struct counted_cpu *cpus;
	int cnt;
	int turn;		/* whose period changes next */
	uint64_t turn_ns;	/* when */
	uint64_t random;	/* state of the random generator; not 0 */
};

/* xorshift64* (Vigna 2016) */
static uint64_t next_random(struct event_sampler *f)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * 0x2545f4914f6cdd1dull) >> 16;
}

static uint64_t next_period(struct event_sampler *f)
{
	if (!f->args.every_bytes)
		return f->args.hz ? f->args.hz : f->args.period;
	return fault_period(f->args.every_bytes, f->args.page_bytes, next_random(f));
}

/* ---- one CPU ---- */

static void stop_cpu(struct counted_cpu *c)
{
	if (c->link)
		bpf_link__destroy(c->link);	/* closes fd */
	else if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->link = NULL;
}

/* 0 or -errno. */
static int open_cpu(struct event_sampler *f, struct counted_cpu *c)
{
	struct perf_event_attr attr = {
		.type = f->args.type,
		.size = sizeof(attr),
		.config = f->args.config,
		.sample_period = next_period(f),	/* a union with .sample_freq */
		.freq = f->args.hz > 0,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,	/* the program's attachment enables it */
	};

	c->enabled_ns = 0;
	c->period = attr.sample_period;
	c->fd = syscall(SYS_perf_event_open, &attr, -1, c->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return c->fd < 0 ? -errno : 0;
}

static void enable_cpu(struct counted_cpu *c, bool enable)
{
	if (c->fd >= 0)
		ioctl(c->fd, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* 0 or -errno; then the CPU has no event. */
static int start_cpu(struct event_sampler *f, struct counted_cpu *c)
{
	int err = c->fd < 0 ? open_cpu(f, c) : 0;

	if (err)
		return err;
	c->link = bpf_program__attach_perf_event(f->args.program, c->fd);
	if (!c->link) {
		err = -errno;
		stop_cpu(c);
	} else if (f->paused) {	/* attaching has enabled it */
		enable_cpu(c, false);
	}
	return err;
}

/* Has the CPU been offline since the last call? */
static bool has_ended(const struct event_sampler *f, struct counted_cpu *c)
{
	uint64_t value[2], before = c->enabled_ns;	/* of read(2): the count, then the time */

	if (f->paused || read(c->fd, value, sizeof(value)) != sizeof(value))
		return false;
	c->enabled_ns = value[1];
	return before && before == c->enabled_ns;
}

/* ---- all of them ---- */

/*
 * Call how() for each CPU. 0; or -errno, and *cpu is the CPU for which it failed: then no CPU has
 * an event.
 */
static int each_cpu(struct event_sampler *f,
		    int (*how)(struct event_sampler *f, struct counted_cpu *c), int *cpu)
{
	int i, err, done = 0;

	for (i = 0; i < f->cnt; i++) {
		err = how(f, &f->cpus[i]);
		if (err == -ENODEV && !f->fixed_cpus)
			continue;	/* it went offline after the CPUs were listed */
		if (err) {
			*cpu = f->cpus[i].cpu;
			event_sampler_stop(f);
			return err;
		}
		done++;
	}
	return done ? 0 : -ENODEV;
}

/* What to do about it; "": nothing is known. */
static const char *remedy(const struct event_sampler *f, int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return ": perf_event_open(2) is denied, by a seccomp filter (containers have one) or "
		       "a security module";
	case -EMFILE:
		return ": raise the limit of open files (ulimit -n)";
	case -ENODEV:
		return ": it is offline; choose others with -C";
	case -EINVAL:
		return f->args.hz ? ": lower -r or raise kernel.perf_event_max_sample_rate" : "";
	case -EBUSY:
		return ": another program has all of the hardware's counters";
	default:
		return "";
	}
}

/* Log why. Returns err. */
static int complain(const struct event_sampler *f, int cpu, int err)
{
	if (f->args.type == PERF_TYPE_HARDWARE && (err == -ENOENT || err == -EOPNOTSUPP))
		log_error("this machine's hardware counts no %s (virtual machines seldom have "
			  "hardware counters; `perf list hw` shows them): choose a software event "
			  "such as page-faults, or record on the physical machine", f->args.what);
	else
		log_error("cannot follow the %s of CPU %d: %s%s", f->args.what, cpu,
			  strerror(-err), remedy(f, err));
	return err;
}

static struct counted_cpu *add_cpu(struct event_sampler *f, int cpu)
{
	struct counted_cpu *bigger = realloc(f->cpus, (f->cnt + 1) * sizeof(*bigger)), *c;

	if (!bigger)
		return NULL;
	f->cpus = bigger;
	c = &bigger[f->cnt++];
	*c = (struct counted_cpu){ .cpu = cpu, .fd = -1 };
	return c;
}

struct event_sampler *event_sampler_new(const struct event_sampler_args *args)
{
	struct event_sampler *f = calloc(1, sizeof(*f));
	int *cpus = NULL, cnt, cpu = 0, i, err = 0;

	if (!f)
		return NULL;
	f->args = *args;
	f->fixed_cpus = args->cpu_list;
	/* A seed that programs cannot know; if there is no random number yet, the time. */
	if (getrandom(&f->random, sizeof(f->random), GRND_NONBLOCK) < 0)
		f->random = now_ns();
	f->random |= 1;
	cnt = args->cpu_list ? proc_cpu_list(args->cpu_list, &cpus) : proc_online_cpus(&cpus);
	for (i = 0; i < cnt && !err; i++)
		err = add_cpu(f, cpus[i]) ? 0 : -ENOMEM;
	free(cpus);
	if (!err)
		err = each_cpu(f, open_cpu, &cpu);
	if (!err)
		return f;
	complain(f, cpu, err);
	event_sampler_free(f);
	errno = -err;
	return NULL;
}

void event_sampler_free(struct event_sampler *f)
{
	if (!f)
		return;
	event_sampler_stop(f);
	free(f->cpus);
	free(f);
}

int event_sampler_start(struct event_sampler *f)
{
	int cpu = 0, err = each_cpu(f, start_cpu, &cpu);

	if (err)
		return complain(f, cpu, err);
	f->started = true;
	f->turn_ns = now_ns() + fault_turn_ns((unsigned int)f->cnt);
	return 0;
}

void event_sampler_pause(struct event_sampler *f, bool pause)
{
	int i;

	if (f->paused == pause)
		return;
	f->paused = pause;
	for (i = 0; f->started && i < f->cnt; i++)
		enable_cpu(&f->cpus[i], !pause);
}

void event_sampler_vary(struct event_sampler *f)
{
	uint64_t now = now_ns(), period;
	struct counted_cpu *c;

	if (!f->args.every_bytes || !f->started || f->paused || now < f->turn_ns)
		return;
	f->turn_ns = now + fault_turn_ns((unsigned int)f->cnt);
	f->turn = (f->turn + 1) % f->cnt;
	c = &f->cpus[f->turn];
	period = next_period(f);
	/* The BPF side sees a change by the period. */
	if (c->fd < 0 || period == c->period || ioctl(c->fd, PERF_EVENT_IOC_PERIOD, &period))
		return;
	c->period = period;
}

static struct counted_cpu *find_cpu(const struct event_sampler *f, int cpu)
{
	int i;

	for (i = 0; i < f->cnt; i++)
		if (f->cpus[i].cpu == cpu)
			return &f->cpus[i];
	return NULL;
}

void event_sampler_refresh(struct event_sampler *f)
{
	int *cpus = NULL, cnt, k;

	if (!f->started)
		return;
	cnt = proc_online_cpus(&cpus);
	for (k = 0; k < cnt; k++) {
		struct counted_cpu *c = find_cpu(f, cpus[k]);

		if (!c && !f->fixed_cpus)
			c = add_cpu(f, cpus[k]);
		if (c && c->fd >= 0 && has_ended(f, c))
			stop_cpu(c);
		if (c && c->fd < 0 && !start_cpu(f, c))
			log_debug("CPU %d came online", c->cpu);
	}
	free(cpus);
}

void event_sampler_stop(struct event_sampler *f)
{
	int i;

	for (i = 0; i < f->cnt; i++)
		stop_cpu(&f->cpus[i]);
	f->started = false;
}
