// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_table.c - tables that are outside of their owners: a list's items, a dict's keys and
 * values, a set's entries, a deque's blocks, an object's attributes (3.11, 3.12).
 *
 * Tables do not overlap: the one that contains a word is the one with the highest address at or
 * below it. So the scan compares where the tables of all such owners begin; only the best one is
 * read afterwards, to see whether it is long enough.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/cpython/listobject.h, dictobject.h, setobject.h,
 * Modules/_collectionsmodule.c (block, BLOCKLEN).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "heap/chains_work.h"

/* A deque's block: leftlink, items, rightlink. */
#define BLOCK_ITEMS 64u
#define BLOCK_RIGHT (8u + 8u * BLOCK_ITEMS)
#define BLOCKS_MAX 100000u
/* Entries of a global namespace's dict that are looked at for what only such ones have. */
#define GLOBALS_MAX 32u

static bool has_values(const struct chains *c, const struct heap_type *type)
{
	return (c->target->minor == 11 || c->target->minor == 12) && type->flags & PY_MANAGED_DICT;
}

static bool is_dict(const struct heap_type *type)
{
	return type->kind == HEAP_DICT || type->kind == HEAP_ODICT;
}

static bool has_table(const struct chains *c, const struct heap_type *type)
{
	return type->kind == HEAP_LIST || is_dict(type) || type->kind == HEAP_SET ||
	       type->kind == HEAP_DEQUE || has_values(c, type);
}

static int by_address(const void *a, const void *b)
{
	const struct chains_table *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void chains_tables_search(struct chains *c)
{
	uint32_t i;

	if (!c->table_cnt)
		return;
	qsort(c->tables, c->table_cnt, sizeof(*c->tables), by_address);
	for (i = 0; i < c->type_cnt; i++)
		if (has_table(c, c->list[i]))
			chains_set_add(&c->search, c->list[i]->addr, i | CHAINS_TYPE_BIT);
}

/* ---- during the scan ---- */

/* The first word in a list at or above this address. */
static uint32_t first_from(const struct chains *c, uint64_t start)
{
	uint32_t from = 0, to = c->table_cnt, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (c->tables[middle].at < start)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void take_start(struct chains *c, uint64_t start, uint64_t owner,
		       const struct heap_type *type)
{
	uint32_t i = start ? first_from(c, start) : c->table_cnt;

	if (i == c->table_cnt || c->tables[i].start >= start)
		return;
	c->tables[i].start = start;
	c->tables[i].owner = owner;
	c->tables[i].owner_type = type;
}

/* Words of an object from its end of the head on; -4: words before the object. */
static void take_starts(struct chains *c, const uint64_t *field, const uint64_t *before,
			uint64_t owner, const struct heap_type *type)
{
	if (type->kind == HEAP_LIST) {		/* ob_size, ob_item */
		take_start(c, field[1], owner, type);
	} else if (is_dict(type)) {		/* ma_used, version, ma_keys, ma_values */
		take_start(c, field[2], owner, type);
		take_start(c, field[3], owner, type);
	} else if (type->kind == HEAP_SET) {	/* fill, used, mask, table */
		take_start(c, field[3], owner, type);
	} else if (type->kind == HEAP_DEQUE) {	/* ob_size, leftblock, rightblock */
		take_start(c, field[1], owner, type);
		take_start(c, field[2], owner, type);
	}
	if (!before || !has_values(c, type))
		return;
	if (c->target->minor == 11)		/* values, dict, and the collector's head */
		take_start(c, before[0], owner, type);
	else if (before[1] & 1)			/* dict, or values with a tag */
		take_start(c, before[1] + 1, owner, type);
}

void chains_tables_take(struct chains *c, const struct chains_word *w)
{
	uint32_t i = w->value & ~CHAINS_TYPE_BIT, above = c->head / 8u - 1;
	const struct heap_type *type = i < c->type_cnt ? c->list[i] : NULL;
	uint64_t copy[4], owner;

	if (!type || !has_table(c, type))
		return;
	owner = chains_word_object(c, w, type);
	if (!owner)
		return;
	if (w->after >= 4)
		memcpy(copy, w->word + 1, sizeof(copy));
	else if (py_get(&c->walk, owner + c->head, copy, sizeof(copy)))
		return;
	take_starts(c, copy, w->before >= above + 4 ? w->word - above - 4 : NULL, owner, type);
}

/* ---- after it ---- */

/* The entry of a dict that contains the word. False: none does. */
static bool name_entry(struct chains *c, const struct py_dict *d, uint64_t at, char *out,
		       size_t size)
{
	struct py_entry entries[WALK_ENTRIES];
	uint64_t index;
	uint32_t cnt;

	if (d->values && at >= d->values && (at - d->values) / 8 < d->cnt)
		index = (at - d->values) / 8;
	else if (at >= d->entries && (at - d->entries) / d->entry_bytes < d->cnt)
		index = (at - d->entries) / d->entry_bytes;
	else
		return false;
	if (py_read_entries(&c->walk, d, (uint32_t)index, entries, &cnt) || !cnt)
		return false;
	if (at == d->entries + index * d->entry_bytes + d->key_at)
		snprintf(out, size, "a key");
	else if (!chains_text(c, entries[0].key, c->why->values, out, size))
		snprintf(out, size, "[]");
	return true;
}

/* Blocks are not initialised: only what is between the deque's ends is an item. */
static bool is_in_deque(struct chains *c, const struct chains_table *t)
{
	uint64_t words[5], i = (t->at - t->start - 8) / 8;	/* size, blocks, indices in them */

	if (py_get(&c->walk, t->owner + c->head, words, sizeof(words)) || !words[0])
		return false;
	if (t->first)
		return t->start == words[1];
	return t->at >= t->start + 8 && i < BLOCK_ITEMS &&
	       (t->start != words[1] || i >= words[3]) && (t->start != words[2] || i <= words[4]);
}

static bool name_in_table(struct chains *c, const struct chains_table *t, enum chains_how *how,
			  char *out, size_t size)
{
	uint64_t words[4];	/* after the head */
	struct py_dict d;

	*how = CHAINS_FIELD;
	if (has_values(c, t->owner_type) &&
	    !py_shared_keys(&c->walk, t->owner_type->addr, t->start, &d) &&
	    name_entry(c, &d, t->at, out, size))
		return true;
	*how = CHAINS_ITEM;
	snprintf(out, size, "[]");
	if (is_dict(t->owner_type))
		return !py_open_dict(&c->walk, t->owner, &d) &&
		       name_entry(c, &d, t->at, out, size);
	if (py_get(&c->walk, t->owner + c->head, words, sizeof(words)))
		return false;
	switch (t->owner_type->kind) {
	case HEAP_LIST:
		return words[1] == t->start && (t->at - t->start) / 8 < words[0];
	case HEAP_SET:		/* key and hash */
		return words[3] == t->start && !((t->at - t->start) % 16) &&
		       (t->at - t->start) / 16 <= words[2];
	case HEAP_DEQUE:
		return is_in_deque(c, t);
	default:
		return false;
	}
}

/* A dict of global variables that no module object refers to. */
static bool is_global(struct chains *c, const struct chains_table *t, char *out, size_t size)
{
	char name[HEAP_NAME_BYTES] = "", key[HEAP_NAME_BYTES];
	uint64_t value;

	if (t->owner_type->kind != HEAP_DICT ||
	    py_dict_value(&c->walk, t->owner, "__builtins__", GLOBALS_MAX, &value))
		return false;
	if (!py_dict_value(&c->walk, t->owner, "__name__", GLOBALS_MAX, &value))
		chains_text(c, value, true, name, sizeof(name));
	utf8_copy(key, sizeof(key), out, strlen(out));
	snprintf(out, size, "%s.%s", *name ? name : "?", key);
	return true;
}

static void keep_by_owner(struct chains *c, const struct chains_table *t, enum chains_how how,
			  char *name, size_t size)
{
	uint32_t space = chains_set_find(&c->space_at, t->owner), parent;
	char full[HEAP_ROOT_NAME_BYTES];

	if (space != CHAINS_NONE) {
		chains_variable_name(c, space, name, full, sizeof(full));
		chains_edge(c, CHAINS_NONE, t->child, CHAINS_ROOT, c->spaces[space].type ?
			    HEAP_ROOT_CLASS : HEAP_ROOT_MODULE, full);
		return;
	}
	if (is_global(c, t, name, size)) {
		chains_edge(c, CHAINS_NONE, t->child, CHAINS_ROOT, HEAP_ROOT_MODULE, name);
		return;
	}
	parent = chains_keeper(c, t->owner, t->owner_type, c->nodes[t->child].depth + 1u);
	chains_edge(c, parent, t->child, how, HEAP_ROOT_UNKNOWN, name);
}

/*
 * The first block of the deque that has a block around this address; 0: there is none. Blocks refer
 * to each other, so only two that agree count.
 */
static uint64_t first_block(struct chains *c, uint64_t at)
{
	uint64_t block = 0, links[2], off;
	unsigned int i;

	for (off = 8; off < BLOCK_RIGHT && !block; off += 8)
		if (!py_pointer(&c->walk, at - off, &links[0]) &&
		    !py_pointer(&c->walk, links[0] + BLOCK_RIGHT, &links[1]) &&
		    links[1] == at - off)
			block = at - off;
	for (i = 0; block && i < BLOCKS_MAX && !chains_at_limit(c); i++) {
		if (py_pointer(&c->walk, block, &links[0]) ||
		    py_pointer(&c->walk, links[0] + BLOCK_RIGHT, &links[1]) ||
		    links[1] != block)
			return block;
		block = links[0];
	}
	return 0;
}

/* Nobody's: of a deque in the middle, which the next scan finds by its end; else of C code. */
static void keep_by_nobody(struct chains *c, const struct chains_table *t)
{
	uint64_t block = first_block(c, t->at);
	const struct heap_region *r = chains_region(c, t->at);

	if (block && !t->first && c->table_cnt < CHAINS_HITS_MAX) {
		c->tables[c->table_cnt++] = (struct chains_table){ .at = block + 8,
								   .child = t->child,
								   .first = true };
		return;
	}
	chains_edge(c, CHAINS_NONE, t->child, CHAINS_ROOT, HEAP_ROOT_C, r ? r->file : "");
}

void chains_tables_end(struct chains *c)
{
	uint32_t cnt = c->table_cnt, i;
	struct chains_table *tables = c->tables, t;
	char name[HEAP_ROOT_NAME_BYTES];
	enum chains_how how;

	for (i = 1; i < cnt; i++)
		if (tables[i].start < tables[i - 1].start) {
			tables[i].start = tables[i - 1].start;
			tables[i].owner = tables[i - 1].owner;
			tables[i].owner_type = tables[i - 1].owner_type;
		}
	c->table_cnt = 0;	/* what is added below is in front of those still to be read */
	for (i = 0; i < cnt && !chains_at_limit(c); i++) {
		t = tables[i];
		if (t.owner && name_in_table(c, &t, &how, name, sizeof(name)))
			keep_by_owner(c, &t, how, name, sizeof(name));
		else
			keep_by_nobody(c, &t);
	}
}
