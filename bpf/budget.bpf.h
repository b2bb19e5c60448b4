/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * budget.bpf.h - limits the CPU time for walks that a program can trigger as often as it likes: at
 * switch-outs and page faults.
 *
 * A CPU may spend one eighth of its time on them, and can save up BUDGET_MAX_NS. Without budget a
 * record has no stack.
 */
#ifndef TACHBPF_BUDGET_H
#define TACHBPF_BUDGET_H

#include "pyscratch.bpf.h"

#define BUDGET_SHARE 8
#define BUDGET_MAX_NS 5000000

/* Add the time since the last call to the budget. Returns true if some is left. */
static __always_inline bool has_budget(struct scratch *s, u64 now)
{
	u64 since = now - s->budget_at_ns;

	s->budget_ns += since < BUDGET_SHARE * BUDGET_MAX_NS ? since / BUDGET_SHARE : BUDGET_MAX_NS;
	s->budget_at_ns = now;
	if (s->budget_ns > BUDGET_MAX_NS)
		s->budget_ns = BUDGET_MAX_NS;
	return s->budget_ns > 0;
}

/* The debt is limited, too: unavoidable costs must not prevent walks for long. */
static __always_inline void spend_budget(struct scratch *s, u64 ns)
{
	s->budget_ns -= ns < BUDGET_MAX_NS ? ns : BUDGET_MAX_NS;
	if (s->budget_ns < -BUDGET_MAX_NS)
		s->budget_ns = -BUDGET_MAX_NS;
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
