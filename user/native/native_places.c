// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_places.c - see native_places.h. */
#include "native/native_places.h"

#include "native/native_lists.h"

/* A process that the BPF side does not know is told to it again so often, a second apart. */
#define PLACE_TRIES 10

static void put_place(struct native *n, struct process *p)
{
	const struct list *l = p->list;
	struct native_place place;

	if (!l || !l->stamp || p->placed == l->stamp || p->place_failures >= PLACE_TRIES)
		return;
	place = (struct native_place){ .chunk = l->chunk, .cnt = l->cnt, .stamp = l->stamp };
	if (n->args.maps.put_place(n->args.maps.ctx, p->tgid, &place)) {
		p->place_failures++;
		n->places_ns = n->now + SECOND_NS;
		return;
	}
	p->placed = l->stamp;
	p->place_failures = 0;
}

static void put_places(struct native *n)
{
	struct process *p;
	size_t pos = 0;

	if (n->now < n->places_ns)
		return;
	n->places_ns = UINT64_MAX;
	while ((p = u64map_next(&n->processes, &pos)))
		put_place(n, p);
}

static void write_lists(struct native *n)
{
	bool wrote, whole = true;
	struct list *l;

	if (!n->lists_stale || n->now - n->lists_ns < REWRITE_NS)
		return;
	for (l = n->lists; l; l = l->next) {
		whole &= !list_write(n, l, &wrote);
		if (wrote)
			n->places_ns = 0;
	}
	n->lists_ns = n->now;
	n->lists_stale = !whole;
}

void places_write(struct native *n)
{
	write_lists(n);
	put_places(n);
}
