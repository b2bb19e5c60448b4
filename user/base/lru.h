/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lru.h - which item of a table is evicted when there are too many: the least recently used one.
 * Each item belongs to an owner (a uid). One owner may have only a part of the items: an owner at
 * this limit loses one of its own items, and not another's.
 *
 * An item is a member of the caller's struct. Nothing here frees an item.
 */
#ifndef TACHBPF_LRU_H
#define TACHBPF_LRU_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

/* This owner has no limit except that of the table. */
#define LRU_OWNER_ROOT 0
/* The owner is not known. All unknown owners are one, with a limit. */
#define LRU_OWNER_UNKNOWN UINT32_MAX

struct lru_owner;
struct lru_link {
	struct lru_link *older, *newer;
};
struct lru_item {
	struct lru_link all, own;
	struct lru_owner *owner;	/* NULL: it is in no list */
};

struct lru {
	struct lru_link all;
	size_t cnt;		/* items; read-only for others */
	size_t max, owner_max;	/* maximum number of items of the table, and of one owner */
	struct u64map owners;	/* uid -> struct lru_owner */
};

/* Returns the struct of which item is a member; NULL if item is NULL. */
#define LRU_STRUCT(item, type, member) \
	((type *)lru_struct(item, offsetof(type, member)))
static inline void *lru_struct(const struct lru_item *item, size_t off)
{
	return item ? (char *)(uintptr_t)item - off : NULL;
}

/* Freed by lru_free(). The struct must not be moved. */
void lru_init(struct lru *l, size_t max, size_t owner_max);
/* Drops all items, which the caller still owns. */
void lru_free(struct lru *l);

/* Adds an item as the newest. The caller enforces limits: lru_excess(). Returns 0 or -ENOMEM. */
int lru_add(struct lru *l, struct lru_item *item, uint32_t owner);
/* Marks the item as just used. */
void lru_use(struct lru *l, struct lru_item *item);
/* Removes an item; one that is in no list stays so. */
void lru_remove(struct lru *l, struct lru_item *item);

/* Returns the least recently used item; NULL: none. */
struct lru_item *lru_oldest(const struct lru *l);
/*
 * Returns the item to remove before one of this owner is added: the owner's oldest, if it has
 * reached its limit; otherwise the oldest of all, if the table is full. NULL: there is room.
 */
struct lru_item *lru_excess(const struct lru *l, uint32_t owner);
/*
 * For tables without a limit per owner: returns the oldest item of the non-root owner who has the
 * most, if that owner still has as many as this one after giving it up. NULL: none.
 */
struct lru_item *lru_give_way(const struct lru *l, uint32_t owner);

#endif
