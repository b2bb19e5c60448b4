// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An event: status; time (signed difference to the last one), thread (likewise), interpreter,
 * weight, tick_ns; the number of frames at the root shared with the last stack; the number of other
 * frames, and these, innermost first. All except status are varints.
 */
#include "recording/kept_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/stack_frame.h"

/* Status, and eight numbers besides the frames. */
#define HEAD_BYTES (1 + 8 * VARINT_MAX)

void kept_last_reset(struct kept_last *last)
{
	last->time_us = last->thread_id = 0;
	last->nframes = 0;
}

static void remember_event(struct kept_last *last, const struct event *ev)
{
	last->time_us = ev->time_us;
	last->thread_id = ev->thread_id;
	last->nframes = ev->nframes;
	memcpy(last->frames, ev->frames, ev->nframes * sizeof(*ev->frames));
}

int kept_events_add(struct kept_events *k, struct kept_last *last, const struct event *ev)
{
	uint32_t common, i;
	uint8_t *p;

	if (ev->nframes > EVENT_MAX_FRAMES)
		return -EINVAL;
	common = frames_shared(last->frames, last->nframes, ev->frames, ev->nframes);
	if (buf_reserve(&k->data, HEAD_BYTES + (ev->nframes - common) * VARINT_MAX))
		return -ENOMEM;
	p = k->data.data + k->data.len;
	*p++ = ev->status;
	p = svarint_put(p, (int64_t)(ev->time_us - last->time_us));
	p = svarint_put(p, (int64_t)(ev->thread_id - last->thread_id));
	p = varint_put(p, ev->interp_id);
	p = varint_put(p, ev->weight);
	p = varint_put(p, ev->tick_ns);
	p = varint_put(p, common);
	p = varint_put(p, ev->nframes - common);
	for (i = 0; i < ev->nframes - common; i++)
		p = varint_put(p, ev->frames[i]);
	k->data.len = p - k->data.data;
	k->cnt++;
	remember_event(last, ev);
	return 0;
}

void kept_events_close(struct kept_events *k)
{
	uint8_t *less = k->data.len ? realloc(k->data.data, k->data.len) : NULL;

	if (!less)
		return;
	k->data.data = less;
	k->data.cap = k->data.len;
}

size_t kept_events_bytes(const struct kept_events *k)
{
	return k->data.cap;
}

/* Takes the next event. Only kept_events_add() writes them, so they are complete. */
static const uint8_t *take_event(const uint8_t *p, const uint8_t *end, struct kept_last *last,
				 struct event *ev)
{
	uint64_t n[5], common, own, id;
	int64_t time, thread;
	uint32_t frames[EVENT_MAX_FRAMES], i;

	ev->status = *p++;
	p = svarint_get(p, end, &time);
	p = p ? svarint_get(p, end, &thread) : NULL;
	for (i = 0; p && i < 5; i++)
		p = varint_get(p, end, &n[i]);
	common = n[3];
	own = n[4];
	if (!p || common > last->nframes || own > EVENT_MAX_FRAMES - common)
		return NULL;
	for (i = 0; p && i < own; i++) {
		p = varint_get(p, end, &id);
		frames[i] = (uint32_t)id;
	}
	memmove(last->frames + own, last->frames + last->nframes - common,
		common * sizeof(*frames));
	memcpy(last->frames, frames, own * sizeof(*frames));
	ev->time_us = last->time_us += (uint64_t)time;
	ev->thread_id = last->thread_id += (uint64_t)thread;
	ev->nframes = last->nframes = (uint32_t)(common + own);
	ev->interp_id = (uint32_t)n[0];
	ev->weight = n[1];
	ev->tick_ns = (uint32_t)n[2];
	ev->frames = last->frames;
	return p;
}

int kept_events_replay(const struct kept_events *k,
		       int (*event)(void *ctx, const struct event *ev), void *ctx)
{
	const uint8_t *p = k->data.data, *end = p + k->data.len;
	struct kept_last last;
	struct event ev = { .trace = NULL };
	int err = 0;

	kept_last_reset(&last);
	while (!err && p && p < end) {
		p = take_event(p, end, &last, &ev);
		err = p ? event(ctx, &ev) : -EBADMSG;
	}
	return err;
}

void kept_events_free(struct kept_events *k)
{
	buf_free(&k->data);
	k->cnt = 0;
}
