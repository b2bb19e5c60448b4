/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tracepoint.h - tracepoints of the kernel, as tracefs lists them. */
#ifndef TACHBPF_PROBE_TRACEPOINT_H
#define TACHBPF_PROBE_TRACEPOINT_H

#include "probe/event_spec.h"

/*
 * Open a perf event for a tracepoint: a BPF program that is attached to it runs at each one, on all
 * CPUs. tracefs need not be mounted. Needs the rights of root. Returns the event, or -errno; logs
 * why, and what the user may have meant.
 */
int tracepoint_open(const struct event_spec *spec);

#endif
