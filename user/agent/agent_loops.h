/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_loops.h - with `async: true` and metrics: looks at the event loops of the profiled
 * processes (look/loop_poll.h), and tells the metrics of their services how they fare. Runs in the
 * main process; the reader does the reading.
 */
#ifndef TACHBPF_AGENT_LOOPS_H
#define TACHBPF_AGENT_LOOPS_H

#include <stdint.h>

struct agent_loops;
struct agent_process;
struct loop_poll_counts;

/* NULL with errno. */
struct agent_loops *agent_loops_new(void);
void agent_loops_free(struct agent_loops *l);

/* The following do nothing if l is NULL. Makes the looks that are due: some ms. */
void agent_loops_tick(struct agent_loops *l);
/* Tells the metrics of each of these processes; to be called once a second. */
void agent_loops_second(struct agent_loops *l, struct agent_process *first);
/* When agent_loops_tick() has something to do (now_ns()); UINT64_MAX: nothing. */
uint64_t agent_loops_next_ns(const struct agent_loops *l);

const struct loop_poll_counts *agent_loops_counts(const struct agent_loops *l);

#endif
