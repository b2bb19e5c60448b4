// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_roots.c - where chains begin: variables of modules, attributes of classes, variables of
 * functions that run, threads. All of them are listed before the search, so that a chain ends
 * without a scan for what refers to a module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"
#include "heap/chains_work.h"

/* Limits on entries of one dict, thread states, and frames of one. */
#define ENTRIES_MAX 65536u
#define THREADS_MAX 1024u
#define FRAMES_MAX 1024u
#define TP_DICT 248u		/* PyTypeObject.tp_dict after sizeof(PyObject) */
/*
 * Of PyThreadState: no version has less, and all fields that refer to objects for long are there.
 * In 3.6 an array follows that is not initialised.
 */
#define STATE_BYTES(minor) ((minor) == 6 ? 176u : 264u)
#define CHUNK_MAX (1u << 30)

/* ---- modules and classes ---- */

static void add_variables(struct chains *c, uint32_t space)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, cnt, i;
	struct py_dict d;

	if (py_open_dict(&c->walk, c->spaces[space].dict, &d))
		return;
	for (from = 0; from < d.cnt && from < ENTRIES_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(&c->walk, &d, from, entries, &cnt))
			return;
		for (i = 0; i < cnt && c->variable_cnt < CHAINS_VARIABLES_MAX; i++) {
			if (!entries[i].key || !entries[i].value || d.values ||
			    chains_set_find(&c->variable_at, entries[i].value) != CHAINS_NONE ||
			    !chains_set_add(&c->variable_at, entries[i].value, c->variable_cnt))
				continue;
			c->variables[c->variable_cnt++] =
				(struct chains_variable){ entries[i].key, space };
		}
	}
}

static void add_space(struct chains *c, uint64_t dict, uint64_t name, const struct heap_type *type)
{
	if (c->space_cnt == CHAINS_MODULES_MAX + CHAINS_TYPES_MAX ||
	    chains_set_find(&c->space_at, dict) != CHAINS_NONE ||
	    !chains_set_add(&c->space_at, dict, c->space_cnt))
		return;
	c->spaces[c->space_cnt] = (struct chains_space){ dict, name, type };
	add_variables(c, c->space_cnt++);
}

static void list_modules(struct chains *c)
{
	uint64_t dict, name;
	uint32_t i;

	for (i = 0; i < c->module_cnt && !chains_at_limit(c); i++) {
		if (py_pointer(&c->walk, c->modules[i] + c->head, &dict) ||
		    py_dict_value(&c->walk, dict, "__name__", 64, &name))
			continue;
		add_space(c, dict, name, NULL);
	}
}

static void list_classes(struct chains *c)
{
	uint64_t dict;
	uint32_t i;

	for (i = 0; i < c->type_cnt && !chains_at_limit(c); i++)
		if (!py_pointer(&c->walk, c->list[i]->addr + c->head + TP_DICT, &dict) &&
		    !py_expect(&c->walk, dict, PY_IS_DICT))
			add_space(c, dict, 0, c->list[i]);
}

void chains_variable_name(struct chains *c, uint32_t space, const char *key, char *out,
			  size_t size)
{
	const struct chains_space *s = &c->spaces[space];
	char module[HEAP_NAME_BYTES] = "?";

	if (!s->type)
		chains_text(c, s->name, true, module, sizeof(module));
	snprintf(out, size, "%s.%s", s->type ? s->type->name : module, key);
}

static void add_root(struct chains *c, uint32_t node)
{
	const struct chains_node *n = &c->nodes[node];
	uint32_t i = chains_set_find(&c->variable_at, n->addr);
	char key[HEAP_NAME_BYTES], name[HEAP_ROOT_NAME_BYTES];
	const struct chains_space *s;

	if (i != CHAINS_NONE && chains_text(c, c->variables[i].key, true, key, sizeof(key))) {
		s = &c->spaces[c->variables[i].space];
		chains_variable_name(c, c->variables[i].space, key, name, sizeof(name));
		chains_edge(c, CHAINS_NONE, node, CHAINS_ROOT,
			    s->type ? HEAP_ROOT_CLASS : HEAP_ROOT_MODULE, name);
		return;
	}
	i = chains_set_find(&c->known, n->addr);
	if (i != CHAINS_NONE)
		chains_edge(c, CHAINS_NONE, node, CHAINS_ROOT, HEAP_ROOT_CLASS, c->list[i]->name);
}

uint32_t chains_keeper(struct chains *c, uint64_t addr, const struct heap_type *type,
		       unsigned int depth)
{
	uint32_t before = c->node_cnt, node = chains_node(c, addr, type, depth);

	if (c->node_cnt != before)
		add_root(c, node);
	return node;
}

/* ---- threads and frames ---- */

static void add_range(struct chains *c, uint64_t start, uint64_t end, enum chains_range_kind kind,
		      uint32_t tid, const struct py_frame *frame)
{
	static const struct py_frame none;

	if (start < end && c->range_cnt < CHAINS_RANGES_MAX)
		c->ranges[c->range_cnt++] =
			(struct chains_range){ start, end, kind, tid, frame ? *frame : none };
}

/* The chunk with the frames: what is in no frame of it is left over from earlier ones. */
static void add_chunk(struct chains *c, uint64_t state, uint32_t tid)
{
	const struct py_layout *l = &c->target->layout;
	uint64_t chunk, words[2];	/* previous, size */
	unsigned int i;

	if (l->ts_datastack == ABI_NO_OFF ||
	    py_pointer(&c->walk, state + l->ts_datastack, &chunk))
		return;
	for (i = 0; i < 64 && chunk && !py_get(&c->walk, chunk, words, sizeof(words)); i++) {
		if (words[1] > CHUNK_MAX)
			return;
		add_range(c, chunk, chunk + words[1], CHAINS_STACK, tid, NULL);
		chunk = words[0];
	}
}

/* The C stack, which ends near the thread's own data: nothing on it lives long. */
static void add_stack(struct chains *c, const struct py_thread *t)
{
	const struct heap_region *r = chains_region(c, t->ident);

	if (r && !r->file[0] && t->ident - r->start < CHUNK_MAX)
		add_range(c, r->start, t->ident, CHAINS_STACK, t->tid, NULL);
}

static void add_frames(struct chains *c, const struct py_thread *t)
{
	static struct py_frame frames[FRAMES_MAX];
	struct py_variables v;
	uint32_t cnt, i;
	bool whole;

	py_frames_list(&c->walk, &c->at, t->state, frames, FRAMES_MAX, &cnt, &whole);
	for (i = 0; i < cnt; i++)
		if (!py_frame_variables(&c->walk, &c->at, &frames[i], &v))
			add_range(c, v.slots, v.slots + 8ull * (v.cnt + v.stack), CHAINS_FRAME,
				  t->tid, &frames[i]);
}

static int by_start(const void *a, const void *b)
{
	const struct chains_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void list_threads(struct chains *c)
{
	static struct py_thread threads[THREADS_MAX];
	uint32_t cnt = 0, i;

	if (c->at.interps)
		py_threads_list(&c->walk, &c->at, threads, THREADS_MAX, &cnt);
	for (i = 0; i < cnt && !chains_at_limit(c); i++) {
		add_range(c, threads[i].state, threads[i].state +
			  STATE_BYTES(c->target->minor), CHAINS_STATE,
			  threads[i].tid, NULL);
		add_stack(c, &threads[i]);
		add_chunk(c, threads[i].state, threads[i].tid);
		add_frames(c, &threads[i]);
	}
	if (c->range_cnt)
		qsort(c->ranges, c->range_cnt, sizeof(*c->ranges), by_start);
}

/* Ranges of frames are in those of stacks; the nearest one that begins below is the innermost. */
const struct chains_range *chains_range_at(const struct chains *c, uint64_t at)
{
	uint32_t from = 0, to = c->range_cnt, middle, i;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (c->ranges[middle].start <= at)
			from = middle + 1;
		else
			to = middle;
	}
	for (i = from; i-- && from - i <= FRAMES_MAX;)
		if (at < c->ranges[i].end)
			return &c->ranges[i];
	return NULL;
}

void chains_roots_list(struct chains *c)
{
	list_modules(c);
	list_classes(c);
	list_threads(c);
}
