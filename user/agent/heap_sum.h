/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_sum.h - the objects of a service's processes by their types: the sum of censuses, and what
 * of it is sent. Runs in the main process; 600 KiB at most.
 */
#ifndef TACHBPF_AGENT_HEAP_SUM_H
#define TACHBPF_AGENT_HEAP_SUM_H

#include <stdint.h>

#include "base/hash_index.h"
#include "base/util.h"
#include "heap/census.h"

struct window;
struct window_place;

/* Types of a sum, and those that are sent by their names, which have the most bytes. */
#define HEAP_SUM_TYPES_MAX HEAP_TYPES_MAX
#define HEAP_SUM_TYPES_SENT 1000

/* What is no type: names of bytes beside those of types. */
#define HEAP_SUM_OTHER "<other types>"
#define HEAP_SUM_UNTYPED "<no type>"		/* keys of dicts, raw blocks */
#define HEAP_SUM_FREE "<free in pools>"
#define HEAP_SUM_OUTSIDE "<outside of objects>"	/* the rest of the anonymous memory */

/* Zero-initialise it; heap_sum_reset() frees. */
struct heap_sum {
	struct buf rows;		/* struct heap_sum_row */
	struct hash_index index;	/* by name */
	uint64_t seed;			/* of hashes */
	struct heap_sum_row {
		char name[HEAP_NAME_BYTES];
		uint64_t objects, bytes;
	} other;			/* of types for which there was no room */
	uint64_t untyped, free, outside;	/* bytes */
	uint32_t censuses;
};

void heap_sum_reset(struct heap_sum *s);
/* Adds a census, whose names and figures are hostile. Sums saturate. */
void heap_sum_add(struct heap_sum *s, const struct heap_census *c);
/*
 * Adds the sum to a window as WINDOW_HEAP_OBJECTS and WINDOW_HEAP_SPACE; at->kind is unused. Sorts
 * the rows, so nothing may be added afterwards. added: how many samples of each kind are added to
 * it. Returns how many types have no sample of their own, but are in HEAP_SUM_OTHER.
 */
uint32_t heap_sum_put(struct heap_sum *s, struct window *w, const struct window_place *at,
		      uint64_t added[2]);

#endif
