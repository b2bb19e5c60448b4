// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_unit.c - see taking.h: the objects in the blocks of one unit.
 *
 * Memory that an object owns may be a block, too: it counts with its owner, and is taken from the
 * blocks that are no objects.
 */
#include <errno.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/util.h"
#include "cpython/pymalloc.h"
#include "heap/taking.h"

static bool same_name(const void *array, uint32_t number, const void *key)
{
	const struct taking *t = array;

	return !strcmp(t->rows[number]->name, key);
}

uint32_t taking_row(struct taking *t, const struct heap_type *type)
{
	uint16_t *row = &t->row_of[type->number];
	struct hash_index_slot *slot;
	uint32_t hash;

	if (*row)
		return *row - 1u;
	if (hash_index_reserve(&t->by_name))
		return ROW_OTHER;
	hash = (uint32_t)hash_secret(t->limits->seed, type->name, strlen(type->name));
	slot = hash_index_slot_of(&t->by_name, hash, same_name, t, type->name);
	if (!slot->number_1 && t->row_cnt >= HEAP_TYPES_MAX)
		return ROW_OTHER;
	if (!slot->number_1) {
		t->rows[t->row_cnt] = type;
		hash_index_fill(&t->by_name, slot, hash, t->row_cnt++);
	}
	*row = (uint16_t)slot->number_1;
	return *row - 1u;
}

/* Memory that is a block of a unit, and was counted as one that is no object. */
static void take_from_raw(struct taking *t, const struct heap_size *s)
{
	if (s->owned && s->owned <= PYMALLOC_SMALL_MAX && s->at && heap_units_have(&t->units, s->at))
		estimate_add(t->sums, ROW_RAW, (struct estimate_sum){
			.objects = -1, .bytes = -(double)((s->owned + 15) / 16 * 16) });
}

void taking_object(struct taking *t, const struct heap_type *type, uint64_t addr,
		   const struct heap_size *s, double weight)
{
	const struct estimate_sum sum = {
		.objects = weight, .bytes = weight * (double)(s->bytes + s->owned),
		.owned = weight * (double)s->owned,
	};

	estimate_add(t->sums, taking_row(t, type), sum);
	estimate_add(t->sums, ROW_ALL, sum);
	take_from_raw(t, s);
	largest_take(t->out, type, addr, s);
	/* Small ones are in units, and scanned there. */
	if (s->at && s->at_bytes > PYMALLOC_SMALL_MAX && heap_has_references(type))
		large_range(t, s->at, s->at_bytes, weight);
}

/* Read what is needed to know the sizes of pending objects, and add those that are known. */
static void read_pending(struct taking *t)
{
	static uint8_t more[PENDING_MAX][HEAP_MORE_BYTES];
	struct heap_piece pieces[PENDING_MAX];
	uint32_t i, left = 0;

	for (i = 0; i < t->pending_cnt; i++)
		pieces[i] = (struct heap_piece){ t->pending[i].size.more, more[i],
						 t->pending[i].size.more_bytes, false };
	heap_mem_read_many(&t->mem, pieces, t->pending_cnt);
	for (i = 0; i < t->pending_cnt; i++) {
		struct pending *p = &t->pending[i];

		if (pieces[i].ok)
			heap_size_more(&t->build, p->type, more[i], &p->size);
		if (pieces[i].ok && p->size.more_bytes)
			t->pending[left++] = *p;
		else
			taking_object(t, p->type, p->addr, &p->size, 1);
	}
	t->pending_cnt = left;
}

#define MORE_READS_MAX 4

static void finish_pending(struct taking *t)
{
	uint32_t i;

	for (i = 0; i < MORE_READS_MAX && t->pending_cnt; i++)
		read_pending(t);
	for (i = 0; i < t->pending_cnt; i++)
		taking_object(t, t->pending[i].type, t->pending[i].addr, &t->pending[i].size, 1);
	t->pending_cnt = 0;
}

static void take_object(struct taking *t, const struct heap_object *o, uint64_t addr,
			const uint8_t *bytes, uint32_t look, uint32_t room)
{
	struct heap_size s;

	heap_size_begin(&t->build, o->type, addr, bytes + o->off, o->off, look - o->off, &s);
	/* Objects whose size is not in them (frames), or is being changed. */
	if (s.bytes > room)
		s.bytes = room;
	if (heap_has_references(o->type))
		large_scan(t, bytes + o->off, look - o->off, 1);
	if (!s.more_bytes) {
		taking_object(t, o->type, addr, &s, 1);
		return;
	}
	t->pending[t->pending_cnt++] = (struct pending){ o->type, addr, s };
	if (t->pending_cnt == PENDING_MAX)
		finish_pending(t);
}

static void take_raw(struct taking *t, const uint8_t *bytes, uint32_t look, uint32_t block, bool bad)
{
	const struct estimate_sum sum = { .objects = 1, .bytes = block };

	estimate_add(t->sums, ROW_RAW, sum);
	if (bad)
		estimate_add(t->sums, ROW_BAD, sum);
	large_scan(t, bytes, look, 1);
}

static void take_block(struct taking *t, const struct heap_blocks *b, uint32_t i)
{
	const uint8_t *bytes = b->bytes + (size_t)i * b->stride;
	uint32_t requested, words = 0, look = b->look;
	struct heap_object o;
	enum heap_found found = HEAP_RAW;

	requested = b->block;
	if (look >= PYMALLOC_DEBUG_BYTES && look == b->block)
		words = pymalloc_debug_bytes(bytes, b->block, &requested);
	bytes += words;
	look = words ? requested : look;
	if (!b->raw)
		found = heap_object_in_block(t->types, bytes, look, &o);
	if (found == HEAP_OBJECT)
		take_object(t, &o, b->addr + (uint64_t)i * b->block + words + o.off, bytes, look,
			    requested);
	else
		take_raw(t, bytes, look, b->block, found == HEAP_BAD);
}

#define TRIES 3

/* What changes while it is copied is copied again. */
static int read_unit(struct taking *t, const struct heap_unit *unit, struct heap_blocks *b)
{
	int err = -EBADMSG, i;

	for (i = 0; i < TRIES && err == -EBADMSG; i++)
		err = t->allocator->read(&t->mem, t->target, unit, b);
	return err;
}

int taking_unit(struct taking *t, const struct heap_unit *unit)
{
	struct heap_blocks b;
	int err = read_unit(t, unit, &b);
	uint32_t i;

	if (err) {
		if (err == -EBADMSG)
			t->out->bad_pools++;
		else if (err != -E2BIG)
			t->out->unread++;
		return err;
	}
	estimate_begin(t->sums);
	t->ranges_of_unit = 0;
	for (i = 0; i < b.cnt; i++)
		if (b.used[i / 64] >> i % 64 & 1)
			take_block(t, &b, i);
	finish_pending(t);
	large_finish(t);
	if (t->mem.ended)	/* a part of it is missing */
		return -E2BIG;
	return estimate_end(t->sums, unit->stratum);
}
