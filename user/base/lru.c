// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* lru.c - see lru.h. */
#include "base/lru.h"

#include <errno.h>
#include <stdlib.h>

struct lru_owner {
	struct lru_link own;
	size_t cnt;
	uint32_t uid;
};

/* ---- lists: a ring through the list's head ---- */

static void ring_init(struct lru_link *head)
{
	head->older = head->newer = head;
}

/* The head's older neighbour is the newest item. */
static void ring_add_newest(struct lru_link *head, struct lru_link *link)
{
	link->older = head->older;
	link->newer = head;
	link->older->newer = link;
	head->older = link;
}

static void ring_remove(struct lru_link *link)
{
	link->older->newer = link->newer;
	link->newer->older = link->older;
}

static struct lru_item *oldest_of_all(const struct lru *l)
{
	return (struct lru_item *)((char *)l->all.newer - offsetof(struct lru_item, all));
}

static struct lru_item *oldest_of(const struct lru_owner *o)
{
	return (struct lru_item *)((char *)o->own.newer - offsetof(struct lru_item, own));
}

/* ---- the table ---- */

void lru_init(struct lru *l, size_t max, size_t owner_max)
{
	*l = (struct lru){ .max = max, .owner_max = owner_max };
	ring_init(&l->all);
}

void lru_free(struct lru *l)
{
	struct lru_owner *o;
	size_t pos = 0;

	while ((o = u64map_next(&l->owners, &pos)))
		free(o);
	u64map_free(&l->owners);
}

static struct lru_owner *owner_entry(struct lru *l, uint32_t uid)
{
	struct lru_owner *o = u64map_get(&l->owners, uid);

	if (o)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o || u64map_put(&l->owners, uid, o)) {
		free(o);
		return NULL;
	}
	o->uid = uid;
	ring_init(&o->own);
	return o;
}

int lru_add(struct lru *l, struct lru_item *item, uint32_t owner)
{
	item->owner = owner_entry(l, owner);
	if (!item->owner)
		return -ENOMEM;
	ring_add_newest(&l->all, &item->all);
	ring_add_newest(&item->owner->own, &item->own);
	item->owner->cnt++;
	l->cnt++;
	return 0;
}

void lru_use(struct lru *l, struct lru_item *item)
{
	if (!item->owner)
		return;
	ring_remove(&item->all);
	ring_remove(&item->own);
	ring_add_newest(&l->all, &item->all);
	ring_add_newest(&item->owner->own, &item->own);
}

void lru_remove(struct lru *l, struct lru_item *item)
{
	struct lru_owner *o = item->owner;

	if (!o)
		return;
	ring_remove(&item->all);
	ring_remove(&item->own);
	item->owner = NULL;
	l->cnt--;
	if (!--o->cnt)
		free(u64map_remove(&l->owners, o->uid));
}

struct lru_item *lru_oldest(const struct lru *l)
{
	return l->cnt ? oldest_of_all(l) : NULL;
}

struct lru_item *lru_excess(const struct lru *l, uint32_t owner)
{
	const struct lru_owner *o = u64map_get(&l->owners, owner);

	if (o && owner != LRU_OWNER_ROOT && o->cnt >= l->owner_max)
		return oldest_of(o);
	return l->cnt >= l->max ? lru_oldest(l) : NULL;
}

struct lru_item *lru_give_way(const struct lru *l, uint32_t owner)
{
	const struct lru_owner *its = u64map_get(&l->owners, owner), *o, *most = NULL;
	size_t pos = 0;

	while ((o = u64map_next(&l->owners, &pos)))
		if (o->uid != LRU_OWNER_ROOT && (!most || o->cnt > most->cnt))
			most = o;
	return most && most->cnt > (its ? its->cnt : 0) + 1 ? oldest_of(most) : NULL;
}
