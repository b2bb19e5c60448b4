// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_memory.c - see native_memory.h: the free chunks, as ranges in order of their numbers. */
#include "native/native_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi_native.h"

struct range {
	uint32_t first, cnt;
	uint64_t since;		/* when it was given back */
};

struct ranges {
	struct range *list;
	size_t cnt, cap;
};

struct native_memory {
	int (*add_slab)(void *ctx, uint32_t slab);
	void *ctx;
	uint32_t slabs, slabs_max, used;	/* used: chunks */
	struct ranges free, given;	/* given: oldest first */
};

struct native_memory *native_memory_new(int (*add_slab)(void *ctx, uint32_t slab), void *ctx,
					size_t bytes)
{
	struct native_memory *m = calloc(1, sizeof(*m));
	size_t slabs = bytes / NATIVE_CHUNK / NATIVE_SLAB_CHUNKS;

	if (!m)
		return NULL;
	m->add_slab = add_slab;
	m->ctx = ctx;
	m->slabs_max = slabs < 1 ? 1 : slabs > NATIVE_SLABS ? NATIVE_SLABS : (uint32_t)slabs;
	return m;
}

void native_memory_free(struct native_memory *m)
{
	if (!m)
		return;
	free(m->free.list);
	free(m->given.list);
	free(m);
}

static int insert_range(struct ranges *r, size_t at, struct range range)
{
	struct range *list = array_grow(r->list, r->cnt, &r->cap, sizeof(*list));

	if (!list)
		return -ENOMEM;
	r->list = list;
	memmove(list + at + 1, list + at, (r->cnt - at) * sizeof(*list));
	list[at] = range;
	r->cnt++;
	return 0;
}

static void drop_range(struct ranges *r, size_t at)
{
	r->cnt--;
	memmove(r->list + at, r->list + at + 1, (r->cnt - at) * sizeof(*r->list));
}

/* Adds free chunks, merged with their neighbours. */
static int add_free(struct ranges *r, uint32_t first, uint32_t cnt)
{
	size_t i = 0;
	bool before, behind;

	while (i < r->cnt && r->list[i].first < first)
		i++;
	before = i && r->list[i - 1].first + r->list[i - 1].cnt == first;
	behind = i < r->cnt && first + cnt == r->list[i].first;
	if (!before && !behind)
		return insert_range(r, i, (struct range){ first, cnt, 0 });
	if (before) {
		r->list[i - 1].cnt += cnt + (behind ? r->list[i].cnt : 0);
		if (behind)
			drop_range(r, i);
		return 0;
	}
	r->list[i].first = first;
	r->list[i].cnt += cnt;
	return 0;
}

/* First fit: lists are short, tables are long, and short ones fill the holes at the beginning. */
static bool take_free(struct native_memory *m, uint32_t cnt, uint32_t *chunk)
{
	size_t i;

	for (i = 0; i < m->free.cnt; i++) {
		struct range *r = &m->free.list[i];

		if (r->cnt < cnt)
			continue;
		*chunk = r->first;
		r->first += cnt;
		r->cnt -= cnt;
		if (!r->cnt)
			drop_range(&m->free, i);
		m->used += cnt;
		return true;
	}
	return false;
}

/* Returns the number of free chunks at the end, which the chunks of a new slab will follow. */
static uint32_t free_at_end(const struct native_memory *m)
{
	const struct range *last = m->free.cnt ? &m->free.list[m->free.cnt - 1] : NULL;

	return last && last->first + last->cnt == m->slabs * NATIVE_SLAB_CHUNKS ? last->cnt : 0;
}

int native_memory_take(struct native_memory *m, uint32_t cnt, uint32_t *chunk)
{
	int err;

	if (!cnt || cnt > m->slabs_max * NATIVE_SLAB_CHUNKS)
		return -EFBIG;
	if (take_free(m, cnt, chunk))
		return 0;
	if (free_at_end(m) + (m->slabs_max - m->slabs) * NATIVE_SLAB_CHUNKS < cnt)
		return -ENOSPC;
	err = m->add_slab(m->ctx, m->slabs);
	if (!err)
		err = add_free(&m->free, m->slabs * NATIVE_SLAB_CHUNKS, NATIVE_SLAB_CHUNKS);
	if (err)
		return err;
	m->slabs++;
	return take_free(m, cnt, chunk) ? 0 : -EAGAIN;
}

void native_memory_give(struct native_memory *m, uint32_t chunk, uint32_t cnt, uint64_t now)
{
	/* Without memory for the note, the chunks stay unused. */
	if (cnt)
		insert_range(&m->given, m->given.cnt, (struct range){ chunk, cnt, now });
}

void native_memory_settle(struct native_memory *m, uint64_t now)
{
	while (m->given.cnt && now - m->given.list[0].since >= NATIVE_GRACE_NS) {
		const struct range r = m->given.list[0];

		drop_range(&m->given, 0);
		m->used -= r.cnt;
		add_free(&m->free, r.first, r.cnt);
	}
}

int native_memory_unsettled(const struct native_memory *m)
{
	return m->given.cnt > 0;
}

uint64_t native_memory_used(const struct native_memory *m)
{
	return (uint64_t)m->used * NATIVE_CHUNK;
}
