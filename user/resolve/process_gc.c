// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_gc.c - garbage collections, from the counters of a process' interpreters: the differences
 * between one RAW_GC_DONE and the next.
 *
 * The counters are in the target's memory, so they are checked: they may only grow, and within a
 * limit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event.h"
#include "resolve/process_internal.h"

/* At most this many interpreters of a process are followed. */
#define GC_INTERPS_MAX 16
/* No counter grows by more than this between two records, which are at most days apart. */
#define GC_GROWTH_MAX (1ull << 40)
#define GC_SECONDS_MAX 1e6
#define S_US 1e6

struct gc_interp {
	uint32_t id;
	struct raw_gc_generation last[RAW_GC_GENERATIONS];
	double seconds[RAW_GC_GENERATIONS];
};

struct gc_counters {
	uint32_t cnt;
	struct gc_interp of[GC_INTERPS_MAX];
};

static double seconds_of(const struct raw_gc *raw, int generation)
{
	double v;

	memcpy(&v, &raw->seconds[generation], sizeof(v));
	return v;
}

static struct gc_interp *find_interp(struct gc_counters *gc, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < gc->cnt; i++)
		if (gc->of[i].id == id)
			return &gc->of[i];
	return NULL;
}

/* Stores the counters for the next comparison. */
static void keep_counters(struct gc_interp *interp, const struct raw_gc *raw, int generation)
{
	interp->last[generation] = raw->generations[generation];
	interp->seconds[generation] = seconds_of(raw, generation);
}

/*
 * Stores an interpreter's first counters. If the program started during the capture, they started
 * at 0; otherwise nobody knows how much of them is older. NULL: there are too many interpreters.
 */
static struct gc_interp *first_seen(struct process *p, const struct raw_gc *raw)
{
	struct gc_interp *interp;
	int i;

	if (p->gc->cnt == GC_INTERPS_MAX)
		return NULL;
	interp = &p->gc->of[p->gc->cnt++];
	*interp = (struct gc_interp){ .id = raw->interp_id };
	for (i = 0; !p->args.executed_here && i < RAW_GC_GENERATIONS; i++)
		keep_counters(interp, raw, i);
	return interp;
}

/* Sets *growth to the increase of the counter. False: it decreased, or is implausible. */
static bool has_grown(uint64_t before, uint64_t after, uint64_t *growth)
{
	*growth = after - before;
	return after >= before && *growth <= GC_GROWTH_MAX;
}

/*
 * Returns the time that the interpreter reports for its runs since the last counters; 0: unknown.
 */
static uint64_t own_us(const struct gc_interp *interp, const struct raw_gc *raw, int generation)
{
	double s = seconds_of(raw, generation) - interp->seconds[generation];

	if (!(s > 0 && s < GC_SECONDS_MAX))	/* also if it is NaN */
		return 0;
	return s * S_US < 1 ? 1 : (uint64_t)(s * S_US);
}

/*
 * Returns the generation to which collections seen by ticks are attributed: of those that were
 * collected the oldest, which takes longest. -1: none was collected.
 */
static int seen_generation(const struct gc_interp *interp, const struct raw_gc *raw)
{
	int i = RAW_GC_GENERATIONS - 1;

	while (i >= 0 && raw->generations[i].collections == interp->last[i].collections)
		i--;
	return i;
}

static int emit_collection(struct process *p, const struct raw_gc *raw,
			   const struct memory_collection *done)
{
	struct memory_event ev = {
		.change = MEMORY_COLLECTION, .time_us = raw->h.time_ns / US_NS, .collection = *done,
	};

	return process_memory_emit(p, &ev);
}

/*
 * Takes the growth of a generation's counters. `collected` is written after `collections`, and a
 * tick can come between: what it missed is found with the next collection.
 */
static int take_generation(struct process *p, struct gc_interp *interp, const struct raw_gc *raw,
			   int generation, uint64_t us)
{
	const struct raw_gc_generation *last = &interp->last[generation];
	const struct raw_gc_generation *now = &raw->generations[generation];
	struct memory_collection done = { .generation = generation };
	bool sane = has_grown(last->collections, now->collections, &done.runs) &&
		    has_grown(last->collected, now->collected, &done.collected) &&
		    has_grown(last->uncollectable, now->uncollectable, &done.uncollectable);

	if (sane && !done.runs)
		return 0;
	done.duration_us = own_us(interp, raw, generation);
	if (!done.duration_us)
		done.duration_us = us;
	keep_counters(interp, raw, generation);
	if (sane)
		return emit_collection(p, raw, &done);
	process_add_lost(p, raw->tid, LOSS_COLLECTIONS, 1);
	return 0;
}

int process_take_gc(struct process *p, const void *record, size_t len)
{
	const struct raw_gc *raw = record;
	struct gc_interp *interp;
	int i, err = 0, seen;

	if (!p->memory)
		return -EBADMSG;
	if (!p->gc)
		p->gc = calloc(1, sizeof(*p->gc));
	if (!p->gc)
		return -ENOMEM;
	interp = find_interp(p->gc, raw->interp_id);
	if (!interp)
		interp = first_seen(p, raw);
	if (!interp) {
		process_add_lost(p, raw->tid, LOSS_COLLECTIONS, 1);
		return 0;
	}
	seen = seen_generation(interp, raw);
	for (i = 0; !err && i < RAW_GC_GENERATIONS; i++)
		err = take_generation(p, interp, raw, i, i == seen ? raw->seen_ns / US_NS : 0);
	return err;
}
