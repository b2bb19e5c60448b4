// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_keys.c - see memory_keys.h. A key is bytes: for a stack the ids of its frames, otherwise a
 * struct place. Interned as strings they have dense numbers.
 */
#include "analysis/memory_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/id_map.h"
#include "model/intern.h"
#include "model/stack_frame.h"
#include "model/thread_names.h"

#define NONE UINT32_MAX

/* Strings are ids of names, NONE: unknown. Fields that do not distinguish rows are 0. */
struct place {
	uint64_t tid;
	uint32_t file, func;
	int32_t line;
	uint32_t pid, comm, thread, container, kind;
};

/* Facts about a key in addition to its bytes. */
struct facts {
	struct frame own;
	bool has_own;
	size_t first, cnt;	/* by stack: its frames, in k->stacks */
};

struct memory_keys {
	enum mem_by by;
	struct intern *names;		/* strings and frames of all files */
	struct intern *keys;
	struct buf facts;		/* struct facts, by key */
	struct buf stacks;		/* uint32_t: the frames of all stacks that are keys */
	struct memory_source source;
	struct id_map known;		/* of this file: keys by stack or thread */
	struct id_map frames;		/* ... ids in names by the file's ids */
	struct buf stack;		/* ids in names of the current stack */
};

void memory_keys_free(struct memory_keys *k)
{
	if (!k)
		return;
	intern_free(k->names);
	intern_free(k->keys);
	buf_free(&k->facts);
	buf_free(&k->stacks);
	id_map_free(&k->known);
	id_map_free(&k->frames);
	buf_free(&k->stack);
	free(k);
}

struct memory_keys *memory_keys_new(enum mem_by by)
{
	struct memory_keys *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->by = by;
	k->names = intern_new();
	k->keys = intern_new();
	if (k->names && k->keys)
		return k;
	memory_keys_free(k);
	return NULL;
}

void memory_keys_begin(struct memory_keys *k, const struct memory_source *source)
{
	k->source = *source;
	id_map_clear(&k->known);
	id_map_clear(&k->frames);
}

/* Converts a frame of the file to one in names. Returns 0 or -ENOMEM. */
static int take_frame(struct memory_keys *k, uint32_t id, uint32_t *ours)
{
	const struct profile_tables *tables = mlyze_tables(k->source.file);
	struct frame f = tables->frames[id];
	const struct string_ref *file = &tables->strings[f.file], *func = &tables->strings[f.func];
	int err;

	if (id_map_get(&k->frames, id, ours))
		return 0;
	err = intern_string(k->names, file->data, file->len, &f.file);
	if (!err)
		err = intern_string(k->names, func->data, func->len, &f.func);
	if (!err)
		err = intern_frame(k->names, &f, ours);
	return err ? err : id_map_set(&k->frames, id, *ours);
}

/* Puts the stack into k->stack, and the frame that allocated into *own. Returns 0 or -ENOMEM. */
static int take_stack(struct memory_keys *k, uint32_t index, struct facts *facts)
{
	struct mlyze_stack s = mlyze_stack(k->source.file, index);
	const struct profile_tables *tables = intern_tables(k->names);
	const uint32_t *ids;
	uint32_t id, own;
	size_t i;

	k->stack.len = 0;
	for (i = 0; i < s.frame_cnt; i++)
		if (take_frame(k, s.frames[i], &id) || buf_add(&k->stack, &id, sizeof(id)))
			return -ENOMEM;
	facts->has_own = s.frame_cnt > 0;
	if (!facts->has_own)
		return 0;
	ids = (const uint32_t *)(const void *)k->stack.data;
	own = self_frame(tables, ids, (uint32_t)s.frame_cnt, SELF_OF_PYTHON);
	facts->own = tables->frames[ids[own]];
	return 0;
}

/* *id: NONE if there is no text. Returns 0 or -ENOMEM. */
static int add_text(struct memory_keys *k, const char *s, uint32_t *id)
{
	*id = NONE;
	/* With its NUL, so that the stored string is a C string. */
	return s && *s ? intern_string(k->names, s, strlen(s) + 1, id) : 0;
}

/* Sets the fields that distinguish rows by code. */
static void place_of_code(const struct memory_keys *k, const struct facts *facts, struct place *p)
{
	p->file = p->func = NONE;
	if (!facts->has_own)
		return;
	p->file = facts->own.file;
	p->kind = facts->own.kind;
	if (k->by != MEM_BY_FILE)
		p->func = facts->own.func;
	if (k->by == MEM_BY_LINE)
		p->line = facts->own.line;
}

static int place_of_process(struct memory_keys *k, uint16_t thread, struct place *p)
{
	const struct memory_source *src = &k->source;
	int err = add_text(k, src->container, &p->container);

	if (err || k->by == MEM_BY_CONTAINER)
		return err;
	p->pid = src->pid;
	err = add_text(k, src->comm, &p->comm);
	if (err || k->by == MEM_BY_PROCESS)
		return err;
	p->tid = mlyze_notes_tid(src->notes, thread);
	return add_text(k, thread_names_find(src->names, p->tid), &p->thread);
}

static bool by_code(enum mem_by by)
{
	return by == MEM_BY_STACK || by == MEM_BY_FILE || by == MEM_BY_FUNCTION ||
	       by == MEM_BY_LINE;
}

/* By function, rows have the lowest of their lines. Returns 0 or -ENOMEM. */
static int keep_facts(struct memory_keys *k, uint32_t key, struct facts *facts)
{
	struct facts *old = (struct facts *)(void *)k->facts.data + key;

	if (key == k->facts.len / sizeof(*facts)) {
		if (k->by == MEM_BY_STACK) {
			facts->first = k->stacks.len / sizeof(uint32_t);
			facts->cnt = k->stack.len / sizeof(uint32_t);
		}
		if (facts->cnt && buf_add(&k->stacks, k->stack.data, k->stack.len))
			return -ENOMEM;
		return buf_add(&k->facts, facts, sizeof(*facts));
	}
	if (facts->own.line > 0 && (old->own.line <= 0 || facts->own.line < old->own.line))
		old->own.line = facts->own.line;
	return 0;
}

static int make_key(struct memory_keys *k, const struct mlyze_event *alloc, uint32_t *key)
{
	struct facts facts;
	struct place p;
	const void *bytes = &p;
	size_t len = sizeof(p);
	int err = 0;

	memset(&facts, 0, sizeof(facts));
	memset(&p, 0, sizeof(p));
	if (by_code(k->by)) {
		err = take_stack(k, alloc->stack, &facts);
		place_of_code(k, &facts, &p);
	} else {
		err = place_of_process(k, alloc->thread, &p);
	}
	if (k->by == MEM_BY_STACK) {
		bytes = k->stack.len ? (const void *)k->stack.data : "";
		len = k->stack.len;
	}
	if (!err)
		err = intern_string(k->keys, bytes, len, key);
	return err ? err : keep_facts(k, *key, &facts);
}

int memory_keys_of(struct memory_keys *k, const struct mlyze_event *alloc, uint32_t *key)
{
	uint32_t what = by_code(k->by) ? alloc->stack :
			k->by == MEM_BY_THREAD ? alloc->thread : 0;
	int err;

	if (id_map_get(&k->known, what, key))
		return 0;
	err = make_key(k, alloc, key);
	return err ? err : id_map_set(&k->known, what, *key);
}

static const char *text_of(const struct memory_keys *k, uint32_t id)
{
	return id == NONE ? NULL : intern_tables(k->names)->strings[id].data;
}

struct memory_key memory_keys_get(const struct memory_keys *k, uint32_t key)
{
	const struct string_ref *bytes = &intern_tables(k->keys)->strings[key];
	const struct facts *facts = (const struct facts *)(const void *)k->facts.data + key;
	struct memory_key out = { .own = facts->has_own ? &facts->own : NULL };
	struct place p;

	if (by_code(k->by)) {
		out.frame_cnt = facts->cnt;
		if (facts->cnt)
			out.frames = (const uint32_t *)(void *)k->stacks.data + facts->first;
		return out;
	}
	memcpy(&p, bytes->data, sizeof(p));
	out.container = text_of(k, p.container);
	if (k->by == MEM_BY_CONTAINER)
		return out;
	out.pid = p.pid;
	out.comm = text_of(k, p.comm);
	if (k->by == MEM_BY_THREAD) {
		out.tid = p.tid;
		out.thread = text_of(k, p.thread);
	}
	return out;
}

const struct profile_tables *memory_keys_tables(const struct memory_keys *k)
{
	return intern_tables(k->names);
}
