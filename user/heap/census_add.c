// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_add.c - see taking.h: adds objects to a census, with what they own.
 *
 * Memory that an object owns may be a block of a unit, too: it counts with its owner, and is taken
 * from the blocks that are no objects.
 */
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

/* The row of a type: all types of one name have the same. */
static uint32_t row_of(struct taking *t, const struct heap_type *type)
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
	if (s->owned && s->owned <= PYMALLOC_SMALL_MAX && s->at &&
	    heap_units_have(&t->units, s->at))
		estimate_add(t->sums, ROW_RAW, (struct estimate_sum){
			.objects = -1, .bytes = -(double)((s->owned + 15) / 16 * 16) });
	if (s->node_cnt)
		estimate_add(t->sums, ROW_RAW, (struct estimate_sum){
			.objects = -(double)s->node_cnt,
			.bytes = -(double)s->node_cnt * s->node_bytes });
}

/* Since 3.15 the memory of a bytearray is a bytes object, which was counted as such. */
static void take_from_bytes(struct taking *t, const struct heap_type *type,
			    const struct heap_size *s)
{
	const struct estimate_sum sum = { .objects = -1, .bytes = -(double)s->owned };

	if (type->kind == HEAP_BYTES && !t->bytes_type && !strcmp(type->name, "bytes"))
		t->bytes_type = type;
	if (t->build.objects.minor < 15 || type->kind != HEAP_BYTEARRAY || !s->owned ||
	    !t->bytes_type)
		return;
	estimate_add(t->sums, row_of(t, t->bytes_type), sum);
	estimate_add(t->sums, ROW_ALL, sum);
}

/* The slot of an address, or the free one where it belongs. */
static uint64_t *certain_slot(struct taking *t, uint64_t addr)
{
	size_t i = hash_secret_mix(addr ^ t->limits->seed, HASH_SECRET_B);

	while (t->certain[i % (2 * CERTAIN_MAX)] && t->certain[i % (2 * CERTAIN_MAX)] != addr)
		i++;
	return &t->certain[i % (2 * CERTAIN_MAX)];
}

void taking_certain(struct taking *t, const struct heap_type *type, uint64_t addr,
		    const struct heap_size *s)
{
	const struct estimate_sum sum = {
		.objects = 1, .bytes = (double)(s->bytes + s->owned), .owned = (double)s->owned,
	};
	uint64_t *slot = certain_slot(t, addr);

	if (*slot || t->certain_cnt >= CERTAIN_MAX)
		return;
	*slot = addr;
	t->certain_cnt++;
	estimate_certain(t->sums, row_of(t, type), sum);
	estimate_certain(t->sums, ROW_ALL, sum);
}

static void add_object(struct taking *t, const struct heap_type *type, uint64_t addr,
		       const struct heap_size *s)
{
	const struct estimate_sum sum = {
		.objects = 1, .bytes = (double)(s->bytes + s->owned), .owned = (double)s->owned,
	};

	/* Nothing is larger than all memory of the process. */
	if (s->bytes > t->mapped || s->owned > t->mapped) {
		estimate_add(t->sums, ROW_BAD, (struct estimate_sum){ .objects = 1 });
		return;
	}
	if (t->certain_cnt && *certain_slot(t, addr))
		return;
	estimate_add(t->sums, row_of(t, type), sum);
	estimate_add(t->sums, ROW_ALL, sum);
	take_from_raw(t, s);
	take_from_bytes(t, type, s);
	largest_take(t->out, type, addr, s);
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
			add_object(t, p->type, p->addr, &p->size);
	}
	t->pending_cnt = left;
}

void taking_finish(struct taking *t)
{
	uint32_t i;

	for (i = 0; i < MORE_READS_MAX && t->pending_cnt; i++)
		read_pending(t);
	for (i = 0; i < t->pending_cnt; i++)
		add_object(t, t->pending[i].type, t->pending[i].addr, &t->pending[i].size);
	t->pending_cnt = 0;
}

void taking_pending(struct taking *t, const struct heap_type *type, uint64_t addr,
		    const struct heap_size *s)
{
	if (!s->more_bytes) {
		add_object(t, type, addr, s);
		return;
	}
	t->pending[t->pending_cnt++] = (struct pending){ type, addr, *s };
	if (t->pending_cnt == PENDING_MAX)
		taking_finish(t);
}
