/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_heap.h - pools with objects in their blocks, and complete types, in the memory of
 * fake_values.h, as CPython 3.6 to 3.15 has them.
 */
#ifndef TACHBPF_TESTS_FAKE_HEAP_H
#define TACHBPF_TESTS_FAKE_HEAP_H

#include "base/util.h"
#include "cpython/heap_bytes.h"
#include "cpython/pymalloc.h"
#include "tests/unit/cpython/fake_values.h"

#define FAKE_HAVE_GC (1ull << 14)

struct fake_heap {
	struct fake_threads f;
	struct fake_types t;
	struct heap_build build;
	uint64_t type, object, session;	/* session: a class of Python code: app.Session */
	struct heap_types *types;
};

/* Complete a type: with its own type, its base, and the size of its objects. */
static inline void fake_complete(struct fake_heap *h, uint64_t type, uint64_t basic, uint64_t item)
{
	struct fake_threads *f = &h->f;

	fake_poke(f, type + f->head - 8, h->type, 8);
	fake_poke(f, type + f->head + 16, basic, 8);
	fake_poke(f, type + f->head + 24, item, 8);
	if (type != h->object)
		fake_poke(f, type + f->head + 240, h->object, 8);
}

static inline void fake_add_flags(struct fake_heap *h, uint64_t type, uint64_t flags)
{
	uint64_t now;

	memcpy(&now, h->f.mem + (type + h->f.head + 152 - FAKE_BASE), 8);
	fake_poke(&h->f, type + h->f.head + 152, now | flags, 8);
}

/* app.Session, whose objects have `values` attributes beside them (3.11 on). */
static inline void fake_class(struct fake_heap *h)
{
	struct fake_threads *f = &h->f;
	uint64_t flags = PY_HEAP_TYPE | FAKE_HAVE_GC, keys = fake_keys(f, false), dict, shared;
	uint32_t minor = f->at.objects.minor, cached = heap_cached_keys_off(&h->build);

	flags |= minor >= 11 ? PY_MANAGED_DICT : 0;
	flags |= minor >= 13 ? PY_INLINE_VALUES : 0;
	fake_add(f, keys, fake_str(f, &h->t, "__module__"), fake_str(f, &h->t, "app"));
	dict = fake_dict(f, keys, 0);
	fake_poke(f, dict + f->head - 8, h->t.dict, 8);
	h->session = fake_named_type(f, "Session", flags);
	fake_complete(h, h->session, f->head + (minor >= 11 ? 0 : 16), 0);
	fake_poke(f, h->session + f->head + 248, dict, 8);
	fake_poke(f, h->session + cached - 8, fake_str(f, &h->t, "Session"), 8);
	shared = fake_keys(f, false);
	fake_poke(f, shared + (minor >= 11 ? 16 : 24), 3, 8);	/* dk_usable */
	fake_poke(f, h->session + cached, shared, 8);
}

/* big: as fake_threads_make(). Call fake_heap_end() at the end. */
static inline void fake_heap_make(struct fake_heap *h, unsigned int minor, bool big)
{
	struct fake_threads *f = &h->f;
	const struct { uint64_t type, basic, item, flags; } all[] = {
		{ 0, 40, 0, FAKE_HAVE_GC }, { 0, 24, 8, FAKE_HAVE_GC }, { 0, 48, 0, FAKE_HAVE_GC },
		{ 0, 200, 0, FAKE_HAVE_GC }, { 0, 33, 1, 0 }, { 0, 24, 4, 0 }, { 0, 80, 0, 0 },
		{ 0, 24, 0, 0 }, { 0, 16, 0, 0 },
	};
	uint64_t types[ARRAY_SIZE(all)];
	uint32_t more, i;

	memset(h, 0, sizeof(*h));
	fake_threads_make(f, minor, big);
	f->used = 64;			/* nothing of its is needed */
	memset(f->mem, 0, sizeof(f->mem));
	f->dict_type = 0;
	more = f->head - 16;
	if (big && minor >= 13) {
		f->at.objects.bytes_size += 16;
		f->at.objects.bytes_data += 16;
	}
	h->build = (struct heap_build){
		.objects = f->at.objects, .free_threaded = big && minor >= 13,
		.trace_refs = big && minor < 13,
		.gc_head = big && minor >= 13 ? 0 : minor < 8 ? 32 : 16,
	};
	fake_types_make(f, &h->t);
	h->type = fake_named_type(f, "type", PY_IS_TYPE | FAKE_HAVE_GC);
	h->object = fake_named_type(f, "object", 0);
	fake_complete(h, h->type, 880 + more, 40);
	fake_complete(h, h->object, f->head, 0);
	memcpy(types, (uint64_t[]){ h->t.list, h->t.tuple, h->t.dict, h->t.set, h->t.bytes,
				    h->t.integer, h->t.text, h->t.real, h->t.none }, sizeof(types));
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		fake_complete(h, types[i], all[i].basic + more, all[i].item);
		fake_add_flags(h, types[i], all[i].flags);
	}
	fake_class(h);
	h->types = heap_types_new(&f->target, &h->build);
}

static inline void fake_heap_end(struct fake_heap *h)
{
	heap_types_free(h->types);
}

/* The head of an object in a copy of a block: one reference. */
static inline void fake_head(const struct fake_heap *h, uint8_t *object, uint64_t type)
{
	uint64_t one = 1;

	if (h->build.free_threaded)
		memcpy(object + 12, &one, 4);
	else
		memcpy(object + h->f.head - 16, &one, 8);
	memcpy(object + h->f.head - 8, &type, 8);
}

/* ---- pools, in memory of their own ---- */

/* A pool at addr with blocks of this size, of which `carved` were in use, and none is free. */
static inline void fake_pool(uint8_t *pool, uint32_t bytes, uint32_t block, uint32_t carved)
{
	uint32_t words[4] = { 0 };

	memset(pool, 0, bytes);
	memcpy(pool, &carved, 4);
	words[1] = block / 16 - 1;
	words[2] = PYMALLOC_HEADER_BYTES + carved * block;
	words[3] = bytes - block;
	memcpy(pool + 32, words, sizeof(words));
}

/* Free block i of a pool at addr. */
static inline void fake_free(uint8_t *pool, uint64_t addr, uint32_t block, uint32_t i)
{
	uint32_t count, off = PYMALLOC_HEADER_BYTES + i * block;
	uint64_t at = addr + off;

	memcpy(&count, pool, 4);
	count--;
	memcpy(pool, &count, 4);
	memcpy(pool + off, pool + 8, 8);
	memcpy(pool + 8, &at, 8);
}

#endif
