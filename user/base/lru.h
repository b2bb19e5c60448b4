/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lru.h - which item of a table goes when there are too many: the one whose last use is longest
 * ago. Each item belongs to an owner (a uid). One owner may have only a part of the items: whoever
 * has that many loses an item of his own, and not another's.
 *
 * An item is a member of the caller's struct. Nothing here frees an item.
 */
#ifndef TACHBPF_LRU_H
#define TACHBPF_LRU_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

/* This owner has no limit but that of the table. */
#define LRU_OWNER_ROOT 0
/* The owner could not be found out. All unknown owners are one, with a limit. */
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
	size_t cnt;		/* items; for others to read */
	size_t max, owner_max;	/* how many items the table, and one owner, may have */
	struct u64map owners;	/* uid -> struct lru_owner */
};

/* The struct of which item is a member; item NULL: NULL. */
#define LRU_STRUCT(item, type, member) \
	((type *)lru_struct(item, offsetof(type, member)))
static inline void *lru_struct(const struct lru_item *item, size_t off)
{
	return item ? (char *)(uintptr_t)item - off : NULL;
}

/* Freed by lru_free(). The struct must not be moved. */
void lru_init(struct lru *l, size_t max, size_t owner_max);
/* Forget all items, which stay the caller's. */
void lru_free(struct lru *l);

/* Add an item as the one used last. Limits are the caller's: lru_excess(). 0 or -ENOMEM. */
int lru_add(struct lru *l, struct lru_item *item, uint32_t owner);
/* The item was used now. */
void lru_use(struct lru *l, struct lru_item *item);
/* Remove an item; one that is in no list stays so. */
void lru_remove(struct lru *l, struct lru_item *item);

/* The item whose last use is longest ago; NULL: there is none. */
struct lru_item *lru_oldest(const struct lru *l);
/*
 * The item that must go before one of this owner is added: the owner's oldest, if he has all that
 * he may have; else the oldest of all, if the table is full. NULL: there is room.
 */
struct lru_item *lru_excess(const struct lru *l, uint32_t owner);
/*
 * For tables without a part for each owner: the oldest item of the owner who has most, root aside,
 * if he still has as many as this one after he has given it away. NULL: nobody has.
 */
struct lru_item *lru_give_way(const struct lru *l, uint32_t owner);

#endif
