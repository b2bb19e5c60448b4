/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rate_budget.h - chooses the rate that keeps the agent's own cost and its exports within targets.
 *
 * A pure controller: it reads no clock, no file and no capture, so a test plays a day in a second.
 * The caller measures every few seconds (BUDGET_STEP_NS) and obeys.
 *
 * Each target has a limit of its own; the lowest rate that one of them wants is used. A limit
 * assumes that its cost grows with the rate, but at most in proportion: a fixed part, or stacks
 * that repeat, make it grow more slowly. So a proportional step down never goes too far, and one
 * up never costs too much.
 *
 * - Far above the target (by a mean of seconds), or above it (by a mean of a minute), the rate
 *   falls at once, in proportion, to BUDGET_AIM of the target; if that was not enough, it falls
 *   again.
 * - Well below the target (by a mean of a minute) it rises by at most a quarter, and then waits.
 * - In between it stays. A cost that hardly depends on the rate would keep it low permanently, so a
 *   higher one is tried now and then. If that costs too much, the rate goes back, and the time to
 *   the next try doubles, up to an hour.
 *
 * Bytes do not follow the rate at once: a window has each stack once, and a service has few stacks.
 * So means of bytes are taken over minutes, and each step waits for them.
 */
#ifndef TACHBPF_AGENT_RATE_BUDGET_H
#define TACHBPF_AGENT_RATE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_STEP_NS 5000000000ull	/* a good time between two steps */
#define BUDGET_FAR 1.25			/* of the target: a mean of seconds above it is no chance */
#define BUDGET_AIM 0.85			/* of the target: where a step aims */
#define BUDGET_CALM 0.7			/* of the target: below this the rate rises */
#define BUDGET_RISE 1.25		/* at most, in one step */

/* What is allowed. */
struct budget_targets {
	double cpu_share;	/* of all CPUs of this host, 0 to 1; 0: no limit */
	uint32_t cpus;		/* number of CPUs of the host */
	uint64_t bytes_per_minute;	/* 0: no limit */
	uint32_t min_hz, max_hz;	/* max_hz: the rate of the configuration */
};

/* The cost of the time since the last step. */
struct budget_used {
	uint64_t elapsed_ns;
	uint64_t cpu_ns;	/* of the agent, its workers, and its BPF programs */
	uint64_t bytes;		/* handed to exporters */
};

enum budget_why {
	BUDGET_FREE,		/* nothing limits the rate: it is max_hz */
	BUDGET_CPU, BUDGET_BYTES,	/* this target has lowered it */
	BUDGET_CPU_OVER, BUDGET_BYTES_OVER,	/* ... to min_hz, and the cost is still too high */
};

struct budget_limit {
	double target;		/* a second; 0: none */
	double fast, slow;	/* means of the cost a second, at the present rate */
	uint64_t fast_ns, slow_ns;	/* the means' time constants */
	uint64_t hold_ns;	/* least time between a change and a rise */
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

/* Begins with the highest rate. */
void budget_init(struct budget *b, const struct budget_targets *targets);

/*
 * Sets other targets (SIGHUP). What was learned stays; the rate is kept within the new limits, and
 * becomes the new max_hz if nothing lowered it. Returns the rate to use now.
 */
uint32_t budget_retarget(struct budget *b, const struct budget_targets *targets);

/*
 * Returns the next rate. The rate returned last must have been in force all the time: leave out a
 * time with another one (a burst) or without samples (probability), and call budget_step() with
 * what came after. elapsed_ns 0 changes nothing.
 */
uint32_t budget_step(struct budget *b, const struct budget_used *used);

/* "free", "cpu", "bytes", "cpu-over", "bytes-over": for metrics and status. */
const char *budget_why_name(enum budget_why why);

/* The share of all CPUs that was used recently (a mean of a minute); 0: unknown. */
double budget_cpu_share(const struct budget *b);

#endif
