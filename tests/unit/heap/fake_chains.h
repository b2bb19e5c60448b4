/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_chains.h - a module app in the memory of fake_heap.h, whose variables keep objects of the
 * class app.Session; and a search for who keeps them.
 */
#ifndef TACHBPF_TESTS_FAKE_CHAINS_H
#define TACHBPF_TESTS_FAKE_CHAINS_H

#include "heap/chains.h"
#include "tests/unit/cpython/fake_heap.h"

/* Bytes of zeros before an object: what an object has there is empty. */
#define FAKE_GAP 32

struct fake_chains {
	struct fake_heap h;
	uint64_t module_type, names;	/* names: keys of the module's dict */
	struct heap_region region;
	struct heap_memory memory;
	struct heap_target target;
	struct heap_why why;
	struct heap_chains out;
};

/* One reference. Returns the object. */
static inline uint64_t fake_alive(struct fake_chains *c, uint64_t object)
{
	if (c->h.build.free_threaded)
		fake_poke(&c->h.f, object + 12, 1, 4);
	else
		fake_poke(&c->h.f, object + c->h.f.head - 16, 1, 8);
	return object;
}

/* A str as the program's code has it. */
static inline uint64_t fake_interned(struct fake_chains *c, const char *text)
{
	uint64_t str = fake_alive(c, fake_str(&c->h.f, &c->h.t, text));
	uint64_t state = str + c->h.f.at.objects.str_state;
	uint32_t now;

	memcpy(&now, c->h.f.mem + (state - FAKE_BASE), 4);
	fake_poke(&c->h.f, state, now | 1, 4);
	return str;
}

static inline uint64_t fake_kept_dict(struct fake_chains *c, const uint64_t *objs, uint32_t cnt)
{
	return fake_alive(c, fake_mapping(&c->h.f, &c->h.t, objs, cnt));
}

static inline uint64_t fake_kept_list(struct fake_chains *c, const uint64_t *objs, uint32_t cnt)
{
	fake_take(&c->h.f, FAKE_GAP);
	return fake_alive(c, fake_list(&c->h.f, &c->h.t, objs, cnt));
}

static inline uint64_t fake_kept_tuple(struct fake_chains *c, const uint64_t *objs, uint32_t cnt)
{
	fake_take(&c->h.f, FAKE_GAP);
	return fake_alive(c, fake_tuple(&c->h.f, &c->h.t, objs, cnt));
}

static inline uint64_t fake_session(struct fake_chains *c)
{
	fake_take(&c->h.f, FAKE_GAP);
	return fake_alive(c, fake_object(&c->h.f, c->h.session, 64));
}

/* A variable of the module. */
static inline void fake_variable(struct fake_chains *c, const char *name, uint64_t value)
{
	fake_add(&c->h.f, c->names, fake_interned(c, name), value);
}

static inline void fake_module(struct fake_chains *c)
{
	struct fake_threads *f = &c->h.f;
	uint64_t dict, module;

	c->module_type = fake_named_type(f, "module", FAKE_HAVE_GC);
	fake_complete(&c->h, c->module_type, f->head + 40, 0);
	c->names = fake_keys(f, true);
	fake_take(f, FAKE_GAP);
	dict = fake_alive(c, fake_dict(f, c->names, 0));
	fake_poke(f, dict + f->head - 8, c->h.t.dict, 8);
	fake_variable(c, "__name__", fake_interned(c, "app"));
	fake_take(f, FAKE_GAP);
	module = fake_alive(c, fake_object(f, c->module_type, 40));
	fake_poke(f, module + f->head, dict, 8);
}

/* big: as fake_threads_make(). */
static inline void fake_chains_make(struct fake_chains *c, unsigned int minor, bool big)
{
	struct fake_threads *f = &c->h.f;

	fake_heap_make(&c->h, minor, big);
	heap_types_free(c->h.types);	/* the search has its own */
	c->h.types = NULL;
	c->region = (struct heap_region){ .start = FAKE_BASE, .end = FAKE_BASE + FAKE_BYTES };
	c->memory = (struct heap_memory){ .mem = f->target, .regions = &c->region,
					  .region_cnt = 1 };
	c->target = (struct heap_target){
		.minor = (uint8_t)minor, .free_threaded = c->h.build.free_threaded,
		.trace_refs = c->h.build.trace_refs, .objects = f->at.objects,
	};
	c->target.layout.gc_head = c->h.build.gc_head;
	c->target.layout.ts_datastack = ABI_NO_OFF;
	c->target.layout.lasti_unit = minor <= 10;
	c->target.layout.co_linetable = 136;
	c->why = (struct heap_why){ .type = "app.Session", .limits = { .seed = 5 } };
	if (minor >= 14)	/* a hash before the items */
		fake_complete(&c->h, c->h.t.tuple, f->head + 16, 8);
	fake_module(c);
}

#endif
