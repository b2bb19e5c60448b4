/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * budget.bpf.h - limits the CPU time of walks, whatever a program does.
 *
 * Ticks: each sample has cfg_limit_ns. More must have been left over before, twice: by the samples
 * of its process, each of which earns cfg_tick_ns (py_proc.credit_ns), and on this CPU, whose purse
 * gets a share of its time and pays for all samples (scratch.ticks). So whatever processes there
 * are, samples take no more of a CPU than that share; and a process that always takes all it can
 * get leaves the others what they have earned. A process that has earned nothing yet gets an
 * advance, which its samples earn back, if the CPU's purse is at least half full.
 *
 * Switch-outs and other events, which a program can trigger as often as it likes: a CPU may spend
 * an eighth of its time on them. Without budget a record has no stack.
 *
 * A purse holds a limited amount, and so is a debt: costs that cannot be avoided must not prevent
 * walks for long.
 */
#ifndef TACHBPF_BUDGET_H
#define TACHBPF_BUDGET_H

#include "pyscratch.bpf.h"

/* A share of a CPU's time is in units of 2^-30, so it is also in ns a second, but for 7 %. */
#define SHARE_BITS 30
/* Of the time since something was last put into a purse at most so much counts: it fills any. */
#define FILL_NS (1ull << 31)

/*
 * Interrupts are off in a sample: it takes at most SAMPLE_LIMIT_NS (user/capture) and this. At a
 * switch-out it has a lock of the scheduler, for which other CPUs spin, and gets less.
 */
#define TICK_MORE_NS 440000
#define EVENT_MORE_NS 190000
/* Limit on credit_ns, and on the advance. */
#define CREDIT_MAX_NS 1000000
#define ADVANCE_NS TICK_MORE_NS
/* Limit on what a CPU's purse holds, for ticks; advances leave the rest of it to credits. */
#define TICKS_MAX_NS 2000000
#define TICKS_RESERVE_NS (TICKS_MAX_NS / 2)
/* What a CPU's purse gets in addition to cfg_limit_ns for each tick: names take long. */
#define NAMES_SHARE (1 << (SHARE_BITS - 9))
/* The same for switch-outs and other events. */
#define BUDGET_SHARE (1 << (SHARE_BITS - 3))
#define BUDGET_MAX_NS 5000000
/*
 * Half of a read of memory whose time is not known, because the clock was not read after it: what
 * it takes when no cache has what it reads. See note_reads().
 */
#define HALF_READ_NS 300

/* Put in the share of the time since the last call. */
static __always_inline void fill_purse(struct purse *p, u64 now, u64 share, s64 most_ns)
{
	u64 since = now - p->at_ns;

	p->at_ns = now;
	p->ns += (since < FILL_NS ? since : FILL_NS) * share >> SHARE_BITS;
	if (p->ns > most_ns)
		p->ns = most_ns;
}

static __always_inline void take_from_purse(struct purse *p, u64 ns, s64 most_ns)
{
	p->ns -= ns < (u64)most_ns ? (s64)ns : most_ns;
	if (p->ns < -most_ns)
		p->ns = -most_ns;
}

/* Time that the sample has used, as far as the clock and its reads of memory tell. No stalls. */
static __always_inline u64 used_ns(const struct scratch *s)
{
	return s->clock_read_ns - (s->deadline - s->more_ns - cfg_limit_ns) +
	       s->walk.half_reads * HALF_READ_NS;
}

/* A sample of the process begins, at one of rate_hz ticks a second. */
static __always_inline void start_tick(struct scratch *s, const struct py_proc *p, u64 rate_hz,
				       u64 now)
{
	s64 more = p->credit_ns, advance = more + ADVANCE_NS, left;

	fill_purse(&s->ticks, now, cfg_limit_ns * rate_hz + NAMES_SHARE, TICKS_MAX_NS);
	left = s->ticks.ns - cfg_limit_ns;
	if (advance > left - TICKS_RESERVE_NS)
		advance = left - TICKS_RESERVE_NS;
	if (more < advance)
		more = advance;
	if (more > left)
		more = left;
	if (more > TICK_MORE_NS)
		more = TICK_MORE_NS;
	start_clock(s, now, more > 0 ? more : 0);
}

/* It has ended. */
static __always_inline void end_tick(struct scratch *s, struct py_proc *p)
{
	u64 used = used_ns(s);
	s64 credit;

	if (!cfg_limit_ns)
		return;
	take_from_purse(&s->ticks, used, TICKS_MAX_NS);
	credit = p->credit_ns + (s64)cfg_tick_ns - (s64)used;
	if (credit > CREDIT_MAX_NS)
		credit = CREDIT_MAX_NS;
	if (credit < -ADVANCE_NS)
		credit = -ADVANCE_NS;
	p->credit_ns = credit;
}

/* Fill the budget of events. Returns true if some is left, for a walk with EVENT_MORE_NS. */
static __always_inline bool has_budget(struct scratch *s, u64 now)
{
	fill_purse(&s->budget, now, BUDGET_SHARE, BUDGET_MAX_NS);
	return s->budget.ns > 0;
}

static __always_inline void spend_budget(struct scratch *s, u64 ns)
{
	take_from_purse(&s->budget, ns, BUDGET_MAX_NS);
}

/*
 * The same for the time since begin, for work that takes little longer than reading the clock: the
 * clock is read in one of SAMPLED cases, at random, and that time counts for all.
 */
#define SAMPLED 8
static __always_inline void spend_sampled(struct scratch *s, u64 begin)
{
	u32 chance = (u32)begin * 0x9e3779b1u;	/* times may be regular: it takes two steps */

	chance = (chance ^ chance >> 15) * 0x85ebca6bu;
	if (chance >> 29)
		return;
	spend_budget(s, (bpf_ktime_get_ns() - begin) * SAMPLED);
}

#endif
