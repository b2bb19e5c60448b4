/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rate_budget.h - which rate keeps the agent's own cost, and what it exports, within its targets.
 *
 * A pure controller: it reads no clock, no file and no capture, so a test plays a day in a second.
 * The caller measures every few seconds (BUDGET_STEP_NS) and obeys.
 *
 * Each target has a limit of its own; the lowest rate that one of them wants is taken. A limit
 * assumes that its cost grows with the rate, but no faster than in proportion: a fixed part, or
 * stacks that repeat, make it grow slower. Then a step down in proportion never goes too far, and a
 * step up in proportion never costs too much.
 *
 * - Far above the target (a mean of seconds), or above it (a mean of a minute), the rate falls at
 *   once, in proportion, to BUDGET_AIM of the target; if that was not enough, it falls again.
 * - Well below the target (a mean of a minute) it rises by a quarter at most, and then waits.
 * - In between it stays. But a cost that hardly depends on the rate would hold the rate down for
 *   ever, so now and then a higher one is tried. If that costs too much, the rate goes back, and the
 *   next try comes twice as late, at last once an hour.
 *
 * Bytes hardly depend on the rate at once: a window has each stack once, and the stacks of a
 * service are few. So means of bytes are taken over minutes, and each step waits for them.
 */
#ifndef TACHBPF_AGENT_RATE_BUDGET_H
#define TACHBPF_AGENT_RATE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_STEP_NS 5000000000ull	/* a good time between two steps */
#define BUDGET_FAR 1.25			/* of the target: a mean of seconds above this is no chance */
#define BUDGET_AIM 0.85			/* of the target: where a step aims */
#define BUDGET_CALM 0.7			/* of the target: below this the rate rises */
#define BUDGET_RISE 1.25		/* at most, in one step */

/* What is allowed. */
struct budget_targets {
	double cpu_share;	/* of all CPUs of this host, 0 to 1; 0: no limit */
	uint32_t cpus;		/* how many the host has */
	uint64_t bytes_per_minute;	/* 0: no limit */
	uint32_t min_hz, max_hz;	/* max_hz: the rate of the configuration */
};

/* What the time since the last step has cost. */
struct budget_used {
	uint64_t elapsed_ns;
	uint64_t cpu_ns;	/* of the agent, its workers, and its BPF programs */
	uint64_t bytes;		/* that were handed to exporters */
};

enum budget_why {
	BUDGET_FREE,		/* nothing limits the rate: it is max_hz */
	BUDGET_CPU, BUDGET_BYTES,	/* this target has lowered it */
	BUDGET_CPU_OVER, BUDGET_BYTES_OVER,	/* ... to min_hz, and that is still too much */
};

struct budget_limit {
	double target;		/* a second; 0: none */
	double fast, slow;	/* means of the cost a second, at the present rate */
	uint64_t fast_ns, slow_ns;	/* over such times */
	uint64_t hold_ns;	/* at least this long between a change and a rise */
	uint64_t seen_ns;	/* measured so far */
	uint64_t since_ns;	/* since the rate changed */
	uint64_t try_ns;	/* how long after a change a higher rate is tried */
	uint32_t tried_from;	/* the rate before a try; 0: this is no try */
};

struct budget {
	struct budget_targets targets;
	struct budget_limit cpu, bytes;
	uint32_t rate_hz;	/* in force */
	enum budget_why why;
};

/* Begin with the highest rate. */
void budget_init(struct budget *b, const struct budget_targets *targets);

/*
 * Other targets (SIGHUP). What was learned stays; the rate is kept within the new bounds, and is
 * the new max_hz if nothing lowered it. Returns the rate to use now.
 */
uint32_t budget_retarget(struct budget *b, const struct budget_targets *targets);

/*
 * The next rate. The rate of the last answer must have been in force all the time: leave out a time
 * with another one (a burst) or without samples (probability): then call budget_step() with what
 * came after. elapsed_ns 0 changes nothing.
 */
uint32_t budget_step(struct budget *b, const struct budget_used *used);

/* "free", "cpu", "bytes", "cpu-over", "bytes-over": for metrics and status. */
const char *budget_why_name(enum budget_why why);

/* The share of all CPUs that was used of late (a mean of a minute); 0: not known yet. */
double budget_cpu_share(const struct budget *b);

#endif
