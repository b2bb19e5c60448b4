// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * memory_sink.c - see memory_sink.h.
 */
#include "model/memory_sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct memory_sink {
	struct sink sink;
	struct buf samples;	/* each struct event followed by its frames */
};

static int memory_sink_begin(struct sink *sink, const struct profile_meta *meta,
			     const struct profile_tables *tables)
{
	(void)sink;
	(void)meta;
	(void)tables;
	return 0;
}

static int memory_sink_event(struct sink *sink, const struct event *ev)
{
	struct memory_sink *m = (struct memory_sink *)sink;
	size_t frames = ev->nframes * sizeof(*ev->frames);
	int err = buf_reserve(&m->samples, sizeof(*ev) + frames + sizeof(uint64_t));

	if (err)
		return err;
	buf_add(&m->samples, ev, sizeof(*ev));
	buf_add(&m->samples, ev->frames, frames);
	if (ev->nframes & 1)	/* keeps struct event aligned */
		buf_add(&m->samples, "\0\0\0", sizeof(*ev->frames));
	return 0;
}

static int memory_sink_end(struct sink *sink, const struct profile_stats *stats)
{
	(void)sink;
	(void)stats;
	return 0;
}

static int memory_sink_close(struct sink *sink)
{
	struct memory_sink *m = (struct memory_sink *)sink;

	buf_free(&m->samples);
	free(m);
	return 0;
}

static const struct sink_ops memory_sink_ops = {
	.name = "memory",
	.begin = memory_sink_begin,
	.event = memory_sink_event,
	.end = memory_sink_end,
	.close = memory_sink_close,
};

struct sink *memory_sink_new(void)
{
	struct memory_sink *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->sink.ops = &memory_sink_ops;
	return &m->sink;
}

bool memory_sink_is(const struct sink *s)
{
	return s && s->ops == &memory_sink_ops;
}

size_t memory_sink_bytes(const struct sink *s)
{
	return ((const struct memory_sink *)s)->samples.len;
}

void memory_sink_empty(struct sink *s)
{
	buf_free(&((struct memory_sink *)s)->samples);
}

int memory_sink_replay(const struct sink *s, int (*event)(void *ctx, const struct event *ev),
		       void *ctx)
{
	const struct memory_sink *m = (const struct memory_sink *)s;
	size_t at = 0;
	int err = 0;

	while (!err && at < m->samples.len) {
		struct event ev;

		memcpy(&ev, m->samples.data + at, sizeof(ev));
		at += sizeof(ev);
		ev.frames = (const uint32_t *)(m->samples.data + at);
		at += (ev.nframes + (ev.nframes & 1)) * sizeof(*ev.frames);
		err = event(ctx, &ev);
	}
	return err;
}
