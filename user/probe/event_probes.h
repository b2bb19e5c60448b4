/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* event_probes.h - probes of a function, or a USDT probe, in processes or in a file. */
#ifndef TACHBPF_PROBE_EVENT_PROBES_H
#define TACHBPF_PROBE_EVENT_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/event_spec.h"
#include "probe/prober.h"

/*
 * Probe a process: the files that it has mapped now and whose name matches spec. everywhere: the
 * files' code in all processes, not only this one. As prober_probe(); logs what is probed, or why
 * not.
 */
int event_probe_process(const struct event_spec *spec, pid_t tgid, uint64_t start_ns,
			bool everywhere, prober_take_fn take, void *ctx);

/*
 * Probe a file in all processes: by path, or a library that ld.so.cache lists, or a program in
 * PATH. As event_probe_process().
 */
int event_probe_file(const struct event_spec *spec, prober_take_fn take, void *ctx);

#endif
