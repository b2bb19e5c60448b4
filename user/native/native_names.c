// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_names.c - see native_names.h. */
#include "native/native_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Approximate bytes, with hash tables, of an address; of a string besides its characters. */
#define ENTRY_BYTES 80
#define TEXT_BYTES 48
#define FUNCTIONS_MAX ARRAY_SIZE(((struct native_name *)NULL)->functions)

struct native_name_line {
	struct native_function function;
};

struct native_name_entry {
	uint64_t addr;
	uint32_t first, cnt;	/* of lines */
	enum native_name_state state;
};

static bool same_address(const void *array, uint32_t number, const void *key)
{
	const struct native_name_entry *entries = array;

	return entries[number].addr == *(const uint64_t *)key;
}

static struct native_name_entry *find_entry(const struct native_names *n, uint64_t addr)
{
	uint32_t number;

	if (!hash_index_find(&n->index, (uint32_t)hash_u64(addr), same_address, n->entries, &addr,
			     &number))
		return NULL;
	return &n->entries[number];
}

static struct native_name_entry *add_entry(struct native_names *n, uint64_t addr)
{
	uint32_t hash = (uint32_t)hash_u64(addr);
	struct hash_index_slot *slot;
	void *grown;

	if (hash_index_reserve(&n->index))
		return NULL;
	grown = array_grow(n->entries, n->cnt, &n->cap, sizeof(*n->entries));
	if (!grown)
		return NULL;
	n->entries = grown;
	slot = hash_index_slot_of(&n->index, hash, same_address, n->entries, &addr);
	hash_index_fill(&n->index, slot, hash, (uint32_t)n->cnt);
	n->entries[n->cnt] = (struct native_name_entry){ .addr = addr };
	return &n->entries[n->cnt++];
}

static void take_bytes(struct native_names *names, struct native_name_pool *pool, uint64_t bytes)
{
	names->bytes += bytes;
	pool->bytes += bytes;
}

static bool is_full(const struct native_names *n, const struct native_name_pool *pool)
{
	return n->cnt >= NATIVE_NAMES_OF_FILE || pool->bytes >= NATIVE_NAMES_BYTES_MAX;
}

enum native_name_state native_names_get(const struct native_names *names,
					const struct native_name_pool *pool, uint64_t addr,
					struct native_name *out)
{
	const struct native_name_entry *e = find_entry(names, addr);
	uint32_t i;

	if (!e)
		return is_full(names, pool) ? NAME_FULL : NAME_MISSING;
	if (e->state != NAME_KNOWN)
		return e->state;
	out->cnt = e->cnt;
	for (i = 0; i < e->cnt; i++)
		out->functions[i] = names->lines[e->first + i].function;
	return NAME_KNOWN;
}

int native_names_ask(struct native_names *names, struct native_name_pool *pool, uint64_t addr)
{
	struct native_name_entry *e = find_entry(names, addr);

	if (!e && is_full(names, pool)) {
		pool->unknown++;
		pool->full = true;
		return -ENOSPC;
	}
	if (!e) {
		e = add_entry(names, addr);
		pool->names += !!e;
		take_bytes(names, pool, e ? ENTRY_BYTES : 0);
	}
	if (!e)
		return -ENOMEM;
	e->state = NAME_ASKED;
	return 0;
}

void native_names_give_up(struct native_names *names, uint64_t addr, bool known)
{
	struct native_name_entry *e = find_entry(names, addr);

	if (e && e->state == NAME_ASKED)
		e->state = known ? NAME_UNKNOWN : NAME_MISSING;
}

/* ---- a helper's messages ---- */

struct texts {
	struct elf_name n;
	const char *name, *source;
};

/* Returns the struct at *at with its strings, and advances *at past them. */
static bool next_name(const uint8_t *data, uint32_t bytes, uint32_t *at, struct texts *t)
{
	uint32_t left = bytes - *at;

	if (left < sizeof(t->n))
		return false;
	memcpy(&t->n, data + *at, sizeof(t->n));
	left -= (uint32_t)sizeof(t->n);
	if (!t->n.name_bytes || t->n.name_bytes > left || t->n.source_bytes > left -
	    t->n.name_bytes)
		return false;
	t->name = (const char *)data + *at + sizeof(t->n);
	t->source = t->n.source_bytes ? t->name + t->n.name_bytes : NULL;
	*at += (uint32_t)sizeof(t->n) + t->n.name_bytes + t->n.source_bytes;
	return !t->name[t->n.name_bytes - 1] &&
	       (!t->source || !t->source[t->n.source_bytes - 1]);
}

/* Stores each string once for all addresses; returns NULL if out of memory. */
static const char *share_text(struct native_names *names, struct native_name_pool *pool,
			      const char *text)
{
	uint32_t id, before;

	if (!names->texts)
		names->texts = intern_new();
	if (!names->texts)
		return NULL;
	before = intern_tables(names->texts)->string_cnt;
	if (intern_string(names->texts, text, strlen(text) + 1, &id))
		return NULL;
	if (intern_tables(names->texts)->string_cnt != before)
		take_bytes(names, pool, strlen(text) + TEXT_BYTES);
	return intern_tables(names->texts)->strings[id].data;
}

static const char *function_name(struct native_names *names, struct native_name_pool *pool,
				 const char *library, const struct texts *t)
{
	char text[512];

	if (*t->name)
		return share_text(names, pool, t->name);
	snprintf(text, sizeof(text), "%.450s+0x%" PRIx64, library,
		 t->n.start ? t->n.start : t->n.addr);
	return share_text(names, pool, text);
}

static int add_line(struct native_names *names, struct native_name_pool *pool,
		    const char *library, const struct texts *t)
{
	struct native_name_line *lines = array_grow(names->lines, names->line_cnt,
						    &names->line_cap, sizeof(*lines));
	struct native_function f = { .line = t->n.line };

	if (!lines)
		return -ENOMEM;
	names->lines = lines;
	f.name = function_name(names, pool, library, t);
	f.source = t->source ? share_text(names, pool, t->source) : NULL;
	if (!f.name || (t->source && !f.source))
		return -ENOMEM;
	lines[names->line_cnt++].function = f;
	names->mangled += t->n.mangled == 1;
	pool->mangled += t->n.mangled == 1;
	return 0;
}

int native_names_take(struct native_names *names, struct native_name_pool *pool,
		      const char *library, const struct elf_message *m, const void *data)
{
	struct native_name_entry *e = NULL;
	uint32_t at = 0, first, cnt;
	struct texts t;
	int err = 0;

	while (at < m->bytes) {
		first = (uint32_t)names->line_cnt;
		cnt = 0;
		do {
			if (!next_name(data, m->bytes, &at, &t))
				return -EBADMSG;
			if (!cnt && (e = find_entry(names, t.n.addr), !e || e->state != NAME_ASKED))
				return -EBADMSG;
			if (cnt++ < FUNCTIONS_MAX)
				err = add_line(names, pool, library, &t);
		} while (!err && t.n.inlined);
		if (err)
			return err;
		e->first = first;
		e->cnt = (uint32_t)names->line_cnt - first;
		e->state = *t.name || t.n.start || e->cnt > 1 ? NAME_KNOWN : NAME_UNKNOWN;
		pool->unknown += e->state == NAME_UNKNOWN;
	}
	return 0;
}

void native_names_forget(struct native_names *names)
{
	size_t i;

	for (i = 0; i < names->cnt; i++)
		if (names->entries[i].state != NAME_ASKED)
			names->entries[i].state = NAME_MISSING;
}

void native_names_free(struct native_names *names, struct native_name_pool *pool)
{
	pool->bytes -= names->bytes;
	if (names->texts)
		intern_free(names->texts);
	hash_index_free(&names->index);
	free(names->entries);
	free(names->lines);
	*names = (struct native_names){ 0 };
}
