// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * remap.c - translates frame ids. See remap.h.
 *
 * Every string and frame is translated once, when it is first needed; a stack that repeats
 * costs one comparison.
 */
#include "model/remap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT32_MAX

struct remap {
	const struct profile_tables *from;
	struct intern *into;
	uint32_t *strings, *frames;	/* their id -> ours; UNKNOWN: not needed yet */
	uint32_t lost;			/* our id for frames that are not in their tables */
	uint32_t depth;
	uint32_t theirs[EVENT_MAX_FRAMES], ours[EVENT_MAX_FRAMES];	/* the last stack */
};

static uint32_t *unknown_ids(uint32_t cnt)
{
	uint32_t *ids = malloc(((size_t)cnt + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xff, (size_t)cnt * sizeof(*ids));
	return ids;
}

struct remap *remap_new(const struct profile_tables *tables, struct intern *into)
{
	struct remap *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->from = tables;
	r->into = into;
	r->lost = UNKNOWN;
	r->strings = unknown_ids(tables->string_cnt);
	r->frames = unknown_ids(tables->frame_cnt);
	if (!r->strings || !r->frames) {
		remap_free(r);
		errno = ENOMEM;
		return NULL;
	}
	return r;
}

void remap_free(struct remap *r)
{
	if (!r)
		return;
	free(r->strings);
	free(r->frames);
	free(r);
}

static int our_string(struct remap *r, uint32_t id, uint32_t *ours)
{
	const struct string_ref *s = &r->from->strings[id];

	if (r->strings[id] == UNKNOWN && intern_string(r->into, s->data, s->len, &r->strings[id]))
		return -ENOMEM;
	*ours = r->strings[id];
	return 0;
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
	if (r->frames[id] == UNKNOWN) {
		f = r->from->frames[id];
		if (our_string(r, f.file, &f.file) || our_string(r, f.func, &f.func) ||
		    intern_frame(r->into, &f, &r->frames[id]))
			return -ENOMEM;
	}
	*ours = r->frames[id];
	return 0;
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
