// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fault_sampler.c - opens, starts and changes the events of page faults. See fault_sampler.h.
 *
 * An event ends when its CPU goes offline, and stays so when the CPU is online again. Whether that
 * has happened shows in the time for which the kernel says it was enabled, which stands still.
 */
#include "capture/fault_sampler.h"

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

struct cpu_faults {
	int cpu;
	int fd;			/* -1: there is no event */
	struct bpf_link *link;	/* owns fd after it was attached; NULL: the event chooses none */
	uint32_t period;
	uint64_t enabled_ns;	/* for how long the event was enabled when last looked at */
};

struct fault_sampler {
	struct fault_sampler_args args;
	bool fixed_cpus, started, paused;
	struct cpu_faults *cpus;
	int cnt;
	int turn;		/* whose period changes next */
	uint64_t turn_ns;	/* when */
	uint64_t random;	/* state of the random generator; not 0 */
};

/* xorshift64* (Vigna 2016) */
static uint64_t next_random(struct fault_sampler *f)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return (f->random * 0x2545f4914f6cdd1dull) >> 16;
}

static uint32_t next_period(struct fault_sampler *f)
{
	return fault_period(f->args.every_bytes, f->args.page_bytes, next_random(f));
}

/* ---- one CPU ---- */

static void stop_cpu(struct cpu_faults *c)
{
	if (c->link)
		bpf_link__destroy(c->link);	/* closes fd */
	else if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->link = NULL;
}

/* 0 or -errno. */
static int open_cpu(struct fault_sampler *f, struct cpu_faults *c)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.sample_period = next_period(f),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,	/* the program's attachment enables it */
	};

	c->enabled_ns = 0;
	c->period = (uint32_t)attr.sample_period;
	c->fd = syscall(SYS_perf_event_open, &attr, -1, c->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return c->fd < 0 ? -errno : 0;
}

static void enable_cpu(struct cpu_faults *c, bool enable)
{
	if (c->fd >= 0)
		ioctl(c->fd, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* 0 or -errno; then the CPU has no event. */
static int start_cpu(struct fault_sampler *f, struct cpu_faults *c)
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
static bool has_ended(const struct fault_sampler *f, struct cpu_faults *c)
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
static int each_cpu(struct fault_sampler *f,
		    int (*how)(struct fault_sampler *f, struct cpu_faults *c), int *cpu)
{
	int i, err, done = 0;

	for (i = 0; i < f->cnt; i++) {
		err = how(f, &f->cpus[i]);
		if (err == -ENODEV && !f->fixed_cpus)
			continue;	/* it went offline after the CPUs were listed */
		if (err) {
			*cpu = f->cpus[i].cpu;
			fault_sampler_stop(f);
			return err;
		}
		done++;
	}
	return done ? 0 : -ENODEV;
}

/* Log why. Returns err. */
static int complain(int cpu, int err)
{
	log_error("cannot follow the page faults of CPU %d: %s%s", cpu, strerror(-err),
		  err == -EPERM || err == -EACCES ?
			  ": perf_event_open(2) is denied, by a seccomp filter "
			  "(containers have one) or a security module" :
		  err == -EMFILE ? ": raise the limit of open files (ulimit -n)" :
		  err == -ENODEV ? ": it is offline; choose others with -C" : "");
	return err;
}

static struct cpu_faults *add_cpu(struct fault_sampler *f, int cpu)
{
	struct cpu_faults *bigger = realloc(f->cpus, (f->cnt + 1) * sizeof(*bigger)), *c;

	if (!bigger)
		return NULL;
	f->cpus = bigger;
	c = &bigger[f->cnt++];
	*c = (struct cpu_faults){ .cpu = cpu, .fd = -1 };
	return c;
}

struct fault_sampler *fault_sampler_new(const struct fault_sampler_args *args)
{
	struct fault_sampler *f = calloc(1, sizeof(*f));
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
	complain(cpu, err);
	fault_sampler_free(f);
	errno = -err;
	return NULL;
}

void fault_sampler_free(struct fault_sampler *f)
{
	if (!f)
		return;
	fault_sampler_stop(f);
	free(f->cpus);
	free(f);
}

int fault_sampler_start(struct fault_sampler *f)
{
	int cpu = 0, err = each_cpu(f, start_cpu, &cpu);

	if (err)
		return complain(cpu, err);
	f->started = true;
	f->turn_ns = now_ns() + fault_turn_ns((unsigned int)f->cnt);
	return 0;
}

void fault_sampler_pause(struct fault_sampler *f, bool pause)
{
	int i;

	if (f->paused == pause)
		return;
	f->paused = pause;
	for (i = 0; f->started && i < f->cnt; i++)
		enable_cpu(&f->cpus[i], !pause);
}

void fault_sampler_vary(struct fault_sampler *f)
{
	uint64_t now = now_ns(), period;
	struct cpu_faults *c;

	if (!f->started || f->paused || now < f->turn_ns)
		return;
	f->turn_ns = now + fault_turn_ns((unsigned int)f->cnt);
	f->turn = (f->turn + 1) % f->cnt;
	c = &f->cpus[f->turn];
	period = next_period(f);
	/* The BPF side sees a change by the period. */
	if (c->fd < 0 || period == c->period || ioctl(c->fd, PERF_EVENT_IOC_PERIOD, &period))
		return;
	c->period = (uint32_t)period;
}

static struct cpu_faults *find_cpu(const struct fault_sampler *f, int cpu)
{
	int i;

	for (i = 0; i < f->cnt; i++)
		if (f->cpus[i].cpu == cpu)
			return &f->cpus[i];
	return NULL;
}

void fault_sampler_refresh(struct fault_sampler *f)
{
	int *cpus = NULL, cnt, k;

	if (!f->started)
		return;
	cnt = proc_online_cpus(&cpus);
	for (k = 0; k < cnt; k++) {
		struct cpu_faults *c = find_cpu(f, cpus[k]);

		if (!c && !f->fixed_cpus)
			c = add_cpu(f, cpus[k]);
		if (c && c->fd >= 0 && has_ended(f, c))
			stop_cpu(c);
		if (c && c->fd < 0 && !start_cpu(f, c))
			log_debug("CPU %d came online", c->cpu);
	}
	free(cpus);
}

void fault_sampler_stop(struct fault_sampler *f)
{
	int i;

	for (i = 0; i < f->cnt; i++)
		stop_cpu(&f->cpus[i]);
	f->started = false;
}
