// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * loss_table.c - see loss_table.h.
 *
 * The BPF side writes while we read. It clears a slot's counts before it writes the new owner, and
 * we read the owner before and after the counts; so counts belong to the owner that was read. What
 * could not be assigned is in the counters, like everything: it belongs to no process then.
 */
#include "capture/loss_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* What was read of a CPU's table. */
struct seen {
	uint64_t seq;
	struct loss_slot *slots;	/* NULL: this CPU has lost nothing so far */
};

struct loss_reader {
	const struct loss_table *tables;
	int cpus;
	struct seen *seen;
};

struct loss_reader *loss_reader_new(const struct loss_table *tables, int cpus)
{
	struct loss_reader *r = calloc(1, sizeof(*r));

	if (r)
		r->seen = calloc((size_t)cpus, sizeof(*r->seen));
	if (!r || !r->seen) {
		free(r);
		return NULL;
	}
	r->tables = tables;
	r->cpus = cpus;
	return r;
}

void loss_reader_free(struct loss_reader *r)
{
	int i;

	if (!r)
		return;
	for (i = 0; i < r->cpus; i++)
		free(r->seen[i].slots);
	free(r->seen);
	free(r);
}

static bool is_same(const struct loss_slot *a, const struct loss_slot *b)
{
	return a->tgid == b->tgid && a->tid == b->tid && a->start_ns == b->start_ns;
}

static void read_owner(const struct loss_slot *slot, struct loss_slot *out)
{
	out->tgid = __atomic_load_n(&slot->tgid, __ATOMIC_ACQUIRE);
	out->tid = __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE);
	out->start_ns = __atomic_load_n(&slot->start_ns, __ATOMIC_ACQUIRE);
}

/* Copies a slot with one owner. Returns false if the owner changes now. */
static bool copy_slot(const struct loss_slot *slot, struct loss_slot *out)
{
	struct loss_slot after;
	size_t i;

	read_owner(slot, out);
	for (i = 0; i < LOSS_KINDS; i++)
		out->cnt[i] = __atomic_load_n(&slot->cnt[i], __ATOMIC_ACQUIRE);
	out->last_ns = __atomic_load_n(&slot->last_ns, __ATOMIC_ACQUIRE);
	read_owner(slot, &after);
	return is_same(out, &after);
}

/* What is new in now since seen. 1: there is something, 0: nothing, -1: counts change now. */
static int compare_slots(const struct loss_slot *now, const struct loss_slot *seen,
			 struct loss_news *news)
{
	bool same = is_same(now, seen);
	int any = 0, i;

	*news = (struct loss_news){ .tgid = now->tgid, .tid = now->tid,
				    .start_ns = now->start_ns };
	for (i = 0; i < LOSS_KINDS; i++) {
		news->cnt[i] = now->cnt[i] - (same ? seen->cnt[i] : 0);
		if (news->cnt[i] > INT32_MAX)
			return -1;
		any |= news->cnt[i] > 0;
	}
	return any;
}

/* Returns false if the slot must be read again. */
static bool read_slot(const struct loss_slot *slot, struct loss_slot *seen, uint64_t now_ns,
		      loss_news_fn fn, void *ctx)
{
	struct loss_news news;
	struct loss_slot now;
	int any;

	if (!copy_slot(slot, &now))
		return false;
	any = compare_slots(&now, seen, &news);
	if (any < 0)
		return false;
	/* A process may have losses before its exec or fork has arrived. */
	if (any && !fn(ctx, &news))
		return now_ns > now.last_ns + LOSS_KEPT_NS;
	*seen = now;
	return true;
}

void loss_reader_read(struct loss_reader *r, uint64_t now_ns, loss_news_fn fn, void *ctx)
{
	const struct loss_table *t = r->tables;
	struct seen *seen = r->seen;
	uint64_t seq;
	bool all;
	size_t i;

	for (; t < r->tables + r->cpus; t++, seen++) {
		seq = __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE);
		if (seq == seen->seq)
			continue;
		if (!seen->slots)
			seen->slots = calloc(ARRAY_SIZE(t->slots), sizeof(*seen->slots));
		if (!seen->slots)
			continue;
		all = true;
		for (i = 0; i < ARRAY_SIZE(t->slots); i++)
			all &= read_slot(&t->slots[i], &seen->slots[i], now_ns, fn, ctx);
		if (all)
			seen->seq = seq;
	}
}
