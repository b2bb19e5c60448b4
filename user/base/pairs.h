/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pairs.h - gives dense ids from 0 to pairs of 32-bit numbers, in order of first occurrence: nodes
 * of a tree of stacks, edges of a call graph. For inner loops, where an intern.h string of eight
 * bytes would cost three times as much.
 */
#ifndef TACHBPF_PAIRS_H
#define TACHBPF_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_index.h"

struct pair {
	uint32_t a, b;
};

/* Zero-initialise; freed by pairs_free(). */
struct pairs {
	struct pair *list;	/* by id */
	struct hash_index index;	/* of list */
	uint32_t cnt, cap;	/* of list */
	uint64_t seed;		/* no input can choose pairs that collide */
};

/* Finds or adds a pair; its id in *id. Returns 0 or -ENOMEM. */
int pairs_add(struct pairs *p, struct pair pair, uint32_t *id);
/* Finds a pair; false: not found. */
bool pairs_find(const struct pairs *p, struct pair pair, uint32_t *id);
void pairs_free(struct pairs *p);

#endif
