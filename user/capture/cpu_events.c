// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* cpu_events.c - opens, starts and reopens the perf events of all CPUs. See cpu_events.h. */
#include "capture/cpu_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"

/* Some kernels' clock of perf events is as coarse as their timer interrupt. */
#define CLOCK_GRAIN_NS 20000000ull

/* ---- one CPU ---- */

int cpu_event_open(const struct perf_event_attr *attr, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void cpu_event_enable(struct cpu_event *e, bool enable)
{
	ioctl(e->fd, enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	if (!enable)
		e->seen_ns = 0;
}

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

/* Returns 0 or -errno. */
static int open_cpu(struct cpu_events *c, struct cpu_event *e)
{
	struct perf_event_attr attr = c->args.attr;
	int fd;

	if (c->args.period)	/* sample_period is a union with sample_freq */
		attr.sample_period = c->args.period(c, e);
	fd = cpu_event_open(&attr, e->cpu);
	if (fd < 0)
		return fd;
	e->fd = fd;
	e->period = attr.sample_period;
	return 0;
}

static void pause_cpu(struct cpu_events *c, struct cpu_event *e, bool pause)
{
	if (c->args.pause)
		c->args.pause(c, e, pause);
	else
		cpu_event_enable(e, !pause);
}

/* since_ns: as in cpu_events_args.begun. Returns 0 or -errno; then the CPU has no event. */
static int start_cpu_since(struct cpu_events *c, struct cpu_event *e, uint64_t since_ns)
{
	int err = e->fd < 0 ? open_cpu(c, e) : 0;

	if (err)
		return err;
	e->link = bpf_program__attach_perf_event(c->args.program, e->fd);
	if (!e->link) {
		err = -errno;
		stop_cpu(e);
		return err;
	}
	e->seen_ns = now_ns();
	e->seen_enabled_ns = 0;
	if (c->args.begun)
		c->args.begun(c, e, since_ns);
	if (c->paused)	/* attaching has enabled it */
		pause_cpu(c, e, true);
	return 0;
}

static int start_cpu(struct cpu_events *c, struct cpu_event *e)
{
	return start_cpu_since(c, e, 0);
}

/* ---- all of them ---- */

static struct cpu_event *add_cpu(struct cpu_events *c, int cpu)
{
	struct cpu_event *bigger = realloc(c->events, (c->cnt + 1) * sizeof(*bigger));

	if (!bigger)
		return NULL;
	c->events = bigger;
	bigger[c->cnt] = (struct cpu_event){ .cpu = cpu, .fd = -1 };
	return &bigger[c->cnt++];
}

int cpu_events_init(struct cpu_events *c, const struct cpu_events_args *args)
{
	const char *list = args->cpu_list;
	int *cpus = NULL, cnt = list ? proc_cpu_list(list, &cpus) : proc_online_cpus(&cpus), i;

	c->args = *args;
	c->args.attr.size = sizeof(c->args.attr);
	c->args.attr.disabled = 1;	/* the program's attachment enables it */
	c->args.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	for (i = 0; i < cnt && add_cpu(c, cpus[i]); i++)
		;
	free(cpus);
	if (cnt <= 0) {
		log_error("cannot read the list of CPUs '%s': give a list like 0-3,7",
			  list ? list : "/sys/devices/system/cpu/online");
		return -EINVAL;
	}
	return i < cnt ? -ENOMEM : 0;
}

/* Calls a function for each CPU. Returns 0, or -errno of failed_cpu: then no CPU has an event. */
static int each_cpu(struct cpu_events *c, int (*how)(struct cpu_events *c, struct cpu_event *e))
{
	int i, err, done = 0;

	for (i = 0; i < c->cnt; i++) {
		err = how(c, &c->events[i]);
		if (err == -ENODEV && !c->args.cpu_list)
			continue;	/* it went offline after the CPUs were listed */
		if (err) {
			c->failed_cpu = c->events[i].cpu;
			cpu_events_stop(c);
			return err;
		}
		done++;
	}
	return done ? 0 : -ENODEV;
}

/* The remedy for the user; "" if none is known. */
static const char *open_remedy(const struct cpu_events *c, int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return ": perf_event_open(2) is denied, by a seccomp filter (containers have one) "
		       "or a security module";
	case -EMFILE:
		return ": raise the limit of open files (ulimit -n)";
	case -ENODEV:
		return ": it is offline; choose others with -C";
	case -EINVAL:
		return c->args.attr.freq ?
		       ": lower -r or raise kernel.perf_event_max_sample_rate" : "";
	case -EBUSY:
		return ": another program has all of the hardware's counters";
	default:
		return "";
	}
}

int cpu_events_complain(const struct cpu_events *c, int err)
{
	const char *name = c->args.name;

	if (name && c->args.attr.type == PERF_TYPE_HARDWARE &&
	    (err == -ENOENT || err == -EOPNOTSUPP))
		log_error("this machine's hardware counts no %s (virtual machines seldom have "
			  "hardware counters; `perf list hw` shows them): choose a software event "
			  "such as page-faults, or record on the physical machine", name);
	else
		log_error("cannot %s%s%s CPU %d: %s%s", name ? "follow the " : "sample",
			  name ? name : "", name ? " of" : "", c->failed_cpu, strerror(-err),
			  open_remedy(c, err));
	return err;
}

int cpu_events_open(struct cpu_events *c)
{
	return each_cpu(c, open_cpu);
}

int cpu_events_start(struct cpu_events *c)
{
	int err = each_cpu(c, start_cpu);

	if (err)
		return cpu_events_complain(c, err);
	c->started = true;
	c->refreshed_ns = now_ns();
	return 0;
}

void cpu_events_pause(struct cpu_events *c, bool pause)
{
	int i;

	if (!c->started || c->paused == pause)
		return;
	c->paused = pause;
	for (i = 0; i < c->cnt; i++)
		if (c->events[i].fd >= 0)
			pause_cpu(c, &c->events[i], pause);
}

struct cpu_event *cpu_events_find(const struct cpu_events *c, int cpu)
{
	int i;

	for (i = 0; i < c->cnt; i++)
		if (c->events[i].cpu == cpu)
			return &c->events[i];
	return NULL;
}

/* ---- CPUs that go offline and come online ---- */

/* How long an event has been enabled: the kernel counts it even while the CPU is idle. */
static bool read_enabled(const struct cpu_event *e, uint64_t *ns)
{
	uint64_t value[2];	/* of read(2): the count, then the time */

	if (read(e->fd, value, sizeof(value)) != sizeof(value))
		return false;
	*ns = value[1];
	return true;
}

/*
 * An event ends when its CPU goes offline, and stays ended when the CPU is online again: its
 * enabled time stands still then. Between the end of one read and the begin of the next one less
 * time passes than the event counts, however long this thread waits for its CPU.
 */
static bool stands_still(struct cpu_events *c, struct cpu_event *e)
{
	uint64_t begin = now_ns(), enabled, counted;

	if (c->paused || !read_enabled(e, &enabled))
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

static void stop_ended(struct cpu_events *c, const int *cpus, int cnt)
{
	int i, k;

	for (i = 0; i < c->cnt; i++) {
		struct cpu_event *e = &c->events[i];

		if (e->fd < 0)
			continue;
		for (k = 0; k < cnt && cpus[k] != e->cpu; k++)
			;
		if (k == cnt || stands_still(c, e))
			stop_cpu(e);
	}
}

/* The CPU is online, and has had no event, or one that had ended, since it was last seen. */
static void start_again(struct cpu_events *c, struct cpu_event *e)
{
	uint64_t since = e->seen_ns > c->refreshed_ns ? e->seen_ns : c->refreshed_ns;

	if (!start_cpu_since(c, e, since))
		log_debug("CPU %d came online", e->cpu);
}

void cpu_events_refresh(struct cpu_events *c)
{
	uint64_t now = now_ns();
	int *cpus = NULL, cnt, k;

	if (!c->started)
		return;
	cnt = proc_online_cpus(&cpus);
	if (cnt > 0)
		stop_ended(c, cpus, cnt);
	for (k = 0; k < cnt; k++) {
		struct cpu_event *e = cpu_events_find(c, cpus[k]);

		if (!e && !c->args.cpu_list)
			e = add_cpu(c, cpus[k]);
		if (e && e->fd < 0)
			start_again(c, e);
	}
	free(cpus);
	c->refreshed_ns = now;
}

void cpu_events_stop(struct cpu_events *c)
{
	int i;

	for (i = 0; i < c->cnt; i++)
		stop_cpu(&c->events[i]);
	c->started = false;
}

void cpu_events_free(struct cpu_events *c)
{
	cpu_events_stop(c);
	free(c->events);
	c->events = NULL;
	c->cnt = 0;
}
