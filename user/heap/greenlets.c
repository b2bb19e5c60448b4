// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* greenlets.c - see greenlets.h: types, what a greenlet is, and its frames. */
#include "heap/greenlets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/attributes.h"
#include "cpython/greenlet.h"
#include "cpython/slots.h"
#include "heap/greenlets_scan.h"

#define MODULES_MAX 32768u
#define NAMES_MAX 4096u
#define INTERPS_MAX 1024u
/* Beside the greenlets themselves, which take some 10 reads and 3 a frame. */
#define READS_MAX 4000000u
/* Greenlets from one to a main one. */
#define PARENTS_MAX 64u
#define CODES 1024u

struct greenlets {
	struct heap_greenlets *out;
	struct py_walk walk;
	struct py_frames_at at;
	uint32_t own_tgid;
	struct py_greenlet_kind kind;
	uint64_t types[GREENLET_TYPES_MAX], hubs[GREENLET_TYPES_MAX];
	uint32_t type_cnt, hub_cnt;
	struct py_thread threads[PY_THREADS_MAX];
	uint32_t thread_cnt;
	uint64_t found[GREENLETS_MAX];	/* addresses, ascending */
	struct {
		uint64_t addr;
		uint32_t id;
	} codes[CODES];			/* their fingerprints: most greenlets share them */
	uint32_t found_cnt;
};

/* ---- types ---- */

/* The types that the modules of an interpreter name. -ENOENT: greenlet is not loaded. */
static int find_types(struct greenlets *g, uint64_t interp)
{
	static const char *const names[] = { "greenlet", "gevent.hub" };
	uint64_t modules, v[2], dict, type, hub;
	uint32_t cnt;
	int err = py_pointer(&g->walk, interp + g->walk.o->interp_modules, &modules);

	if (!err)
		err = py_dict_values(&g->walk, modules, names, 2, MODULES_MAX, v);
	if (err || !v[0])
		return err ? err : -ENOENT;
	err = py_pointer(&g->walk, v[0] + g->walk.head, &dict);	/* md_dict */
	if (!err)
		err = py_dict_value(&g->walk, dict, "greenlet", NAMES_MAX, &type);
	if (!err)
		err = py_greenlet_kind_of(&g->walk, type, &g->kind);
	if (err)
		return err;
	py_subclasses(&g->walk, type, g->types + g->type_cnt, GREENLET_TYPES_MAX - g->type_cnt,
		      &cnt);
	g->type_cnt += cnt;
	g->out->cut |= g->type_cnt == GREENLET_TYPES_MAX;
	if (!v[1])
		return 0;
	g->out->gevent = 1;
	if (!py_pointer(&g->walk, v[1] + g->walk.head, &dict) &&
	    !py_dict_value(&g->walk, dict, "Hub", NAMES_MAX, &hub) &&
	    !py_subclasses(&g->walk, hub, g->hubs + g->hub_cnt, GREENLET_TYPES_MAX - g->hub_cnt,
			   &cnt))
		g->hub_cnt += cnt;
	return 0;
}

/* A type that several interpreters have, as those of C code, is there once. */
static int find_all_types(struct greenlets *g)
{
	uint64_t interp;
	uint32_t left;
	int err = py_get(&g->walk, g->at.interps, &interp, 8), one, result = -ENOENT;

	for (left = INTERPS_MAX; !err && interp && left; left--) {
		one = find_types(g, interp);
		if (!one || result == -ENOENT)
			result = one;
		err = py_get(&g->walk, interp + g->at.layout.interp_next, &interp, 8);
	}
	return err ? err : g->type_cnt ? 0 : result;
}

/* The last part of a type's name. */
static void name_type(struct greenlets *g, uint32_t i)
{
	char name[2 * GREENLET_NAME_BYTES] = "", *dot;
	uint64_t at;

	if (!py_pointer(&g->walk, g->types[i] + g->walk.head + 8, &at))	/* tp_name */
		py_get(&g->walk, at, name, object_first_read(at, 1, sizeof(name) - 1));
	dot = strrchr(name, '.');
	snprintf(g->out->types[i], GREENLET_NAME_BYTES, "%s", dot ? dot + 1 : name);
}

static uint32_t index_of(const uint64_t *list, uint32_t cnt, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < cnt && list[i] != addr; i++)
		;
	return i;
}

/* ---- greenlets ---- */

/* greenlets_scan()'s fn. */
static bool take_object(void *ctx, uint64_t addr)
{
	struct greenlets *g = ctx;
	struct py_greenlet one;

	if (py_greenlet_read(&g->walk, &g->kind, addr, &one))
		return true;
	py_greenlet_learn(&g->kind, &one);
	if (g->found_cnt == GREENLETS_MAX) {
		g->out->cut = 1;
		return false;
	}
	g->found[g->found_cnt++] = addr;
	return true;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct greenlet_row *row_of(struct greenlets *g, uint64_t addr)
{
	uint32_t lo = 0, hi = g->out->cnt, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (g->out->rows[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->out->cnt && g->out->rows[lo].addr == addr ? &g->out->rows[lo] : NULL;
}

/*
 * The thread on whose C stack an address is: pthread_self() is an address right above a thread's
 * stack, but for the main thread, whose stack is above all.
 */
static uint32_t thread_of(const struct greenlets *g, uint64_t start)
{
	const struct py_thread *best = NULL, *t;

	for (t = g->threads; t < g->threads + g->thread_cnt; t++)
		if (t->ident > start && (!best || t->ident < best->ident))
			best = t;
	return best ? best->tid : g->own_tgid;
}

static uint32_t identity_of(struct greenlets *g, uint64_t code)
{
	uint32_t i = (uint32_t)(code >> 4) % CODES;

	if (g->codes[i].addr != code) {
		g->codes[i].addr = code;
		if (code_identity_read(g->walk.mem, &g->at.layout, code, &g->codes[i].id))
			g->codes[i].id = 0;
	}
	return g->codes[i].id;
}

static void add_frames(struct greenlets *g, const struct py_greenlet *one,
		       struct greenlet_row *r)
{
	static struct py_frame frames[GREENLET_DEPTH_MAX];
	struct heap_greenlets *out = g->out;
	uint32_t cnt, i, max = GREENLETS_FRAMES_MAX - out->frame_cnt;
	bool whole;

	py_greenlet_frames(&g->walk, &g->at.layout, &g->kind, one, frames,
			   max < GREENLET_DEPTH_MAX ? max : GREENLET_DEPTH_MAX, &cnt, &whole);
	r->incomplete = !whole;
	r->frame_at = out->frame_cnt;
	r->frame_cnt = cnt;
	for (i = 0; i < cnt; i++) {
		struct raw_frame *f = &out->frames[out->frame_cnt++];

		*f = (struct raw_frame){ .code = frames[i].code, .lasti = RAW_LASTI_NONE,
					 .id = identity_of(g, frames[i].code) };
		py_frame_lasti(&g->walk, &g->at, &frames[i], &f->lasti);
	}
}

static uint8_t state_of(const struct py_greenlet *one)
{
	if (py_greenlet_has_ended(one))
		return GREENLET_ENDED;
	if (!py_greenlet_is_active(one))
		return GREENLET_NEW;
	return one->top ? GREENLET_SUSPENDED : GREENLET_RUNNING;
}

static void add_row(struct greenlets *g, uint64_t addr)
{
	struct greenlet_row *r = &g->out->rows[g->out->cnt];
	struct py_greenlet one;
	uint64_t type;
	uint32_t i;

	if (py_pointer(&g->walk, addr + g->walk.head - 8, &type) ||
	    py_greenlet_read(&g->walk, &g->kind, addr, &one))
		return;
	i = index_of(g->types, g->type_cnt, type);
	if (i == g->type_cnt)
		return;
	*r = (struct greenlet_row){
		.addr = addr, .parent = py_greenlet_parent(&g->kind, &one), .type = (uint16_t)i,
		.state = state_of(&one), .is_main = py_greenlet_is_main(&one),
		.is_hub = index_of(g->hubs, g->hub_cnt, type) < g->hub_cnt,
	};
	if (one.start)
		r->tid = thread_of(g, one.start);
	if (r->state == GREENLET_SUSPENDED)
		add_frames(g, &one, r);
	g->out->cnt++;
}

/* A parent is one of them. One that has not begun will be in the thread of its parents. */
static void settle(struct greenlets *g)
{
	struct greenlet_row *r, *up;
	uint32_t i;

	for (r = g->out->rows; r < g->out->rows + g->out->cnt; r++)
		if (r->parent && !row_of(g, r->parent))
			r->parent = 0;
	for (r = g->out->rows; r < g->out->rows + g->out->cnt; r++) {
		up = r;
		for (i = 0; up && !r->tid && i < PARENTS_MAX; i++) {
			up = up->parent ? row_of(g, up->parent) : NULL;
			r->tid = up && up->state != GREENLET_ENDED ? up->tid : 0;
		}
	}
}

/* What others have reserved, which may take all of the time, comes last. */
static int by_size(const void *a, const void *b)
{
	const struct heap_map *x = a, *y = b;
	uint64_t n = x->end - x->start, m = y->end - y->start;

	return n != m ? (n < m ? -1 : 1) : x->start < y->start ? -1 : x->start > y->start;
}

static int find_greenlets(struct greenlets *g, struct heap_mem *mem)
{
	struct heap_maps maps = { 0 };
	uint32_t i;
	int err = find_all_types(g);

	if (err)
		return err;
	py_threads_list(&g->walk, &g->at, g->threads, PY_THREADS_MAX, &g->thread_cnt);
	g->out->type_cnt = g->type_cnt;
	for (i = 0; i < g->type_cnt; i++)
		name_type(g, i);
	err = heap_maps_read(&maps, mem->tgid);
	if (maps.cnt)
		qsort(maps.list, maps.cnt, sizeof(*maps.list), by_size);
	if (!err && greenlets_scan(mem, &maps, g->types, g->type_cnt, g->walk.head - 8u,
				   take_object, g))
		g->out->cut = 1;
	heap_maps_free(&maps);
	if (err)
		return err;
	qsort(g->found, g->found_cnt, sizeof(*g->found), by_address);
	for (i = 0; i < g->found_cnt; i++)
		if (!i || g->found[i] != g->found[i - 1])
			add_row(g, g->found[i]);
	settle(g);
	return 0;
}

int heap_greenlets_run(void *shared, const int *fds)
{
	static struct greenlets g;
	struct heap_greenlets_call *call = shared;
	const struct heap_target target = call->target;
	struct heap_mem mem;
	const struct target_mem reads = { heap_mem_read, &mem };
	int err;

	memset(&g, 0, sizeof(g));
	g.out = &call->found;
	memset(g.out, 0, sizeof(*g.out));
	g.own_tgid = call->own_tgid;
	g.at = (struct py_frames_at){ .interps = target.interps, .layout = target.layout,
				      .objects = target.objects, .musl = target.musl };
	if (!target.interps || !target.objects.interp_modules)
		return -ENOENT;
	err = heap_mem_open(&mem, target.tgid, GREENLETS_BYTES_MAX, GREENLETS_NS_MAX);
	if (err)
		return err;
	py_walk_init(&g.walk, &reads, &g.at.objects, READS_MAX);
	err = find_greenlets(&g, &mem);
	g.out->cut |= mem.ended;
	heap_mem_close(&mem);
	return mem.denied && err ? -EPERM : err;
}

/* ---- in the program ---- */

static uint32_t at_most(uint32_t cnt, uint32_t max)
{
	return cnt < max ? cnt : max;
}

void heap_greenlets_copy(struct heap_greenlets *to, const struct heap_greenlets *from)
{
	struct greenlet_row *r;
	uint32_t i;

	memcpy(to, from, sizeof(*to));
	to->cnt = at_most(to->cnt, GREENLETS_MAX);
	to->frame_cnt = at_most(to->frame_cnt, GREENLETS_FRAMES_MAX);
	to->type_cnt = at_most(to->type_cnt, GREENLET_TYPES_MAX);
	for (i = 0; i < GREENLET_TYPES_MAX; i++)
		to->types[i][GREENLET_NAME_BYTES - 1] = '\0';
	for (r = to->rows; r < to->rows + to->cnt; r++) {
		if (r->frame_at > to->frame_cnt || r->frame_cnt > to->frame_cnt - r->frame_at)
			r->frame_at = r->frame_cnt = 0;
		r->type = r->type < GREENLET_TYPES_MAX ? r->type : 0;
		r->state = r->state < GREENLET_STATE_CNT ? r->state : GREENLET_ENDED;
	}
}
