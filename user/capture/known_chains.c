// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * known_chains.c - see known_chains.h.
 *
 * The map has the tree, so it is searched there. What FIFO takes out of the middle of it makes what
 * is behind unreachable: it will be read again, and put where it belongs.
 */
#include "capture/known_chains.h"

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- one entry ---- */

static struct known_chain *copy_of(const struct task_chain *chain)
{
	size_t len = offsetof(struct raw_async, frames) +
		     chain->raw.nframes * sizeof(chain->raw.frames[0]);
	struct known_chain *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->raw = malloc(len);
	if (!c->raw) {
		free(c);
		return NULL;
	}
	memcpy(c->raw, &chain->raw, len);
	memcpy(c->other, chain->other, sizeof(c->other));
	c->ranges = chain->ranges;
	return c;
}

static void free_chain(struct known_chain *c)
{
	if (c)
		free(c->raw);
	free(c);
}

static struct known_chain *fork_at(const struct used_ranges *ranges, uint32_t i)
{
	struct known_chain *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ranges.cnt = 1;
	c->ranges.range[0] = ranges->range[i];
	c->ranges.mask[0] = ranges->mask[i];
	return c;
}

/* What the BPF side sees of it. */
static void value_of(const struct known_chain *c, struct async_chain *v)
{
	uint64_t hash = 0;
	uint32_t i;

	*v = (struct async_chain){ .id = c->id, .cnt = c->ranges.cnt };
	for (i = 0; i < c->ranges.cnt; i++) {
		hash = chain_hash(hash, c->ranges.sum[i]);
		v->range[i] = c->ranges.range[i];
		v->mask[i] = c->ranges.mask[i];
		v->range_check[i] = (uint32_t)hash;
	}
	v->check = chain_check(c->id, hash);
	if (!c->raw)
		v->cnt = CHAIN_IS_FORK;
}

/* ---- the map ---- */

/* The entry that the map has for this key; NULL: none. */
static struct known_chain *find(struct known_chains *k, const struct bpf_map *map,
				const struct async_chain_key *key)
{
	struct async_chain v;
	struct known_chain *c;

	if (bpf_map__lookup_elem(map, key, sizeof(*key), &v, sizeof(v), 0))
		return NULL;
	c = k->slots[v.id % KNOWN_CHAINS_MAX];
	return c && c->id == v.id ? c : NULL;
}

/* Returns false if there is no room in the map. */
static bool write_value(const struct bpf_map *map, const struct known_chain *c)
{
	struct async_chain v;

	value_of(c, &v);
	return !bpf_map__update_elem(map, &c->key, sizeof(c->key), &v, sizeof(v), BPF_ANY);
}

/* Another entry may have taken its place in the map. */
static void drop(struct known_chains *k, const struct bpf_map *map, struct known_chain **slot)
{
	struct known_chain *c = *slot;

	if (!c)
		return;
	if (find(k, map, &c->key) == c)
		bpf_map__delete_elem(map, &c->key, sizeof(c->key), 0);
	free_chain(c);
	*slot = NULL;
}

/* Takes c, which may be NULL: no memory. The oldest entry makes room. */
static void insert(struct known_chains *k, const struct bpf_map *map, struct known_chain *c,
		   const struct async_chain_key *key)
{
	struct known_chain **slot = &k->slots[(k->last_id + 1) % KNOWN_CHAINS_MAX];

	if (!c)
		return;
	drop(k, map, slot);
	c->id = ++k->last_id;
	c->key = *key;
	if (write_value(map, c))
		*slot = c;
	else
		free_chain(c);
}

/* ---- the tree ---- */

/* The index of a range with this mask; CHAIN_RANGES: none. */
static uint32_t index_of(const struct used_ranges *r, uint64_t range, uint32_t mask)
{
	uint32_t i;

	for (i = 0; i < r->cnt && (r->range[i] != range || r->mask[i] != mask); i++)
		;
	return i < r->cnt ? i : CHAIN_RANGES;
}

/* The first range of a in which b differs, and its index in b; CHAIN_RANGES: none. */
static uint32_t first_difference(const struct used_ranges *a, const struct used_ranges *b,
				 uint32_t *in_b)
{
	uint32_t i;

	for (i = 0; i < a->cnt; i++) {
		*in_b = index_of(b, a->range[i], a->mask[i]);
		if (*in_b < CHAIN_RANGES && a->sum[i] != b->sum[*in_b])
			return i;
	}
	return CHAIN_RANGES;
}

static struct async_chain_key behind(struct async_chain_key key, uint64_t sum)
{
	key.way = chain_hash(key.way, sum);
	return key;
}

/*
 * The key of `old` leads to a fork from now on, and old is behind it. Returns false if they have no
 * range in which they differ; else *key is where the other chain belongs.
 */
static bool make_fork(struct known_chains *k, const struct bpf_map *map, struct known_chain *old,
		      const struct used_ranges *ranges, struct async_chain_key *key)
{
	uint32_t its, i = first_difference(ranges, &old->ranges, &its);

	if (i == CHAIN_RANGES)
		return false;
	old->key = behind(*key, old->ranges.sum[its]);
	write_value(map, old);
	insert(k, map, fork_at(ranges, i), key);
	*key = behind(*key, ranges->sum[i]);
	return true;
}

void known_chains_put(struct known_chains *k, const struct bpf_map *map, uint32_t tgid,
		      const struct raw_task *q, const struct task_chain *chain)
{
	const struct used_ranges *ranges = &chain->ranges;
	struct async_chain_key key = {
		.tgid = tgid, .pure = q->pure,
		.first = q->pure ? q->task : q->callback0,
		.second = q->pure ? q->frame : q->callbacks,
	};
	struct known_chain *c;
	uint32_t depth, i;

	if (ranges->cnt > CHAIN_RANGES)
		return;
	for (depth = 0; depth < CHAIN_FORKS; depth++) {
		c = find(k, map, &key);
		if (!c)
			break;
		if (c->raw) {
			make_fork(k, map, c, ranges, &key);
			break;
		}
		i = index_of(ranges, c->ranges.range[0], c->ranges.mask[0]);
		if (i == CHAIN_RANGES)
			break;
		key = behind(key, ranges->sum[i]);
	}
	insert(k, map, copy_of(chain), &key);
}

const struct known_chain *known_chains_get(const struct known_chains *k, uint64_t id)
{
	const struct known_chain *c = k->slots[id % KNOWN_CHAINS_MAX];

	return c && c->id == id && c->raw ? c : NULL;
}

void known_chains_free(struct known_chains *k)
{
	uint32_t i;

	for (i = 0; i < KNOWN_CHAINS_MAX; i++) {
		free_chain(k->slots[i]);
		k->slots[i] = NULL;
	}
}
