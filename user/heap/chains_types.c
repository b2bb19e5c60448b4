// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_types.c - finds the types of the process, its modules, and a sample of the objects of the
 * wanted type: all of them are words that equal the address of their type.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "heap/chains_work.h"

/* xorshift64*, seeded by why->limits.seed. */
static uint64_t next_random(struct chains *c)
{
	uint64_t x = c->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	c->random = x;
	return x * 0x2545f4914f6cdd1dull;
}

static const struct heap_type *type_of_word(const struct chains *c, const struct chains_word *w)
{
	uint32_t i = w->value & ~CHAINS_TYPE_BIT;

	return i < c->type_cnt ? c->list[i] : NULL;
}

/* ---- types ---- */

static bool add_type(struct chains *c, const struct heap_type *type)
{
	if (c->type_cnt == CHAINS_TYPES_MAX) {
		c->out->limited = true;
		return false;
	}
	if (chains_set_find(&c->known, type->addr) != CHAINS_NONE ||
	    !chains_set_add(&c->known, type->addr, c->type_cnt))
		return false;
	c->list[c->type_cnt++] = type;
	return true;
}

static void add_found(struct chains *c, uint64_t addr)
{
	if (c->found_cnt < CHAINS_FOUND_MAX)
		c->found[c->found_cnt++] = addr;
	else
		c->out->limited = true;
}

/* A word that equals the address of a type of types. */
static void take_type(struct chains *c, const struct chains_word *w)
{
	add_found(c, w->at - (c->head - 8u));
}

/* What the scan has found are types if they can be verified. */
static void verify_types(struct chains *c)
{
	const struct heap_type *type;
	uint32_t i;

	for (i = 0; i < c->found_cnt && !chains_at_limit(c); i++) {
		type = heap_types_at(c->types, c->found[i]);
		if (type)
			add_type(c, type);
	}
	c->found_cnt = 0;
}

static bool search_type(struct chains *c, uint32_t i)
{
	return chains_set_add(&c->search, c->list[i]->addr, i | CHAINS_TYPE_BIT);
}

/* ---- the wanted one ---- */

static bool is_wanted(const struct chains *c, const struct heap_type *type)
{
	const char *last = strrchr(type->name, '.'), *name = c->why->type;

	return !strcmp(type->name, name) || (!c->exact && last && !strcmp(last + 1, name));
}

/* The names of builtin types have no last part: all of these are found by the first scan. */
static bool has_exact(const struct chains *c)
{
	uint32_t i;

	for (i = 0; i < c->type_cnt; i++)
		if (!strcmp(c->list[i]->name, c->why->type))
			return true;
	return false;
}

/* Counts objects by the names of their types, of which several may have the wanted last part. */
static void count_name(struct heap_chains *out, const char *name)
{
	uint32_t i;

	for (i = 0; i < out->name_cnt && strcmp(out->names[i].type, name); i++)
		;
	if (i == HEAP_WHY_NAMES_MAX)
		return;
	if (i == out->name_cnt) {
		memcpy(out->names[i].type, name, sizeof(out->names[i].type));
		out->names[i].objects = 0;
		out->name_cnt++;
	}
	out->names[i].objects++;
}

/* Each object that is seen is in the sample with the same probability (reservoir sampling). */
static void take_sample(struct chains *c, uint64_t addr)
{
	uint64_t slot = c->seen++;

	if (slot >= CHAINS_SAMPLE)
		slot = next_random(c) % c->seen;
	if (slot < CHAINS_SAMPLE)
		c->sample[slot] = addr;
}

static void take_object(struct chains *c, const struct chains_word *w)
{
	const struct heap_type *type = type_of_word(c, w);
	uint64_t addr;

	if (!type)
		return;
	if (type->kind == HEAP_TYPE && type->flags & PY_IS_TYPE)
		take_type(c, w);
	addr = chains_word_object(c, w, type);
	if (!addr)
		return;
	if (type->kind == HEAP_MODULE && c->module_cnt < CHAINS_MODULES_MAX)
		c->modules[c->module_cnt++] = addr;
	if (!is_wanted(c, type))
		return;
	count_name(c->out, type->name);
	take_sample(c, addr);
}

/* Search for objects of the wanted types from number `from` on. Returns how many these are. */
static uint32_t search_wanted(struct chains *c, uint32_t from)
{
	uint32_t i, cnt = 0;

	chains_set_clear(&c->search);
	for (i = from; i < c->type_cnt; i++)
		cnt += is_wanted(c, c->list[i]) && search_type(c, i);
	return cnt;
}

static int find_types(struct chains *c)
{
	const struct heap_type *root;

	c->root_type = chains_root_type(c);
	root = c->root_type ? heap_types_at(c->types, c->root_type) : NULL;
	if (!root || !add_type(c, root))
		return -EBADMSG;
	chains_set_add(&c->search, c->root_type, CHAINS_TYPE_BIT);
	chains_scan(c, take_type);
	verify_types(c);
	c->exact = has_exact(c);
	return 0;
}

/* ---- the sample ---- */

/* What is in another object, or left on a stack, may look like one of its objects. */
static bool is_inside_another(struct chains *c, uint64_t addr)
{
	const struct heap_type *type;
	uint64_t owner;

	if (chains_range_at(c, addr))
		return true;
	owner = chains_owner(c, addr - 8, &type);
	return owner && owner < addr && addr - owner < chains_extent(c, owner, type);
}

static void add_sample(struct chains *c)
{
	uint32_t cnt = c->seen < CHAINS_SAMPLE ? (uint32_t)c->seen : CHAINS_SAMPLE, i, node;
	uint32_t good = 0, false_cnt = 0;
	const struct heap_type *type;

	for (i = 0; i < cnt && !chains_at_limit(c); i++) {
		type = chains_object(c, c->sample[i]);
		c->out->gone += !type;
		if (!type)
			continue;
		if (!is_wanted(c, type) || is_inside_another(c, c->sample[i])) {
			false_cnt++;
			continue;
		}
		node = good < HEAP_WHY_SAMPLE ? chains_keeper(c, c->sample[i], type, 0) :
			CHAINS_NONE;
		if (node == CHAINS_NONE || c->nodes[node].sample)
			continue;
		c->nodes[node].sample = true;
		good++;
	}
	c->out->sampled = good;
	c->out->objects = i ? (uint64_t)((double)c->seen * (i - false_cnt) / i + 0.5) : 0;
}

/* Classes of metaclasses, such as abstract ones, are found by the second scan. */
int chains_begin(struct chains *c)
{
	uint32_t i, first;
	int err = find_types(c);

	if (err)
		return err;
	search_wanted(c, 0);
	first = c->type_cnt;
	for (i = 1; i < first; i++)	/* 0: `type` itself */
		if (c->list[i]->kind == HEAP_MODULE || c->list[i]->flags & PY_IS_TYPE)
			search_type(c, i);
	if (is_wanted(c, c->list[0]))
		search_type(c, 0);
	chains_scan(c, take_object);
	chains_forget(c);
	verify_types(c);
	if (search_wanted(c, first))
		chains_scan(c, take_object);
	chains_forget(c);
	if (c->out->name_cnt > 1)
		return -ENOTUNIQ;
	memcpy(c->out->type, c->out->names[0].type, sizeof(c->out->type));
	chains_roots_list(c);
	add_sample(c);
	return c->out->sampled ? 0 : -ENOENT;
}
