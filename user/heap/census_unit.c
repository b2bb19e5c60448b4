// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* census_unit.c - see taking.h: the objects in the blocks of one unit. */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cpython/pymalloc.h"
#include "heap/taking.h"

/* room: bytes of the memory that was requested for it. */
static void take_object(struct taking *t, const struct heap_object *o, uint64_t addr,
			const uint8_t *bytes, uint32_t look, uint64_t room)
{
	struct heap_size s;

	heap_size_begin(&t->build, o->type, addr, bytes + o->off, o->off, look - o->off, &s);
	/* What has a frame in it has no size of its own. And a size may be just changing. */
	if (s.bytes > room || heap_has_frame(&t->build, o->type))
		s.bytes = room;
	taking_pending(t, o->type, addr, &s);
}

static void take_raw(struct taking *t, uint64_t block, bool bad)
{
	const struct estimate_sum sum = { .objects = 1, .bytes = (double)block };

	estimate_add(t->sums, ROW_RAW, sum);
	if (bad)
		estimate_add(t->sums, ROW_BAD, sum);
}

static void take_block(struct taking *t, const struct heap_blocks *b, uint32_t i)
{
	const uint8_t *bytes = b->bytes + (size_t)i * b->stride;
	uint32_t words, look = b->look, requested;
	uint64_t room = b->block;
	enum heap_found found;
	struct heap_object o;

	words = pymalloc_debug_bytes(bytes, room < UINT32_MAX ? (uint32_t)room : UINT32_MAX,
				     &requested);
	room = words ? requested : room;
	bytes += words;
	look -= words;
	if (look > room)
		look = (uint32_t)room;
	found = b->before == HEAP_BEFORE_UNKNOWN ? heap_object_in_block(t->types, bytes, look, &o) :
		heap_object_behind(t->types, bytes, look, b->before, &o);
	if (found == HEAP_OBJECT)
		take_object(t, &o, b->addr + i * b->block + words + o.off, bytes, look, room);
	else
		take_raw(t, b->block, found == HEAP_BAD);
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

static int take_blocks(struct taking *t, const struct heap_unit *unit)
{
	struct heap_blocks blocks, *b = &blocks;
	int err = read_unit(t, unit, b);
	uint32_t i;

	for (i = 0; !err && i < b->cnt; i++) {
		if (!(b->used[i / 64] >> i % 64 & 1))
			continue;
		else if (b->raw)
			take_raw(t, b->block, false);
		else
			take_block(t, b, i);
	}
	return err;
}

int taking_unit(struct taking *t, const struct heap_unit *unit)
{
	int err;

	estimate_begin(t->sums);
	err = unit->stratum >= HEAP_WINDOWS ? taking_window(t, unit) : take_blocks(t, unit);
	if (!err)
		taking_finish(t);
	t->pending_cnt = 0;
	if (t->mem.ended)	/* a part of it is missing */
		return -E2BIG;
	if (err == -ENOENT)	/* now it has nothing */
		return estimate_end(t->sums, unit->stratum);
	if (err == -EBADMSG)
		t->out->bad_pools++;
	else if (err)
		t->out->unread++;
	return err ? err : estimate_end(t->sums, unit->stratum);
}
