// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_large.c - see taking.h: objects that are too large for the allocator's units, and so in
 * the C library's memory. They are found through references to them.
 *
 * If all units are read, each is counted once. In a sample, each reference counts a share: one of
 * as many as the object has references. So the sum over all references is 1, if all of them are in
 * units or in memory that is looked through; references from elsewhere (C code, frames) make it
 * less.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/util.h"
#include "cpython/pymalloc.h"
#include "heap/taking.h"

int large_begin(struct taking *t)
{
	t->seen = calloc(2 * SEEN_MAX, sizeof(*t->seen));
	return t->seen ? 0 : -ENOMEM;
}

void large_end(struct taking *t)
{
	free(t->seen);
	t->seen = NULL;
}

/* Returns true if the address was seen before, or must count as if it had been. */
static bool see(struct taking *t, uint64_t addr)
{
	size_t i = hash_secret_mix(addr ^ t->limits->seed, HASH_SECRET_A) & (2 * SEEN_MAX - 1);

	while (t->seen[i] && t->seen[i] != addr)
		i = (i + 1) & (2 * SEEN_MAX - 1);
	if (t->seen[i] || t->seen_cnt >= SEEN_MAX)
		return true;
	t->seen[i] = addr;
	t->seen_cnt++;
	return false;
}

void large_range(struct taking *t, uint64_t addr, uint64_t bytes, double weight)
{
	if (t->range_cnt >= RANGES_MAX || (!t->whole && t->ranges_of_unit >= RANGES_OF_UNIT)) {
		t->ranges_left_out++;
		return;
	}
	t->ranges_of_unit++;
	t->ranges[t->range_cnt++] = (struct range){ addr, bytes, weight };
}

/* ---- the largest ---- */

void largest_take(struct heap_census *c, const struct heap_type *type, uint64_t addr,
		  const struct heap_size *s)
{
	uint64_t bytes = s->bytes + s->owned;
	struct heap_large *l;
	uint32_t i;

	if (bytes <= PYMALLOC_SMALL_MAX ||
	    (c->large_cnt == HEAP_LARGEST_MAX && bytes <= c->largest[HEAP_LARGEST_MAX - 1].bytes))
		return;
	for (i = 0; i < c->large_cnt; i++)
		if (c->largest[i].addr == addr)
			return;
	if (c->large_cnt < HEAP_LARGEST_MAX)
		c->large_cnt++;
	for (i = c->large_cnt - 1; i > 0 && c->largest[i - 1].bytes < bytes; i--)
		c->largest[i] = c->largest[i - 1];
	l = &c->largest[i];
	*l = (struct heap_large){ .addr = addr, .bytes = bytes };
	memcpy(l->type, type->name, sizeof(l->type));
	heap_size_text(type, s, l->what, sizeof(l->what));
}

/* ---- references ---- */

/* Read what its size needs. */
static void read_more(struct taking *t, const struct heap_type *type, struct heap_size *s)
{
	uint8_t more[HEAP_MORE_BYTES];
	int tries = 4;

	while (s->more_bytes && tries-- &&
	       !heap_mem_read(&t->mem, s->more, more, s->more_bytes))
		heap_size_more(&t->build, type, more, s);
}

static void take_candidate(struct taking *t, uint64_t addr, const uint8_t *bytes, double weight)
{
	struct heap_object o;
	struct heap_size s;
	uint32_t head;

	if (!heap_object_at(t->types, bytes, HEAP_OBJECT_LOOK, &o))
		return;
	heap_size_begin(&t->build, o.type, addr, bytes, 0, HEAP_OBJECT_LOOK, &s);
	if (s.bytes <= PYMALLOC_SMALL_MAX)
		return;
	if (!t->whole && o.refs == UINT32_MAX)
		return;
	read_more(t, o.type, &s);
	if (!t->whole)
		weight /= o.refs;
	taking_object(t, o.type, addr, &s, weight);
	head = t->build.objects.str_length;
	if (heap_has_references(o.type))
		large_range(t, addr + head, s.bytes - o.type->before - head, weight);
}

static void read_candidates(struct taking *t)
{
	static uint8_t bytes[PENDING_MAX][HEAP_OBJECT_LOOK];
	static struct candidate taken[PENDING_MAX];
	struct heap_piece pieces[PENDING_MAX];
	uint32_t i, cnt = t->candidate_cnt;

	memcpy(taken, t->candidates, cnt * sizeof(*taken));
	t->candidate_cnt = 0;

	for (i = 0; i < cnt; i++) {
		/* Shorter objects may be followed by unmapped memory: but not within the page. */
		uint64_t addr = taken[i].addr;
		size_t len = object_first_read(addr, 64, HEAP_OBJECT_LOOK);

		memset(bytes[i] + len, 0, HEAP_OBJECT_LOOK - len);
		pieces[i] = (struct heap_piece){ addr, bytes[i], (uint32_t)len, false };
	}
	heap_mem_read_many(&t->mem, pieces, cnt);
	for (i = 0; i < cnt; i++)
		if (pieces[i].ok)
			take_candidate(t, taken[i].addr, bytes[i], taken[i].weight);
}

void large_scan(struct taking *t, const uint8_t *bytes, size_t len, double weight)
{
	uint64_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word & 7 || word < t->lowest || word >= t->highest ||
		    heap_units_have(&t->units, word) || !heap_maps_find(&t->maps, word))
			continue;
		if (t->whole && see(t, word))
			continue;
		t->candidates[t->candidate_cnt++] = (struct candidate){ word, weight };
		if (t->candidate_cnt == PENDING_MAX)
			read_candidates(t);
	}
}

/* In a sample, a random part of a long range stands for all of it. */
static void scan_range(struct taking *t, struct range r)
{
	static uint8_t bytes[RANGE_PART];
	uint64_t parts = (r.bytes + RANGE_PART - 1) / RANGE_PART, at, len;

	if (!t->whole && parts > 1) {
		at = heap_random(&t->seed) % parts * RANGE_PART;
		r = (struct range){ r.addr + at, r.bytes - at, r.weight * (double)parts };
		r.bytes = r.bytes < RANGE_PART ? r.bytes : RANGE_PART;
	}
	for (at = 0; at < r.bytes; at += len) {
		len = r.bytes - at < RANGE_PART ? r.bytes - at : RANGE_PART;
		if (heap_mem_read(&t->mem, r.addr + at, bytes, len))
			return;
		large_scan(t, bytes, len, r.weight);
	}
}

void large_finish(struct taking *t)
{
	do {
		if (t->candidate_cnt)
			read_candidates(t);
		if (t->range_cnt)
			scan_range(t, t->ranges[--t->range_cnt]);
	} while (t->candidate_cnt || t->range_cnt);
}
