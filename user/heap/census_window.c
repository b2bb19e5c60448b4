// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_window.c - see taking.h: objects outside of the allocator's units: too large for them, and
 * so in the C library's memory.
 *
 * An object's head may be at every multiple of 16. It is one if the word for its type is the
 * address of a type, its reference count is one, it is too large for a unit, and one of these is
 * true: the C library's size of the memory in front of it (glibc) is that of the object; the
 * collector's list leads there and back; or, if the C library is another one, its value makes
 * sense. A head is in one window, however long the object: so windows can be sampled like units.
 *
 * What was freed has no reference count any more: the object lost its last reference before, or
 * the C library has written there.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cpython/pymalloc.h"
#include "heap/taking.h"
#include "memory/glibc_chunk.h"

#define ALIGNMENT 16u
/* What is copied of the memory before a window: as much as may be in front of an object. */
#define FRONT 96u

struct window {
	uint64_t addr;			/* of bytes */
	uint32_t from, to;		/* where heads are looked for */
	uint32_t begin, end;		/* what was copied */
	uint8_t bytes[FRONT + HEAP_WINDOW_MAX + HEAP_OBJECT_LOOK];
};

static uint64_t word_at(const struct window *w, uint32_t at)
{
	uint64_t word;

	memcpy(&word, w->bytes + at, sizeof(word));
	return word;
}

/* Bytes that a chunk may have more than its object: what it is counted as need not be all of it. */
#define CHUNK_MORE 32u

/* Returns true if glibc has allocated the memory at start with that many bytes. */
static bool is_chunk(const struct window *w, uint32_t start, uint64_t bytes)
{
	return start >= w->begin + 8 &&
	       chunk_holds(word_at(w, start - 8), bytes, CHUNK_MORE, OBJECT_PAGE + CHUNK_MORE);
}

/* The collector's list: the next one's pointer back leads here. Its low bits are flags. */
static bool is_linked(struct taking *t, const struct window *w, uint32_t at,
		      const struct heap_type *type)
{
	uint32_t head = t->build.gc_head;
	uint64_t next, back, here = w->addr + at - head;

	if (!head || type->before < head || at < w->begin + head)
		return false;
	next = word_at(w, at - head);
	if (!heap_may_be_address(next) ||
	    heap_mem_read(&t->mem, next + 8, &back, sizeof(back)))
		return false;
	return (back & ~7ull) == here;
}

static bool is_object_at(struct taking *t, uint64_t addr)
{
	uint8_t head[HEAP_OBJECT_LOOK];
	uint32_t len = t->build.objects.str_length;
	struct heap_object o;

	return heap_may_be_address(addr) && !heap_mem_read(&t->mem, addr, head, len) &&
	       heap_object_at(t->types, head, len, &o);
}

/* A dict of what the collector need not know: empty, or with a table that only it has. */
static bool has_table(struct taking *t, const struct heap_type *type, const struct heap_size *s)
{
	uint8_t keys[HEAP_MORE_BYTES];
	struct heap_size whole = *s;

	if (!s->more_bytes || heap_mem_read(&t->mem, s->more, keys, s->more_bytes))
		return false;
	heap_size_more(&t->build, type, keys, &whole);
	return whole.owned > s->owned || !s->items;
}

/* What is known of the value of an object that the collector does not have in its list. */
static bool makes_sense(struct taking *t, const struct window *w, uint32_t at,
			const struct heap_type *type, const struct heap_size *s)
{
	const struct py_object_layout *o = &t->build.objects;
	uint32_t state, items = at + o->str_length + (o->minor >= 14 ? 16 : 8);
	uint8_t last;

	if (type->kind == HEAP_STR) {
		memcpy(&state, w->bytes + at + o->str_state, sizeof(state));
		state = (state & o->str_kind_mask) >> o->str_kind_shift;
		return s->items && (state == 1 || state == 2 || state == 4);
	}
	if (type->kind == HEAP_BYTES)
		return !heap_mem_read(&t->mem, w->addr + at + o->bytes_data + s->items, &last, 1) &&
		       !last;
	if (type->kind == HEAP_TUPLE)
		return items + 8 <= w->end && is_object_at(t, word_at(w, items));
	if (type->kind == HEAP_DICT)
		return has_table(t, type, s);
	if (type->kind == HEAP_CODE || type->kind == HEAP_INT)
		return true;
	/* Small ones are of many types: all that the collector does not know. */
	return t->no_pools && !(type->flags & HEAP_HAVE_GC);
}

/* What has a frame in it has no size of its own: then the C library's counts. */
#define FRAME_BYTES_MAX 65536u

static bool is_frame(struct taking *t, const struct window *w, uint32_t at,
		     const struct heap_type *type, struct heap_size *s)
{
	uint32_t start = at - type->before;

	if (start < w->begin + 8 || !is_linked(t, w, at, type))
		return false;
	if (!t->chunks) {	/* another C library: the least that it takes */
		s->bytes = type->before + type->basic;
		return t->no_pools;
	}
	s->bytes = chunk_size(word_at(w, start - 8)) - 8;
	return s->bytes < FRAME_BYTES_MAX && (s->bytes > PYMALLOC_SMALL_MAX || t->no_pools);
}

/* Returns true if there is an object that is too large for a unit. */
static bool is_object(struct taking *t, const struct window *w, uint32_t at,
		      const struct heap_type *type, struct heap_size *s)
{
	uint32_t start = at - type->before, requested;
	uint64_t bytes;

	if (at < w->begin + type->before)
		return false;
	if (heap_has_frame(&t->build, type))
		return is_frame(t, w, at, type, s);
	bytes = s->bytes;
	if (bytes > t->mapped)
		return false;
	/* Twice: of PyObject_Malloc(), and of PyMem_RawMalloc(), which that calls. */
	while (start >= w->begin + PYMALLOC_DEBUG_BYTES &&
	       pymalloc_debug_bytes(w->bytes + start - PYMALLOC_DEBUG_BYTES, UINT32_MAX,
				    &requested)) {
		start -= PYMALLOC_DEBUG_BYTES;
		bytes = (uint64_t)requested + PYMALLOC_DEBUG_BYTES + 8;
	}
	if (bytes <= PYMALLOC_SMALL_MAX && !t->no_pools)
		return false;
	if (is_chunk(w, start, bytes)) {
		t->chunks++;
		return true;
	}
	return is_linked(t, w, at, type) || (!t->chunks && makes_sense(t, w, at, type, s));
}

static void take_head(struct taking *t, const struct window *w, uint32_t at)
{
	uint32_t len = w->end - at;
	uint64_t addr = w->addr + at;
	struct heap_object o;
	struct heap_size s;

	len = len < HEAP_OBJECT_LOOK ? len : HEAP_OBJECT_LOOK;
	if (!heap_object_at(t->types, w->bytes + at, len, &o))
		return;
	heap_size_begin(&t->build, o.type, addr, w->bytes + at, at - w->begin, len, &s);
	if (is_object(t, w, at, o.type, &s))
		taking_pending(t, o.type, addr, &s);
}

static void take_heads(struct taking *t, const struct window *w)
{
	const uint32_t head = t->build.objects.str_length;
	uint32_t at;

	for (at = w->from; at < w->to && at + head <= w->end; at += ALIGNMENT)
		if (heap_seems_object(t->types, w->bytes + at))
			take_head(t, w, at);
}

static bool is_present(struct taking *t, uint64_t addr)
{
	uint16_t pages;

	heap_mem_pages(&t->mem, addr & ~(uint64_t)(t->mem.page_bytes - 1), t->mem.page_bytes,
		       &pages, 1);
	return pages & 1 && heap_maps_find(&t->maps, addr);
}

/* Copy pages that follow each other, and a little more if it is in memory. 0 or -errno. */
static int copy_run(struct taking *t, uint64_t addr, uint32_t bytes, struct window *w)
{
	w->addr = addr - FRONT;
	w->from = FRONT;
	w->to = FRONT + bytes;
	w->begin = is_present(t, addr - 1) ? 0 : FRONT;
	w->end = w->to + (is_present(t, addr + bytes) ? HEAP_OBJECT_LOOK : 0);
	return heap_mem_read(&t->mem, w->addr + w->begin, w->bytes + w->begin, w->end - w->begin);
}

int taking_window(struct taking *t, const struct heap_unit *unit)
{
	static struct window w;
	uint32_t page = t->mem.page_bytes < unit->bytes ? t->mem.page_bytes :
			(uint32_t)unit->bytes;
	uint32_t cnt = (uint32_t)unit->bytes / page, i, n;
	int err = 0;

	for (i = 0; i < cnt && !t->mem.ended; i += n + 1) {
		for (n = 0; i + n < cnt && unit->tag >> (i + n) & 1; n++)
			;
		if (!n)
			continue;
		err |= copy_run(t, unit->addr + (uint64_t)i * page, n * page, &w);
		if (!err)
			take_heads(t, &w);
	}
	return err ? -ENOENT : 0;	/* what is not mapped any more has no objects */
}
