// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* chains.c - the search, level by level. See chains.h, chains_work.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "heap/chains_work.h"

/* Reads of single objects: far more than are ever needed. The time is limited, too. */
#define READS_MAX 50000000u
#define TIME_NS_MAX 60000000000ull

/* ---- references that a scan finds ---- */

static void take_reference(struct chains *c, const struct chains_word *w)
{
	struct chains_node *n;

	if (w->value & CHAINS_TYPE_BIT) {
		chains_tables_take(c, w);
		return;
	}
	n = &c->nodes[w->value];
	if (n->refs >= CHAINS_REFS_MAX)
		return;
	if (c->hit_cnt == CHAINS_HITS_MAX) {
		c->out->limited = true;
		return;
	}
	n->refs++;
	c->hits[c->hit_cnt++] = (struct chains_hit){ w->at, w->value };
}

/* A frame that runs, a thread's state, a stack. Returns false if it is none of these. */
static bool take_range(struct chains *c, const struct chains_hit *h)
{
	const struct chains_range *r = chains_range_at(c, h->at);
	char name[HEAP_ROOT_NAME_BYTES];
	bool variable;

	if (!r)
		return false;
	if (r->kind == CHAINS_FRAME) {
		variable = chains_frame_name(c, &r->frame, h->at, name, sizeof(name));
		chains_edge(c, CHAINS_NONE, h->node, CHAINS_ROOT | (variable ? 0 : CHAINS_WEAK),
			    HEAP_ROOT_FRAME, name);
	} else if (r->kind == CHAINS_STATE) {
		snprintf(name, sizeof(name), "thread %u", r->tid);
		chains_edge(c, CHAINS_NONE, h->node, CHAINS_ROOT, HEAP_ROOT_THREAD, name);
	}
	return true;
}

/* A suspended generator or coroutine, or its frame object. */
static bool is_suspended(struct chains *c, uint64_t obj, const struct heap_type *type)
{
	uint64_t generator;

	if (type->kind == HEAP_GENERATOR)
		return !c->target->layout.lasti_unit;
	return type->kind == HEAP_FRAME && c->target->layout.lasti_unit &&
	       !py_pointer(&c->walk, obj + c->target->layout.fr_generator, &generator);
}

/* The frame's variables are the root; its other fields are not. */
static bool take_suspended(struct chains *c, uint64_t obj, const struct heap_type *type,
			   const struct chains_hit *h)
{
	const struct py_layout *l = &c->target->layout;
	struct py_frame frame = { .addr = obj };
	char name[HEAP_ROOT_NAME_BYTES];
	struct py_variables v;
	bool variable;

	if (!is_suspended(c, obj, type))
		return false;
	if (!chains_inner_frame(c, obj, type, &frame) &&
	    (!l->lasti_unit || py_pointer(&c->walk, obj + l->fr_base + l->fr_code, &frame.code)))
		return false;
	if (py_frame_variables(&c->walk, &c->at, &frame, &v) || h->at < v.slots)
		return false;
	variable = chains_frame_name(c, &frame, h->at, name, sizeof(name));
	chains_edge(c, CHAINS_NONE, h->node, CHAINS_ROOT | (variable ? 0 : CHAINS_WEAK),
		    HEAP_ROOT_SUSPENDED, name);
	return true;
}

static void take_owner(struct chains *c, uint64_t owner, const struct heap_type *type,
		       const struct chains_hit *h)
{
	char name[HEAP_ROOT_NAME_BYTES];
	unsigned int how;
	uint32_t parent;

	if (type->kind == HEAP_STR || type->kind == HEAP_BYTES || type->kind == HEAP_INT ||
	    take_suspended(c, owner, type, h) ||
	    !chains_field_name(c, owner, type, (int64_t)(h->at - owner), &how, name,
			       sizeof(name)))
		return;
	parent = chains_keeper(c, owner, type, c->nodes[h->node].depth + 1u);
	chains_edge(c, parent, h->node, how, HEAP_ROOT_UNKNOWN, name);
}

/* The reference counts if it is still there. */
static void resolve_hit(struct chains *c, const struct chains_hit *h)
{
	const struct heap_type *type;
	uint64_t word, owner;

	if (py_get(&c->walk, h->at, &word, sizeof(word)) ||
	    (word & ~(uint64_t)c->target->layout.code_tag_mask) != c->nodes[h->node].addr ||
	    take_range(c, h))
		return;
	owner = chains_owner(c, h->at, &type);
	if (owner)
		take_owner(c, owner, type, h);
	else if (c->table_cnt < CHAINS_HITS_MAX)
		c->tables[c->table_cnt++] = (struct chains_table){ .at = h->at, .child = h->node };
}

static void search(struct chains *c)
{
	uint32_t i, cnt, unsettled;
	unsigned int scan;

	for (scan = 1; scan <= CHAINS_SCANS_MAX && !chains_at_limit(c); scan++) {
		cnt = chains_frontier(c, scan, &unsettled);
		if (!unsettled || (!cnt && !c->table_cnt))
			return;
		chains_tables_search(c);
		c->hit_cnt = 0;
		chains_scan(c, take_reference);
		chains_forget(c);
		chains_tables_end(c);
		for (i = 0; i < c->hit_cnt && !chains_at_limit(c); i++)
			resolve_hit(c, &c->hits[i]);
	}
}

/* ---- the whole ---- */

static void chains_free(struct chains *c)
{
	if (!c)
		return;
	chains_set_free(&c->known);
	chains_set_free(&c->search);
	chains_set_free(&c->node_at);
	chains_set_free(&c->variable_at);
	chains_set_free(&c->space_at);
	free(c->nodes);
	free(c->edges);
	free(c->hits);
	free(c->tables);
	free(c->variables);
	free(c->spaces);
	free(c->ranges);
	free(c->found);
	heap_types_free(c->types);
	free(c);
}

static bool allocate(struct chains *c)
{
	c->nodes = calloc(CHAINS_NODES_MAX, sizeof(*c->nodes));
	c->edges = calloc(CHAINS_EDGES_MAX, sizeof(*c->edges));
	c->hits = calloc(CHAINS_HITS_MAX, sizeof(*c->hits));
	c->tables = calloc(CHAINS_HITS_MAX, sizeof(*c->tables));
	c->variables = calloc(CHAINS_VARIABLES_MAX, sizeof(*c->variables));
	c->spaces = calloc(CHAINS_MODULES_MAX + CHAINS_TYPES_MAX, sizeof(*c->spaces));
	c->ranges = calloc(CHAINS_RANGES_MAX, sizeof(*c->ranges));
	c->found = calloc(CHAINS_FOUND_MAX, sizeof(*c->found));
	return c->nodes && c->edges && c->hits && c->tables && c->variables && c->spaces &&
	       c->ranges && c->found && !chains_set_new(&c->known, CHAINS_TYPES_MAX) &&
	       !chains_set_new(&c->search, CHAINS_NODES_MAX + CHAINS_TYPES_MAX) &&
	       !chains_set_new(&c->node_at, CHAINS_NODES_MAX) &&
	       !chains_set_new(&c->variable_at, CHAINS_VARIABLES_MAX) &&
	       !chains_set_new(&c->space_at, CHAINS_MODULES_MAX + CHAINS_TYPES_MAX);
}

static struct chains *chains_new(const struct heap_memory *memory,
				 const struct heap_target *target, const struct heap_why *why,
				 struct heap_chains *out)
{
	const struct heap_build build = {
		.objects = target->objects, .gc_head = target->layout.gc_head,
		.free_threaded = target->free_threaded, .trace_refs = target->trace_refs,
	};
	struct chains *c = calloc(1, sizeof(*c) + CHAINS_BUFFER);
	uint64_t limit = why->limits.time_ns;

	if (!c)
		return NULL;
	*c = (struct chains){ .memory = memory, .target = target, .why = why, .out = out };
	c->cached = (struct target_mem){ pages_read, &c->pages };
	c->at = (struct py_frames_at){ .interps = target->interps, .layout = target->layout,
				       .objects = target->objects,
				       .musl = target->musl };
	c->deadline = now_ns() + (limit && limit < TIME_NS_MAX ? limit : TIME_NS_MAX);
	c->random = why->limits.seed | 1;
	chains_forget(c);
	py_walk_init(&c->walk, &c->cached, &target->objects, READS_MAX);
	c->head = c->walk.head;
	c->types = heap_types_new(&c->cached, &build);
	if (c->types && allocate(c))
		return c;
	chains_free(c);
	return NULL;
}

int heap_chains_find(const struct heap_memory *memory, const struct heap_target *target,
		     const struct heap_why *why, struct heap_chains *out)
{
	uint64_t began = now_ns();
	struct chains *c;
	int err;

	memset(out, 0, sizeof(*out));
	c = chains_new(memory, target, why, out);
	if (!c)
		return -ENOMEM;
	err = chains_begin(c);
	if (!err) {
		search(c);
		chains_settle(c);
		chains_report(c);
	}
	out->took_ns = now_ns() - began;
	chains_free(c);
	return err;
}
