/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event_spec.h - the argument of -e: the event to record, in perf's and bpftrace's syntax. */
#ifndef TACHBPF_PROBE_EVENT_SPEC_H
#define TACHBPF_PROBE_EVENT_SPEC_H

#include <stddef.h>
#include <stdint.h>

enum event_kind {
	EVENT_NONE,		/* a clock, not an event: enum sampler_event */
	EVENT_SOFTWARE,		/* counted by the kernel: page-faults */
	EVENT_HARDWARE,		/* counted by the CPU: cache-misses */
	EVENT_TRACEPOINT,	/* tracepoint:CATEGORY:NAME, CATEGORY:NAME */
	EVENT_UPROBE,		/* uprobe:FILE:FUNCTION */
	EVENT_USDT,		/* usdt:PROVIDER:NAME, usdt:FILE:PROVIDER:NAME */
};

#define EVENT_PART_BYTES 128
#define EVENT_FILE_BYTES 512
#define EVENT_NAME_BYTES (EVENT_FILE_BYTES + 2 * EVENT_PART_BYTES + 16)

struct event_spec {
	enum event_kind kind;
	uint64_t config;		/* software, hardware: PERF_COUNT_* */
	char name[EVENT_NAME_BYTES];	/* as displayed; for an alias, the event's own name */
	char file[EVENT_FILE_BYTES];	/* uprobe, usdt: a path if it has a '/', else a library's
					 * name; "": none given */
	char group[EVENT_PART_BYTES];	/* tracepoint: the category; usdt: the provider */
	char what[EVENT_PART_BYTES];	/* tracepoint, usdt: the name; uprobe: the function */
};

/*
 * Parse an argument. 0; -EINVAL: it is no event that can be recorded, and why says what to do.
 * cycles and cpu-clock are clocks, and no events here.
 */
int event_spec_parse(const char *word, struct event_spec *spec, char *why, size_t why_size);

/* Returns true if perf counts it on each CPU. Else the program runs at each event, on all CPUs. */
static inline int event_is_counted(const struct event_spec *spec)
{
	return spec->kind == EVENT_SOFTWARE || spec->kind == EVENT_HARDWARE;
}

#endif
