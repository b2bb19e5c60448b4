// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_report.c - chains as people read them: an object and the dict of its attributes are one
 * link, and so are a function, the tuple of its cells, and a cell. Equal chains are one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "heap/chains_work.h"

/* Objects on the way from a root, before some are joined. */
#define PATH_MAX_ (4u * HEAP_LINKS_MAX)
/* Different keys of one container, from which on they are data. */
#define KEYS_FEW 4u
/* Offsets of func_code and func_closure after sizeof(PyObject): Include/cpython/funcobject.h. */
#define FUNC_CODE(minor) ((minor) >= 10 ? 32u : 0u)

struct step {
	const struct chains_node *node;
	const struct chains_edge *next;		/* NULL: the last one */
	char name[HEAP_NAME_BYTES];
};

struct path {
	const struct chains_edge *root;
	struct step steps[PATH_MAX_];
	uint32_t cnt;
};

/* Keys under which a container has many objects say nothing: they are data. */
static bool has_many_keys(const struct chains *c, uint32_t parent)
{
	uint32_t i, cnt = 0;

	for (i = 0; i < c->edge_cnt && cnt <= KEYS_FEW; i++)
		cnt += c->edges[i].parent == parent && c->edges[i].how == CHAINS_ITEM;
	return cnt > KEYS_FEW;
}

static void name_step(const struct chains *c, struct step *s)
{
	const struct chains_edge *e = s->next;
	const char *name = e->how == CHAINS_ITEM && !c->why->values &&
		has_many_keys(c, e->parent) ? "[]" : e->name;

	utf8_copy(s->name, sizeof(s->name), name, strlen(name));
}

/* From the root to the object of the sample. False: there is no chain. */
static bool find_path(const struct chains *c, uint32_t sample, struct path *p)
{
	const struct chains_edge *e = NULL;
	uint32_t i, at = sample;

	p->cnt = 0;
	do {
		if (p->cnt == PATH_MAX_ || c->nodes[at].best == CHAINS_NONE)
			return false;
		p->steps[p->cnt++] = (struct step){ .node = &c->nodes[at], .next = e };
		e = &c->edges[c->nodes[at].best];
		at = e->parent;
	} while (e->how != CHAINS_ROOT);
	p->root = e;
	for (i = 0; i < p->cnt / 2; i++) {
		struct step s = p->steps[i];

		p->steps[i] = p->steps[p->cnt - 1 - i];
		p->steps[p->cnt - 1 - i] = s;
	}
	for (i = 0; i + 1 < p->cnt; i++)
		name_step(c, &p->steps[i]);
	return true;
}

static void drop_steps(struct path *p, uint32_t from, uint32_t cnt)
{
	memmove(&p->steps[from], &p->steps[from + cnt],
		(p->cnt - from - cnt) * sizeof(p->steps[0]));
	p->cnt -= cnt;
}

/* ---- what is joined ---- */

/* The variable that a function has from outside: the name of the cell in its tuple of cells. */
static void name_free(struct chains *c, const struct step *function, uint64_t tuple, uint64_t cell,
		      char *out, size_t size)
{
	struct py_variables v;
	struct py_frame frame = { 0 };
	char name[HEAP_NAME_BYTES];
	uint64_t cnt, items[64], i;

	if (py_pointer(&c->walk, function->node->addr + c->head + FUNC_CODE(c->target->minor),
		       &frame.code) ||
	    py_get(&c->walk, tuple + c->head, &cnt, sizeof(cnt)) || cnt > ARRAY_SIZE(items) ||
	    py_get(&c->walk, py_tuple_items(&c->walk, tuple), items, cnt * sizeof(*items)) ||
	    py_frame_variables(&c->walk, &c->at, &frame, &v) || v.cnt < cnt)
		return;
	for (i = 0; i < cnt && items[i] != cell; i++)
		;
	if (i == cnt)
		return;
	chains_slot_name(c, &v, v.cnt - cnt + i, name, sizeof(name));
	snprintf(out, size, *name ? "closure variable %.64s" : "closure%.0s", name);
}

static uint8_t kind_at(const struct path *p, uint32_t i)
{
	return i < p->cnt && p->steps[i].node->type ? p->steps[i].node->type->kind : HEAP_PLAIN;
}

static void join_steps(struct chains *c, struct path *p)
{
	struct step *s;
	uint32_t i;

	for (i = 0; i + 1 < p->cnt; i++) {
		s = &p->steps[i];
		if (s->next->how == CHAINS_NAMESPACE && i + 2 < p->cnt) {
			memcpy(s->name, p->steps[i + 1].name, sizeof(s->name));
			s->next = p->steps[i + 1].next;
			drop_steps(p, i + 1, 1);
		} else if (kind_at(p, i) == HEAP_FUNCTION && kind_at(p, i + 1) == HEAP_TUPLE &&
			   kind_at(p, i + 2) == HEAP_CELL && i + 3 < p->cnt) {
			name_free(c, s, p->steps[i + 1].node->addr, p->steps[i + 2].node->addr,
				  s->name, sizeof(s->name));
			s->next = p->steps[i + 2].next;
			drop_steps(p, i + 1, 2);
		}
	}
}

/*
 * A thread's dict has, for each threading.local, an object with its dict of this thread (up to
 * 3.12): only the last one has names.
 */
static void join_local(struct path *p)
{
	uint32_t i;

	for (i = 1; i + 1 < p->cnt && i < 3; i++)
		if (p->steps[i].node->type &&
		    !strcmp(p->steps[i].node->type->name, "_thread._localdummy")) {
			drop_steps(p, 0, i + 1);
			return;
		}
}

/* ---- rows ---- */

static void fill_chain(const struct path *p, struct heap_chain *out)
{
	uint32_t from = p->cnt > HEAP_LINKS_MAX ? p->cnt - HEAP_LINKS_MAX : 0, i;
	struct heap_link *link;

	memset(out, 0, sizeof(*out));
	out->root = p->root ? p->root->root : HEAP_ROOT_UNKNOWN;
	out->cut = from > 0;
	out->count = 1;
	if (p->root)
		memcpy(out->root_name, p->root->name, sizeof(out->root_name));
	for (i = from; i < p->cnt; i++) {
		link = &out->links[out->link_cnt++];
		memcpy(link->name, p->steps[i].name, sizeof(link->name));
		if (p->steps[i].node->type)
			memcpy(link->type, p->steps[i].node->type->name, sizeof(link->type));
	}
}

static bool is_equal(const struct heap_chain *a, const struct heap_chain *b)
{
	return a->root == b->root && a->cut == b->cut && a->link_cnt == b->link_cnt &&
	       !strcmp(a->root_name, b->root_name) &&
	       !memcmp(a->links, b->links, a->link_cnt * sizeof(a->links[0]));
}

static void add_chain(struct heap_chains *out, const struct heap_chain *chain)
{
	uint32_t i;

	for (i = 0; i < out->chain_cnt; i++)
		if (is_equal(&out->chains[i], chain)) {
			out->chains[i].count++;
			return;
		}
	if (out->chain_cnt == HEAP_CHAINS_MAX)
		out->other++;
	else
		out->chains[out->chain_cnt++] = *chain;
}

/*
 * Without a root: if everything that leads to the object was searched, and somebody refers to it,
 * all of them are kept by each other.
 */
static enum heap_root rootless(const struct chains *c, uint32_t sample)
{
	uint32_t i;

	if (c->out->limited)
		return HEAP_ROOT_UNKNOWN;
	for (i = 0; i < c->node_cnt; i++)
		if (c->nodes[i].wanted && !c->nodes[i].searched)
			return HEAP_ROOT_UNKNOWN;
	return c->nodes[sample].counted ? HEAP_ROOT_CYCLE : HEAP_ROOT_UNKNOWN;
}

static int by_count(const void *a, const void *b)
{
	const struct heap_chain *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) :
		(int)x->link_cnt - (int)y->link_cnt;
}

void chains_report(struct chains *c)
{
	static struct path p;
	struct heap_chain chain;
	uint32_t i;

	for (i = 0; i < c->node_cnt; i++) {
		if (!c->nodes[i].sample)
			continue;
		if (find_path(c, i, &p)) {
			join_steps(c, &p);
			if (p.root->root == HEAP_ROOT_THREAD)
				join_local(&p);
			fill_chain(&p, &chain);
		} else {
			p = (struct path){ .cnt = 1, .steps = { { .node = &c->nodes[i] } } };
			fill_chain(&p, &chain);
			chain.root = rootless(c, i);
		}
		add_chain(c->out, &chain);
	}
	qsort(c->out->chains, c->out->chain_cnt, sizeof(c->out->chains[0]), by_count);
}
