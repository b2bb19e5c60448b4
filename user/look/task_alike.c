// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * task_alike.c - see task_alike.h. A task is compared when all below it have been: then "they look
 * the same" is that their numbers in like[] are equal. Nothing recurses.
 */
#include "look/task_alike.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"
#include "base/hash_secret.h"

struct alike {
	const struct task_graph *g;
	const struct task_looks *looks;
	uint32_t *like;
	uint32_t *parents;	/* how many each node has */
	struct hash_index known;	/* of nodes that later ones may look like */
	uint64_t seed;
};

/* The node at the end of the path, and which of its children comes next: an index in kids. */
struct visit {
	uint32_t node, next;
};

static uint64_t said_of(const struct alike *a, uint32_t node)
{
	return a->looks->said ? a->looks->said[node] : 0;
}

/* A line with a mark, or one that others refer to, is never left out. */
static bool is_own(const struct alike *a, uint32_t node)
{
	const struct task *t;

	if (node >= a->g->set->cnt || a->parents[node] > 1)
		return true;
	t = &a->g->set->tasks[node];
	return t->running || t->cycle || t->flags & (TASK_MOVED | TASK_CUT) ||
	       said_of(a, node) == TASK_LOOK_OWN;
}

static bool same_kids(const struct alike *a, uint32_t one, uint32_t other)
{
	const struct task_graph *g = a->g;
	uint32_t cnt = g->first[one + 1] - g->first[one], i;

	if (cnt != g->first[other + 1] - g->first[other])
		return false;
	for (i = 0; i < cnt; i++)
		if (a->like[g->kids[g->first[one] + i]] != a->like[g->kids[g->first[other] + i]])
			return false;
	return true;
}

static bool same_task(const struct alike *a, uint32_t one, uint32_t other)
{
	const struct task *x = &a->g->set->tasks[one], *y = &a->g->set->tasks[other];

	return x->tid == y->tid && x->interp_id == y->interp_id && x->flags == y->flags &&
	       x->frame_cnt == y->frame_cnt && said_of(a, one) == said_of(a, other) &&
	       !memcmp(a->looks->frames + x->frame_at, a->looks->frames + y->frame_at,
		       x->frame_cnt * sizeof(*a->looks->frames));
}

static bool looks_same(const void *array, uint32_t number, const void *key)
{
	const struct alike *a = array;
	uint32_t node = *(const uint32_t *)key;

	return same_task(a, number, node) && same_kids(a, number, node);
}

static uint32_t hash_of(const struct alike *a, uint32_t node)
{
	const struct task_graph *g = a->g;
	const struct task *t = &g->set->tasks[node];
	uint64_t h = hash_secret(a->seed, a->looks->frames + t->frame_at,
				 t->frame_cnt * sizeof(*a->looks->frames));
	uint32_t i;

	h = hash_secret_mix(h ^ said_of(a, node), HASH_SECRET_B);
	for (i = g->first[node]; i < g->first[node + 1]; i++)
		h = hash_secret_mix(h ^ a->like[g->kids[i]], HASH_SECRET_B);
	return (uint32_t)(h ^ h >> 32);
}

/* Sets like[node]; all below it have theirs, or it is in a circle. */
static int compare(struct alike *a, uint32_t node)
{
	struct hash_index_slot *slot;
	uint32_t hash;

	a->like[node] = node;
	if (is_own(a, node))
		return 0;
	if (hash_index_reserve(&a->known))
		return -ENOMEM;
	hash = hash_of(a, node);
	slot = hash_index_slot_of(&a->known, hash, looks_same, a, &node);
	if (slot->number_1)
		a->like[node] = slot->number_1 - 1;
	else
		hash_index_fill(&a->known, slot, hash, node);
	return 0;
}

/* Compares all below a node, then the node. */
static int compare_from(struct alike *a, uint32_t root, uint8_t *met, struct visit *way)
{
	const struct task_graph *g = a->g;
	uint32_t cnt = 1, kid;
	int err = 0;

	way[0] = (struct visit){ root, g->first[root] };
	met[root] = 1;
	while (!err && cnt) {
		struct visit *v = &way[cnt - 1];

		if (v->next == g->first[v->node + 1]) {
			err = compare(a, v->node);
			cnt--;
			continue;
		}
		kid = g->kids[v->next++];
		if (met[kid])
			continue;
		met[kid] = 1;
		way[cnt++] = (struct visit){ kid, g->first[kid] };
	}
	return err;
}

int task_alike(const struct task_graph *g, const struct task_looks *looks, uint32_t *like)
{
	struct alike a = { .g = g, .looks = looks, .like = like, .seed = hash_secret_seed() };
	uint8_t *met = calloc(g->node_cnt + 1u, 1);
	struct visit *way = calloc(g->node_cnt + 1u, sizeof(*way));
	int err = 0;
	uint32_t i;

	a.parents = calloc(g->node_cnt + 1u, sizeof(*a.parents));
	if (!met || !way || !a.parents)
		err = -ENOMEM;
	for (i = 0; !err && i < g->first[g->node_cnt]; i++)
		a.parents[g->kids[i]]++;
	for (i = 0; !err && i < g->node_cnt; i++)
		if (!met[i])
			err = compare_from(&a, i, met, way);
	hash_index_free(&a.known);
	free(a.parents);
	free(way);
	free(met);
	return err;
}
