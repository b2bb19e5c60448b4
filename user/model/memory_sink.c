// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_sink.c - see memory_sink.h.
 */
#include "model/memory_sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct held {
	struct sink sink;
	struct buf samples;	/* struct event and its frames; and so on */
};

static int held_begin(struct sink *sink, const struct profile_meta *meta,
		      const struct profile_tables *tables)
{
	(void)sink;
	(void)meta;
	(void)tables;
	return 0;
}

static int held_event(struct sink *sink, const struct event *ev)
{
	struct held *h = (struct held *)sink;
	size_t frames = ev->nframes * sizeof(*ev->frames);
	int err = buf_reserve(&h->samples, sizeof(*ev) + frames + sizeof(uint64_t));

	if (err)
		return err;
	buf_add(&h->samples, ev, sizeof(*ev));
	buf_add(&h->samples, ev->frames, frames);
	if (ev->nframes & 1)	/* struct event stays aligned */
		buf_add(&h->samples, "\0\0\0", sizeof(*ev->frames));
	return 0;
}

static int held_end(struct sink *sink, const struct profile_stats *stats)
{
	(void)sink;
	(void)stats;
	return 0;
}

static int held_close(struct sink *sink)
{
	struct held *h = (struct held *)sink;

	buf_free(&h->samples);
	free(h);
	return 0;
}

static const struct sink_ops held_ops = {
	.name = "held",
	.begin = held_begin,
	.event = held_event,
	.end = held_end,
	.close = held_close,
};

struct sink *held_new(void)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->sink.ops = &held_ops;
	return &h->sink;
}

bool held_is(const struct sink *s)
{
	return s && s->ops == &held_ops;
}

size_t held_bytes(const struct sink *s)
{
	return ((const struct held *)s)->samples.len;
}

int held_replay(const struct sink *s, int (*event)(void *ctx, const struct event *ev), void *ctx)
{
	const struct held *h = (const struct held *)s;
	size_t at = 0;
	int err = 0;

	while (!err && at < h->samples.len) {
		struct event ev;

		memcpy(&ev, h->samples.data + at, sizeof(ev));
		at += sizeof(ev);
		ev.frames = (const uint32_t *)(h->samples.data + at);
		at += (ev.nframes + (ev.nframes & 1)) * sizeof(*ev.frames);
		err = event(ctx, &ev);
	}
	return err;
}
