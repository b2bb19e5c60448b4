// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * greenlet.c - see greenlet.h.
 *
 * Sources: greenlet at 1.1.3 (greenlet.h: PyGreenlet) and 2.0.0 ... 3.5 (TGreenlet.hpp: Greenlet,
 * UserGreenlet, MainGreenlet, StackState, PythonState). Data is, in words:
 *
 * 1.x, after the object's head: stack_start, stack_stop, stack_copy, stack_saved, stack_prev,
 * parent, run_info, top_frame.
 *
 * 3.1.1 on: the virtual functions, the object itself, CPython's exception state (2 words from 3.11
 * on, else 4) and a pointer to it, the arguments (2 words), the stack as in 1.x (5 words), the
 * context, top_frame, more of CPython's state whose size differs, and at its end: the main
 * greenlet, the function, the parent. A main greenlet has itself there.
 *
 * 2.0 to 3.1.0: the object itself is not the second word, but before the main greenlet.
 *
 * tests/e2e/capture/test_dump_greenlets.py compares what is read with what greenlets say.
 */
#include "cpython/greenlet.h"

#include <errno.h>
#include <string.h>

/* tp_basicsize, tp_base, with a head of 0 bytes. */
#define TYPE_BASICSIZE 16
#define TYPE_BASE 240
#define BASES_MAX 16
#define OWN_WORDS 3		/* of an object from 2.0 on: weakreflist, dict, pimpl */
#define SELF 1			/* word of the data */
#define OLD_PARENT 5
#define OLD_TOP 7
#define STACK_WORDS 5
#define IS_MAIN UINT64_MAX	/* stack_stop */

int py_greenlet_kind_of(struct py_walk *w, uint64_t type, struct py_greenlet_kind *out)
{
	uint64_t size;
	int err = py_expect(w, type, PY_IS_TYPE);

	if (!err)
		err = py_get(w, type + w->head + TYPE_BASICSIZE, &size, sizeof(size));
	if (err)
		return err;
	*out = (struct py_greenlet_kind){
		.type = type, .inside = size > w->head + OWN_WORDS * 8u,
	};
	out->stack_at = out->inside ? 0 : w->o->minor >= 11 ? 7 : 9;
	return size < w->head + OWN_WORDS * 8u || size > 512 ? -EBADMSG : 0;
}

/* Freed objects have no references. In a free-threaded build there are two counts. */
static bool is_alive(struct py_walk *w, uint64_t addr)
{
	uint64_t before[2];	/* the words before ob_type */

	if (py_get(w, addr + w->head - 8 - sizeof(before), before, sizeof(before)))
		return false;
	if (w->head == 16 || w->o->minor < 13)
		return before[1] && before[1] >> 62 != 3;
	return before[1] || before[0] >> 32;
}

/* Returns true if the object's type is greenlet.greenlet, or has it as a base. */
static bool is_greenlet(struct py_walk *w, const struct py_greenlet_kind *k, uint64_t obj)
{
	uint64_t type;
	unsigned int i;

	if (!obj || obj & 7 || py_pointer(w, obj + w->head - 8, &type))
		return false;
	for (i = 0; type != k->type && i < BASES_MAX; i++)
		if (py_pointer(w, type + w->head + TYPE_BASE, &type))
			return false;
	return type == k->type;
}

/* Nothing in 1.x' data refers to the object itself, so all of it must fit together. */
static bool fits(struct py_walk *w, const struct py_greenlet_kind *k,
		 const struct py_greenlet *g)
{
	if (!g->saved != !g->copy || (!g->start && (g->saved || g->top)))
		return false;
	if (g->stop == IS_MAIN)
		return g->start && !g->words[OLD_PARENT];
	if (g->stop && g->start && (g->start >= g->stop || g->saved > g->stop - g->start))
		return false;
	return (g->stop || !g->start) && is_greenlet(w, k, g->words[OLD_PARENT]);
}

/* Where the stack is in its data: *out has all words. False: this is no greenlet's data. */
static bool find_stack(const struct py_greenlet_kind *k, struct py_greenlet *out, unsigned int *at)
{
	unsigned int i;

	*at = k->stack_at;
	if (k->inside)
		return true;
	out->early = out->words[SELF] != out->addr;
	if (out->early) {
		*at -= 1;
		for (i = *at + STACK_WORDS + 2; out->words[i] != out->addr; i++)
			if (i == PY_GREENLET_WORDS - 4)
				return false;
		out->self_at = (uint8_t)i;
	}
	if (!k->self_at)
		return true;
	return k->early == out->early && (!k->early || out->self_at == k->self_at);
}

/* Read its data, as much as there is. */
static int read_data(struct py_walk *w, const struct py_greenlet_kind *k, struct py_greenlet *out)
{
	size_t need = (k->stack_at + STACK_WORDS + 3u) * 8u, n;

	if (!py_get(w, out->data, out->words, sizeof(out->words)))
		return 0;
	/* What follows it is unmapped; then it is not the main one, or the parent is unknown. */
	memset(out->words, 0, sizeof(out->words));
	n = object_first_read(out->data, need, sizeof(out->words)) & ~(size_t)7;
	return py_get(w, out->data, out->words, n);
}

int py_greenlet_read(struct py_walk *w, const struct py_greenlet_kind *k, uint64_t addr,
		     struct py_greenlet *out)
{
	const uint64_t *s;
	unsigned int at;
	int err = 0;

	memset(out, 0, sizeof(*out));
	out->addr = addr;
	if (addr & 7 || !is_alive(w, addr))
		return -EBADMSG;
	out->data = addr + w->head;
	if (!k->inside)
		err = py_pointer(w, addr + w->head + (OWN_WORDS - 1) * 8, &out->data);
	if (!err)
		err = out->data & 7 ? -EBADMSG : read_data(w, k, out);
	if (!err && !find_stack(k, out, &at))
		err = -EBADMSG;
	if (err)
		return err;
	s = out->words + at;
	out->start = s[0];
	out->stop = s[1];
	out->copy = s[2];
	out->saved = s[3];
	out->top = k->inside ? out->words[OLD_TOP] : s[STACK_WORDS + 1];
	return k->inside && !fits(w, k, out) ? -EBADMSG : 0;
}

bool py_greenlet_is_main(const struct py_greenlet *g)
{
	return g->stop == IS_MAIN;
}

bool py_greenlet_is_active(const struct py_greenlet *g)
{
	return g->start != 0;
}

bool py_greenlet_has_ended(const struct py_greenlet *g)
{
	return !g->start && g->stop;
}

void py_greenlet_learn(struct py_greenlet_kind *k, const struct py_greenlet *main)
{
	unsigned int i;

	if (k->self_at || k->inside || !py_greenlet_is_main(main))
		return;
	k->early = main->early;
	k->self_at = main->self_at;
	for (i = k->stack_at + STACK_WORDS + 2; !k->self_at && i + 3 < PY_GREENLET_WORDS; i++)
		if (main->words[i] == main->addr)
			k->self_at = (uint8_t)i;
}

uint64_t py_greenlet_parent(const struct py_greenlet_kind *k, const struct py_greenlet *g)
{
	if (py_greenlet_is_main(g))
		return 0;
	if (k->inside)
		return g->words[OLD_PARENT];
	return k->self_at ? g->words[k->self_at + (k->early ? 3 : 2)] : 0;
}

/* ---- frames ---- */

/* Memory as the greenlet has it when it runs: with its part of the C stack. */
struct restored {
	const struct target_mem *mem;
	uint64_t start, saved, copy;
};

static int read_restored(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct restored *r = ctx;

	if (addr >= r->start && addr - r->start < r->saved) {
		if (len > r->saved - (addr - r->start))
			return -EFAULT;
		addr = r->copy + (addr - r->start);
	}
	return r->mem->read(r->mem->ctx, addr, buf, len);
}

/* The innermost frame: up to 3.10 an object, which top is. */
static int first_frame(struct py_walk *w, const struct py_layout *l, uint64_t top,
		       uint64_t *frame)
{
	if (!py_type_named(w, top, "frame"))
		return -EBADMSG;
	*frame = top;
	return l->lasti_unit ? 0 : py_pointer(w, top + w->head + 8, frame);
}

int py_greenlet_frames(struct py_walk *w, const struct py_layout *l,
		       const struct py_greenlet_kind *k, const struct py_greenlet *g,
		       struct py_frame *out, uint32_t max, uint32_t *cnt, bool *whole)
{
	struct restored r = { w->mem, g->start, g->saved, g->copy };
	const struct target_mem mem = { read_restored, &r };
	struct py_walk with = *w;
	struct py_greenlet now;
	uint64_t frame;
	int err = -ENOENT;

	*cnt = 0;
	*whole = false;
	if (g->top && g->start)
		err = first_frame(w, l, g->top, &frame);
	if (err)
		return err;
	with.mem = &mem;
	with.reads_left = w->reads_left;
	err = py_frames_from(&with, l, frame, out, max, cnt, whole);
	w->reads_left = with.reads_left;
	if (py_greenlet_read(w, k, g->addr, &now) || now.top != g->top || now.start != g->start ||
	    now.copy != g->copy)
		*whole = false;
	return err;
}
