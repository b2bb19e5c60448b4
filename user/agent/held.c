// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * held.c - see held.h. The stacks of a process have dense numbers, so they are an array; their
 * frames are in one buffer. Neither shrinks while the process lives; both are limited by the
 * process's own table of stacks, which has them, too.
 */
#include "agent/held.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/util.h"
#include "telemetry/window.h"

struct held_stack {
	uint64_t bytes;		/* held */
	uint32_t at, n;		/* its frames; n 0: not stored */
};

struct held {
	struct held_room *room;
	struct buf stacks;	/* struct held_stack, by number */
	struct buf frames;	/* ids, uint32_t */
	bool full;		/* the array does not grow any more */
	uint64_t beyond;	/* held by stacks that the array does not have */
};

struct held *held_new(struct held_room *room)
{
	struct held *h = calloc(1, sizeof(*h));

	if (h)
		h->room = room;
	return h;
}

void held_free(struct held *h)
{
	if (!h)
		return;
	h->room->used -= h->stacks.len + h->frames.len;
	buf_free(&h->stacks);
	buf_free(&h->frames);
	free(h);
}

static uint32_t stack_cnt(const struct held *h)
{
	return (uint32_t)(h->stacks.len / sizeof(struct held_stack));
}

static struct held_stack *stack_at(const struct held *h, uint32_t number)
{
	return (struct held_stack *)(void *)h->stacks.data + number;
}

/* Returns false if there is no room. */
static bool take_room(struct held *h, size_t bytes)
{
	if (h->room->max - h->room->used < bytes)
		return false;
	h->room->used += bytes;
	return true;
}

/* The stack's element of the array, which grows for it; NULL if it has none. */
static struct held_stack *held_find_stack(struct held *h, uint32_t number)
{
	uint32_t cnt = stack_cnt(h);
	size_t more;

	if (number < cnt)
		return stack_at(h, number);
	more = ((size_t)number + 1 - cnt) * sizeof(struct held_stack);
	if (h->full || more > h->room->max || !take_room(h, more)) {
		h->full = true;
		return NULL;
	}
	if (buf_reserve(&h->stacks, more)) {
		h->room->used -= more;
		h->full = true;
		return NULL;
	}
	memset(h->stacks.data + h->stacks.len, 0, more);
	h->stacks.len += more;
	return stack_at(h, number);
}

static void keep_frames(struct held *h, struct held_stack *s, const struct memory_event *ev)
{
	size_t bytes = (size_t)ev->nframes * sizeof(*ev->frames);

	if (s->n || !ev->nframes || ev->nframes > EVENT_MAX_FRAMES || !take_room(h, bytes))
		return;
	if (buf_add(&h->frames, ev->frames, bytes)) {
		h->room->used -= bytes;
		return;
	}
	s->n = ev->nframes;
	s->at = (uint32_t)(h->frames.len / sizeof(*ev->frames)) - s->n;
}

void held_take(struct held *h, const struct memory_event *ev)
{
	struct held_stack *s;
	uint64_t *bytes;

	if (ev->change != MEMORY_ALLOC && ev->change != MEMORY_FREE)
		return;
	s = held_find_stack(h, ev->stack);
	bytes = s ? &s->bytes : &h->beyond;
	if (ev->change == MEMORY_FREE) {
		*bytes -= ev->bytes < *bytes ? ev->bytes : *bytes;
		return;
	}
	*bytes = add_capped(*bytes, ev->bytes);
	if (s)
		keep_frames(h, s, ev);
	if (!s || !s->n)
		h->room->beyond++;
}

static void add_one(struct window *w, struct window_map *map, const struct window_place *at,
		    uint64_t bytes, const uint32_t *frames, uint32_t n)
{
	const struct event ev = { .frames = frames, .nframes = n, .weight = bytes };

	if (bytes)
		window_add(w, map, &ev, at);
}

uint64_t held_add(const struct held *h, struct window *w, struct window_map *map,
		  uint32_t service, uint32_t owner)
{
	const struct window_place at = {
		.service = service, .owner = owner, .kind = WINDOW_INUSE_SPACE, .mul = 1, .div = 1,
		.samples = 1,
	};
	const uint32_t *frames = (const uint32_t *)(const void *)h->frames.data;
	uint64_t sum = h->beyond;
	const struct held_stack *s;
	uint32_t i;

	for (i = 0; i < stack_cnt(h); i++) {
		s = stack_at(h, i);
		add_one(w, map, &at, s->bytes, s->n ? frames + s->at : NULL, s->n);
		sum = add_capped(sum, s->bytes);
	}
	add_one(w, map, &at, h->beyond, NULL, 0);
	return sum;
}
