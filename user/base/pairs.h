/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pairs.h - pairs of 32-bit numbers become dense ids from 0, in order of first
 * sight: nodes of a tree of stacks, edges of a call graph. intern.h for the
 * inner loops, where a string of eight bytes would cost three times as much.
 */
#ifndef TACHBPF_PAIRS_H
#define TACHBPF_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

struct pair {
	uint32_t a, b;
};

/* Zero-initialise; pairs_free() when done. */
struct pairs {
	struct pair *list;	/* by id */
	struct hash_index index;	/* of list */
	uint32_t cnt, cap;	/* of list */
	uint64_t seed;		/* so that no input can choose pairs that collide */
};

/* 0 or -ENOMEM. */
int pairs_add(struct pairs *p, struct pair pair, uint32_t *id);
/* false: it has not been added. */
bool pairs_find(const struct pairs *p, struct pair pair, uint32_t *id);
void pairs_free(struct pairs *p);

#endif
