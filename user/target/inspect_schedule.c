// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * inspect_schedule.c - see inspect_schedule.h.
 */
#include "target/inspect_schedule.h"

/*
 * The gap between inspections that changes trigger: at least GAP_MIN_NS; at least GAP_COST times
 * the duration of an inspection, so at most 1 % of a CPU; doubled each time, up to GAP_MAX_NS,
 * while a process maps code without new files, as JIT compilers do.
 */
#define GAP_MIN_NS (10 * 1000000ull)
#define GAP_MAX_NS (1000 * 1000000ull)
#define GAP_COST 100

/* 2 ms after the first inspection (the time of a dynamic linker), doubling to a minute. */
#define FIRST_WAIT_NS (2 * 1000000ull)
#define MAX_WAIT_NS (64 * 1000000000ull)

void inspect_restart(struct inspect_schedule *s)
{
	uint64_t inspected_ns = s->inspected_ns;

	*s = (struct inspect_schedule){ .inspected_ns = inspected_ns };
}

void inspect_changed(struct inspect_schedule *s)
{
	uint64_t next = s->inspected_ns + s->gap_ns;

	s->changed = true;
	if (next < s->next_ns)
		s->next_ns = next;
}

void inspect_done(struct inspect_schedule *s, uint64_t now_ns, uint64_t cost_ns, bool news)
{
	uint64_t gap = s->changed ? 2 * s->gap_ns : s->gap_ns;

	if (gap < GAP_COST * cost_ns)
		gap = GAP_COST * cost_ns;
	if (news || gap < GAP_MIN_NS)	/* new files are read only once */
		gap = GAP_MIN_NS;
	s->gap_ns = gap < GAP_MAX_NS ? gap : GAP_MAX_NS;
	s->inspected_ns = now_ns;
	s->changed = false;
}

void inspect_backoff(struct inspect_schedule *s, uint64_t now_ns)
{
	uint64_t wait = MAX_WAIT_NS;

	if (s->tries < 15)
		wait = FIRST_WAIT_NS << s->tries;
	s->tries++;
	s->next_ns = now_ns + (wait < MAX_WAIT_NS ? wait : MAX_WAIT_NS);
}

void inspect_no_more(struct inspect_schedule *s)
{
	s->next_ns = INSPECT_NEVER;
}

bool inspect_is_young(const struct inspect_schedule *s)
{
	return s->tries < INSPECT_YOUNG_TRIES && s->next_ns != INSPECT_NEVER;
}

uint64_t inspect_wait_ns(const struct inspect_schedule *s, uint64_t now_ns, uint64_t limit_ns)
{
	if (!inspect_is_young(s) && !s->changed)
		return limit_ns;
	if (s->next_ns <= now_ns)
		return 0;
	return s->next_ns - now_ns < limit_ns ? s->next_ns - now_ns : limit_ns;
}
