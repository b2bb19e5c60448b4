// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * thread_map.c - an open-addressing table, at most half full. See thread_map.h.
 *
 * Samples of one thread follow each other, so the last result is kept.
 */
#include "model/thread_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"

#define FIRST_SLOTS 64

struct slot {
	uint64_t thread_id;
	uint32_t interp_id;
	uint32_t index_1;	/* index + 1; 0: free */
};

struct thread_map {
	struct slot *slots;
	uint32_t slot_cnt;	/* a power of two */
	uint32_t used;
	uint64_t seed;		/* thread ids come from files, which must not choose collisions */
	struct slot last;
};

struct thread_map *thread_map_new(void)
{
	struct thread_map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->slots = calloc(FIRST_SLOTS, sizeof(*m->slots));
	if (!m->slots) {
		free(m);
		errno = ENOMEM;
		return NULL;
	}
	m->slot_cnt = FIRST_SLOTS;
	m->seed = now_ns() ^ (uintptr_t)m->slots;
	return m;
}

void thread_map_free(struct thread_map *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m);
}

/* The slot with the key, or the free slot for it. */
static struct slot *find_slot(struct thread_map *m, uint64_t thread_id, uint32_t interp_id)
{
	uint64_t i = hash_u64(hash_u64(thread_id ^ m->seed) + interp_id);

	for (;; i++) {
		struct slot *s = &m->slots[i & (m->slot_cnt - 1)];

		if (!s->index_1 || (s->thread_id == thread_id && s->interp_id == interp_id))
			return s;
	}
}

static int grow(struct thread_map *m)
{
	struct slot *old = m->slots, *slots;
	uint32_t i, cnt = m->slot_cnt;

	if (cnt > UINT32_MAX / 2)
		return -ENOMEM;
	slots = calloc((size_t)cnt * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	m->slots = slots;
	m->slot_cnt = cnt * 2;
	for (i = 0; i < cnt; i++)
		if (old[i].index_1)
			*find_slot(m, old[i].thread_id, old[i].interp_id) = old[i];
	free(old);
	return 0;
}

int thread_map_get(struct thread_map *m, uint64_t thread_id, uint32_t interp_id, uint32_t *index)
{
	struct slot *s = &m->last;

	if (!s->index_1 || s->thread_id != thread_id || s->interp_id != interp_id) {
		if (m->used >= m->slot_cnt / 2 && grow(m))
			return -ENOMEM;
		s = find_slot(m, thread_id, interp_id);
		if (!s->index_1)
			*s = (struct slot){ thread_id, interp_id, ++m->used };
		m->last = *s;
	}
	*index = s->index_1 - 1;
	return 0;
}
