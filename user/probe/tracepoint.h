/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tracepoint.h - tracepoints of the kernel, as listed in tracefs. */
#ifndef TACHBPF_PROBE_TRACEPOINT_H
#define TACHBPF_PROBE_TRACEPOINT_H

#include "probe/event_spec.h"

/*
 * Open a perf event for a tracepoint: a BPF program attached to it runs at each hit, on all CPUs.
 * tracefs need not be mounted. Requires root's rights. Returns the event or -errno; logs the
 * reason, and what the user may have meant.
 */
int tracepoint_open(const struct event_spec *spec);

#endif
