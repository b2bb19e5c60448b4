/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cpu_events.h - one perf event on every CPU, each with the same BPF program attached. CPUs that go
 * offline and come online are followed.
 *
 * The owner decides what the events count and with which periods: ticks (capture_ticks.c), page
 * faults (capture_faults.c), the events of -e (capture_event.c).
 */
#ifndef TACHBPF_CPU_EVENTS_H
#define TACHBPF_CPU_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/tick_jitter.h"

struct bpf_link;
struct bpf_program;
struct cpu_events;

struct cpu_event {
	int cpu;
	int fd;			/* -1: there is no event */
	struct bpf_link *link;	/* owns fd after attaching; NULL: the program does not run */
	uint64_t period;	/* the period or frequency it was opened with; then the owner's */
	uint64_t seen_ns;	/* when it was last found to be enabled; 0: not since a pause */
	uint64_t seen_enabled_ns;	/* its enabled time then */
	struct tick_clock clock;	/* the owner's, like missed: for ticks only */
	uint64_t missed;
};

struct cpu_events_args {
	struct bpf_program *program;	/* runs at each sampled event */
	struct perf_event_attr attr;	/* what is counted, and the period if period is NULL */
	const char *name;	/* for messages: "page faults"; NULL: ticks. Outlives the events */
	const char *cpu_list;	/* "0-3,7"; NULL: every CPU while it is online */
	/* The owner's functions; each may be NULL. */
	/* The period, or the frequency, with which an event is opened. */
	uint64_t (*period)(struct cpu_events *c, struct cpu_event *e);
	/* It was enabled at seen_ns. since_ns: since when the CPU had none; 0: it is the first. */
	void (*begun)(struct cpu_events *c, struct cpu_event *e, uint64_t since_ns);
	/* Pauses and resumes an event, in place of cpu_event_enable(). */
	void (*pause)(struct cpu_events *c, struct cpu_event *e, bool pause);
};

/* The owner may read the members; the functions below change them. */
struct cpu_events {
	struct cpu_events_args args;
	struct cpu_event *events;	/* cnt CPUs; moves when a CPU comes online */
	int cnt;
	bool started, paused;
	uint64_t refreshed_ns;	/* when the list of CPUs was last read */
	int failed_cpu;		/* of the last error */
};

/* Lists the CPUs. *c is zero. 0, or -errno after logging; cpu_events_free() in both cases. */
int cpu_events_init(struct cpu_events *c, const struct cpu_events_args *args);
/*
 * Opens all events, which needs rights that are dropped afterwards; the program does not run yet.
 * Returns 0, or -errno: then no CPU has an event. Logs nothing: see cpu_events_complain().
 */
int cpu_events_open(struct cpu_events *c);
/* Logs why the last call failed, and the remedy. Returns err. */
int cpu_events_complain(const struct cpu_events *c, int err);
/* Attaches the program on every CPU. Returns 0, or -errno after logging. */
int cpu_events_start(struct cpu_events *c);
/* Stops sampling or resumes, in place. Does nothing if there is nothing to change. */
void cpu_events_pause(struct cpu_events *c, bool pause);
/*
 * Follows CPUs that went online or offline, or both since the last call. Some kernels require
 * CAP_SYS_ADMIN for new events: there, CPUs that come online later have none.
 */
void cpu_events_refresh(struct cpu_events *c);
/* Closes all events. */
void cpu_events_stop(struct cpu_events *c);
void cpu_events_free(struct cpu_events *c);

/* Returns NULL if the CPU is not one of these. */
struct cpu_event *cpu_events_find(const struct cpu_events *c, int cpu);
/* Opens an event that is disabled until a program is attached. Returns a descriptor or -errno. */
int cpu_event_open(const struct perf_event_attr *attr, int cpu);
/* Enables or disables an event with a program (PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE). */
void cpu_event_enable(struct cpu_event *e, bool enable);

#endif
