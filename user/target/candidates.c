// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* candidates.c - when to inspect a process again. See candidates.h. */
#include "target/candidates.h"

#include <stdbool.h>
#include <stdlib.h>

/*
 * Bounds of inspections that new mappings cause: the shortest gap between two, at most 1 %
 * of a CPU per process, and ever longer gaps while only anonymous memory changes, as with
 * JIT compilers.
 */
#define GAP_MIN_NS (10 * 1000000ull)
#define GAP_MAX_NS (1000 * 1000000ull)
#define GAP_COST 100

/* 2 ms after the first inspection (a dynamic linker needs about that), doubling up to a minute. */
#define FIRST_WAIT_NS (2 * 1000000ull)
#define MAX_WAIT_NS (64 * 1000000000ull)

struct candidate *candidates_find(struct candidates *c, pid_t tgid)
{
	return u64map_get(&c->by_tgid, tgid);
}

struct candidate *candidates_note(struct candidates *c, pid_t tgid, uint64_t start_ns)
{
	struct candidate *cand = candidates_find(c, tgid);

	if (cand && start_ns && cand->start_ns && cand->start_ns != start_ns) {
		candidates_forget(c, tgid);	/* another process has this pid now */
		cand = NULL;
	}
	if (!cand) {
		cand = calloc(1, sizeof(*cand));
		if (!cand)
			return NULL;
		cand->tgid = tgid;
		if (u64map_put(&c->by_tgid, tgid, cand)) {
			free(cand);
			return NULL;
		}
	}
	if (start_ns)
		cand->start_ns = start_ns;
	return cand;
}

void candidate_restart(struct candidate *cand)
{
	cand->tries = 0;
	cand->next_ns = 0;
	cand->ticks = 0;
	cand->seen_ticks = 0;
	cand->changed = cand->refused = cand->chosen = false;
	cand->gap_ns = 0;
	cand->files = 0;
	cand->exec_pages = 0;
}

void candidate_changed(struct candidate *cand)
{
	uint64_t next = cand->looked_ns + cand->gap_ns;

	cand->changed = true;
	if (next < cand->next_ns)
		cand->next_ns = next;
}

void candidate_looked(struct candidate *cand, uint64_t now_ns, uint64_t cost_ns, bool news)
{
	uint64_t gap = cand->changed ? 2 * cand->gap_ns : cand->gap_ns;

	if (gap < GAP_COST * cost_ns)
		gap = GAP_COST * cost_ns;
	if (news || gap < GAP_MIN_NS)	/* the cost of new files occurs only once */
		gap = GAP_MIN_NS;
	cand->gap_ns = gap < GAP_MAX_NS ? gap : GAP_MAX_NS;
	cand->looked_ns = now_ns;
	cand->changed = false;
}

void candidate_backoff(struct candidate *cand, uint64_t now_ns)
{
	uint64_t wait = MAX_WAIT_NS;

	if (cand->tries < 15)
		wait = FIRST_WAIT_NS << cand->tries;
	cand->tries++;
	cand->next_ns = now_ns + (wait < MAX_WAIT_NS ? wait : MAX_WAIT_NS);
}

struct candidate *candidates_due(struct candidates *c, uint64_t now_ns, size_t *pos)
{
	struct candidate *cand;

	while ((cand = u64map_next(&c->by_tgid, pos)))
		if (cand->next_ns <= now_ns)
			return cand;
	return NULL;
}

void candidates_forget(struct candidates *c, pid_t tgid)
{
	free(u64map_remove(&c->by_tgid, tgid));
}

static bool is_young(const struct candidate *cand)
{
	return cand->tries < CANDIDATE_YOUNG_TRIES && cand->next_ns != UINT64_MAX;
}

size_t candidates_young_cnt(struct candidates *c)
{
	struct candidate *cand;
	size_t pos = 0, cnt = 0;

	while ((cand = u64map_next(&c->by_tgid, &pos)))
		cnt += is_young(cand);
	return cnt;
}

uint64_t candidates_wait_ns(struct candidates *c, uint64_t now_ns, uint64_t limit_ns)
{
	struct candidate *cand;
	uint64_t wait = limit_ns;
	size_t pos = 0;

	while ((cand = u64map_next(&c->by_tgid, &pos))) {
		if (!is_young(cand) && !cand->changed)
			continue;
		if (cand->next_ns <= now_ns)
			return 0;
		if (cand->next_ns - now_ns < wait)
			wait = cand->next_ns - now_ns;
	}
	return wait;
}

void candidates_free(struct candidates *c)
{
	struct candidate *cand;
	size_t pos = 0;

	while ((cand = u64map_next(&c->by_tgid, &pos)))
		free(cand);
	u64map_free(&c->by_tgid);
}
