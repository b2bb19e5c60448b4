/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_bursts.h - bursts in which an allocator is probed: how long a process is left alone between
 * them, and what a block that was seen stands for.
 */
#ifndef TACHBPF_PROBE_HEAP_BURSTS_H
#define TACHBPF_PROBE_HEAP_BURSTS_H

#include <stdint.h>

#define BURST_NS 100000000ull
#define BURST_GAPS 9		/* mean time without probes, in bursts */

/* A time without probes after a burst of this length; random: any number. */
uint64_t heap_burst_gap_ns(uint64_t burst_ns, uint64_t random);

/* A share of its speed that a process may have in a burst, from any number. */
double heap_burst_speed(double speed);
/*
 * What is left of a process' speed in bursts. in, between: its user time as a share of their time;
 * cost: what the probes take, as a share of a CPU.
 */
double heap_burst_speed_by(double in, double between, double cost);
/* What a block stands for, in blocks, at this speed. */
double heap_burst_weight(double speed);

#endif
