// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * remap.c - translates frame ids. See remap.h.
 *
 * Every string and frame is translated once, when it is first needed; a stack that repeats costs
 * one comparison.
 */
#include "model/remap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/id_map.h"
#include "model/native_library.h"

#define UNKNOWN UINT32_MAX

struct remap {
	const struct profile_tables *from;
	struct intern *into;
	struct id_map strings, frames;	/* their id -> ours, as far as needed */
	uint32_t lost;			/* our id for frames that are not in their tables */
	bool native;			/* a frame of a library was translated */
	uint32_t depth;
	uint32_t theirs[EVENT_MAX_FRAMES], ours[EVENT_MAX_FRAMES];	/* the last stack */
};

void remap_begin(struct remap *r, const struct profile_tables *tables, struct intern *into)
{
	r->from = tables;
	r->into = into;
	r->lost = UNKNOWN;
	r->depth = 0;
	r->native = false;
	id_map_clear(&r->strings);
	id_map_clear(&r->frames);
}

struct remap *remap_new(const struct profile_tables *tables, struct intern *into)
{
	struct remap *r = calloc(1, sizeof(*r));

	if (r)
		remap_begin(r, tables, into);
	return r;
}

void remap_free(struct remap *r)
{
	if (!r)
		return;
	id_map_free(&r->strings);
	id_map_free(&r->frames);
	free(r);
}

static int our_string(struct remap *r, uint32_t id, uint32_t *ours)
{
	const struct string_ref *s = &r->from->strings[id];

	if (id_map_get(&r->strings, id, ours))
		return 0;
	if (intern_string(r->into, s->data, s->len, ours))
		return -ENOMEM;
	return id_map_set(&r->strings, id, *ours);
}

static int our_frame(struct remap *r, uint32_t id, uint32_t *ours)
{
	struct frame f;

	if (id >= r->from->frame_cnt) {
		if (r->lost == UNKNOWN &&
		    intern_synthetic(r->into, FRAME_SYNTHETIC, "<lost frame>", &r->lost))
			return -ENOMEM;
		*ours = r->lost;
		return 0;
	}
	if (id_map_get(&r->frames, id, ours))
		return 0;
	f = r->from->frames[id];
	r->native |= f.kind == FRAME_NATIVE;
	if (our_string(r, f.file, &f.file) || our_string(r, f.func, &f.func) ||
	    intern_frame(r->into, &f, ours))
		return -ENOMEM;
	return id_map_set(&r->frames, id, *ours);
}

int remap_libraries(const struct remap *r)
{
	return r->native ? native_libraries_copy(r->from, r->into) : 0;
}

int remap_event(struct remap *r, const struct event *ev, struct event *out)
{
	size_t bytes = ev->nframes * sizeof(*ev->frames);
	uint32_t i;

	*out = *ev;
	out->frames = r->ours;
	if (ev->nframes == r->depth && (!bytes || !memcmp(ev->frames, r->theirs, bytes)))
		return 0;
	r->depth = 0;	/* no stack is known if this fails */
	for (i = 0; i < ev->nframes; i++) {
		if (our_frame(r, ev->frames[i], &r->ours[i]))
			return -ENOMEM;
	}
	if (bytes)
		memcpy(r->theirs, ev->frames, bytes);
	r->depth = ev->nframes;
	return 0;
}
