// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_roots.c - see taking.h: what the variables of modules hold, before the sample is taken.
 *
 * A sample rarely meets the one list with most of the memory. So the values of modules' variables
 * are looked at, and what is in these, to a depth: whichever of these objects are large count for
 * sure, and not if the sample meets them. And they have a name.
 *
 * References are found like those of chains: any word of an object, or of the memory that it owns,
 * that is the address of an object.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/util.h"
#include "cpython/attributes.h"
#include "heap/taking.h"

#define MODULES_MAX 4096u
#define VARIABLES_MAX 1024u		/* of a module */
#define VISITS_MAX 24576u		/* objects */
#define DEPTH_MAX 3
#define TOGETHER 128u
/* Words of what an object owns that are looked at: pieces, evenly spread. */
#define PIECES 4u
#define PIECE_BYTES 1024u
/* From this size on an object counts for sure. */
#define LARGE_BYTES 65536u
#define READS 200000u

struct visit {
	uint64_t addr;
	uint32_t name;			/* number of its variable */
};

struct roots {
	struct taking *t;
	uint64_t *seen;			/* a table of addresses; 0: free */
	uint32_t seen_cnt;
	struct visit *list;		/* all visits in their order: VISITS_MAX */
	uint32_t cnt;
	char (*names)[HEAP_NAME_BYTES];	/* of variables: VISITS_MAX */
	uint32_t name_cnt;
};

static bool see(struct roots *r, uint64_t addr)
{
	size_t mask = 2 * VISITS_MAX - 1, i;

	i = hash_secret_mix(addr ^ r->t->limits->seed, HASH_SECRET_A) % (2 * VISITS_MAX);
	while (r->seen[i] && r->seen[i] != addr)
		i = i == mask ? 0 : i + 1;
	if (r->seen[i] || r->seen_cnt >= VISITS_MAX)
		return true;
	r->seen[i] = addr;
	r->seen_cnt++;
	return false;
}

static void add_visit(struct roots *r, uint64_t addr, uint32_t name)
{
	if (addr & 7 || r->cnt >= VISITS_MAX || !heap_maps_find(&r->t->maps, addr) ||
	    see(r, addr))
		return;
	r->list[r->cnt++] = (struct visit){ addr, name };
}

/* ---- modules ---- */

/* Append a str that is a name to out. Returns false if it is none. */
static bool append_name(struct taking *t, uint64_t addr, char *out)
{
	size_t at = strlen(out);
	uint32_t len;
	char *s;

	if (py_expect(heap_types_walk(t->types), addr, PY_IS_STR) ||
	    code_read_string(&t->reader, &t->build.objects, addr, &s, &len))
		return false;
	escape_text(s, len, out + at, HEAP_NAME_BYTES - at);
	free(s);
	return out[at];
}

/* The largest of a module's variables have a name, the others only need a number. */
static void add_variable(struct roots *r, const char *module, const struct py_entry *e)
{
	char name[HEAP_NAME_BYTES];
	uint32_t before = r->cnt;

	if (r->name_cnt >= VISITS_MAX)
		return;
	add_visit(r, e->value, r->name_cnt);
	if (r->cnt == before)
		return;
	snprintf(name, sizeof(name), "%s.", module);
	if (!append_name(r->t, e->key, name))
		*name = '\0';
	memcpy(r->names[r->name_cnt++], name, sizeof(name));
}

static void add_module(struct roots *r, const struct py_entry *module)
{
	struct py_walk *w = heap_types_walk(r->t->types);
	struct py_entry entries[WALK_ENTRIES];
	char name[HEAP_NAME_BYTES] = "";
	uint32_t from, cnt, i;
	struct py_dict d;
	uint64_t dict;

	/* PyModuleObject.md_dict is its first member. */
	if (!append_name(r->t, module->key, name) ||
	    py_pointer(w, module->value + w->head, &dict) || py_open_dict(w, dict, &d) || d.values)
		return;
	for (from = 0; from < d.cnt && from < VARIABLES_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(w, &d, from, entries, &cnt))
			return;
		for (i = 0; i < cnt; i++)
			if (entries[i].key && entries[i].value)
				add_variable(r, name, &entries[i]);
	}
}

static int add_modules(struct roots *r)
{
	struct py_walk *w = heap_types_walk(r->t->types);
	struct py_entry entries[WALK_ENTRIES];
	uint64_t interp, modules;
	uint32_t from, cnt, i;
	struct py_dict d;
	int err;

	w->reads_left = READS;
	err = py_pointer(w, r->t->target->interps, &interp);
	if (!err)
		err = py_pointer(w, interp + r->t->build.objects.interp_modules, &modules);
	if (!err)
		err = py_open_dict(w, modules, &d);
	for (from = 0; !err && from < d.cnt && from < MODULES_MAX; from += WALK_ENTRIES) {
		err = py_read_entries(w, &d, from, entries, &cnt);
		for (i = 0; !err && i < cnt; i++) {
			w->reads_left = READS;
			if (entries[i].key && entries[i].value)
				add_module(r, &entries[i]);
		}
	}
	return err;
}

/* ---- objects ---- */

#define BEFORE 32u

/* An object of a level, and a copy of its beginning with what is before it. */
struct look {
	struct visit visit;
	const struct heap_type *type;	/* NULL: it is none */
	uint32_t before, len;
	uint8_t bytes[BEFORE + HEAP_OBJECT_LOOK];
};

static void read_objects(struct roots *r, struct look *looks, uint32_t cnt)
{
	struct heap_piece pieces[TOGETHER];
	struct heap_object o;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		struct look *l = &looks[i];
		uint64_t addr = l->visit.addr;

		l->before = addr % OBJECT_PAGE >= BEFORE ? BEFORE : 0;
		l->len = (uint32_t)object_first_read(addr, r->t->build.objects.str_length,
						     HEAP_OBJECT_LOOK);
		pieces[i] = (struct heap_piece){ addr - l->before, l->bytes + BEFORE - l->before,
						 l->before + l->len, false };
	}
	heap_mem_read_many(&r->t->mem, pieces, cnt);
	for (i = 0; i < cnt; i++) {
		looks[i].type = NULL;
		if (pieces[i].ok && heap_object_at(r->t->types, looks[i].bytes + BEFORE,
						   looks[i].len, &o))
			looks[i].type = o.type;
	}
}

static void add_words(struct roots *r, const uint8_t *bytes, size_t len, uint32_t name)
{
	uint64_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word)
			add_visit(r, word, name);
	}
}

/* What an object refers to, or a part of it. */
static void add_references(struct roots *r, const struct look *l, const struct heap_size *s)
{
	uint8_t bytes[PIECE_BYTES];
	uint64_t at, step = s->at_bytes / PIECES & ~7ull, len = PIECE_BYTES;
	uint32_t own = s->bytes < l->len ? (uint32_t)s->bytes : l->len, i;

	add_words(r, l->bytes + BEFORE - l->before, l->before + own, l->visit.name);
	if (s->at_bytes <= PIECE_BYTES)
		step = 0;
	for (i = 0; s->at && i < (step ? PIECES : 1); i++) {
		at = i * step;
		len = s->at_bytes - at < PIECE_BYTES ? s->at_bytes - at : PIECE_BYTES;
		if (!heap_mem_read(&r->t->mem, s->at + at, bytes, len))
			add_words(r, bytes, len, l->visit.name);
	}
}

static void read_more(struct taking *t, const struct heap_type *type, struct heap_size *s)
{
	uint8_t more[HEAP_MORE_BYTES];
	int tries;

	for (tries = 0; s->more_bytes && tries < MORE_READS_MAX; tries++) {
		if (heap_mem_read(&t->mem, s->more, more, s->more_bytes))
			return;
		heap_size_more(&t->build, type, more, s);
	}
}

/* Modules, and code: what they hold is visited already, or not large. */
static bool leads_on(const struct heap_type *type)
{
	return heap_has_references(type) && type->kind != HEAP_MODULE &&
	       type->kind != HEAP_FUNCTION && type->kind != HEAP_CODE &&
	       type->kind != HEAP_FRAME && strcmp(type->name, "builtin_function_or_method");
}

static void take_look(struct roots *r, const struct look *l, int depth)
{
	struct taking *t = r->t;
	struct heap_large *large;
	struct heap_size s;

	heap_size_begin(&t->build, l->type, l->visit.addr, l->bytes + BEFORE, l->before, l->len,
			&s);
	read_more(t, l->type, &s);
	if (s.bytes > t->mapped || s.owned > t->mapped)
		return;
	large = largest_take(t->out, l->type, l->visit.addr, &s);
	if (large && r->names[l->visit.name][0])
		snprintf(large->where, sizeof(large->where), "%s%s", depth ? "in " : "",
			 r->names[l->visit.name]);
	if (s.bytes + s.owned >= LARGE_BYTES)
		taking_certain(t, l->type, l->visit.addr, &s);
	if (depth + 1 < DEPTH_MAX && leads_on(l->type))
		add_references(r, l, &s);
}

static void visit_all(struct roots *r)
{
	static struct look looks[TOGETHER];
	uint32_t at = 0, end, cnt, i;
	int depth;

	for (depth = 0; depth < DEPTH_MAX && at < r->cnt; depth++) {
		for (end = r->cnt; at < end && !r->t->mem.ended; at += cnt) {
			cnt = end - at < TOGETHER ? end - at : TOGETHER;
			for (i = 0; i < cnt; i++)
				looks[i].visit = r->list[at + i];
			read_objects(r, looks, cnt);
			for (i = 0; i < cnt; i++)
				if (looks[i].type)
					take_look(r, &looks[i], depth);
		}
	}
}

void taking_roots(struct taking *t)
{
	struct roots r = { .t = t };

	if (!t->target->interps || !t->build.objects.interp_modules)
		return;
	r.seen = calloc(2 * VISITS_MAX, sizeof(*r.seen));
	r.list = calloc(VISITS_MAX, sizeof(*r.list));
	r.names = calloc(VISITS_MAX, sizeof(*r.names));
	if (r.seen && r.list && r.names) {
		add_modules(&r);
		visit_all(&r);
	}
	free(r.seen);
	free(r.list);
	free(r.names);
}
