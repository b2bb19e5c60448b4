// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gecko.c - converts events for the Firefox Profiler: each becomes a sample, and markers show when
 * a thread had the GIL, was on-CPU, and so on.
 *
 * As in CPython 3.15's `profiling.sampling replay --gecko`
 * (Lib/profiling/sampling/gecko_collector.py): a marker begins at the first sample that has the
 * state and ends at the first one that does not; the first sample of a thread ends none. Owns the
 * states; gecko_write.c writes the file.
 *
 * Samples and markers are spooled; stacks are kept as a tree for each thread.
 */
#include "formats/gecko/gecko.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "bpf/abi.h"
#include "formats/formats.h"

/* Estimated size of a sample and a marker in the file: a number in each of their columns. */
#define SAMPLE_BYTES 17
#define MARKER_BYTES 100

static struct gecko *to_gecko(struct sink *s)
{
	return (struct gecko *)s;
}

static struct sink *gecko_open(const struct sink_args *args)
{
	const struct stacks_config config = { .detail = DETAIL_COLUMN };
	struct gecko *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->sink.ops = &sink_gecko;
	g->args = *args;
	g->stacks = stacks_new(&config);
	g->spool = spool_new();
	g->by_tid = calloc(1, sizeof(*g->by_tid));
	if (!g->stacks || !g->spool || !g->by_tid) {
		stacks_free(g->stacks);
		spool_free(g->spool);
		free(g->by_tid);
		free(g);
		errno = ENOMEM;
		return NULL;
	}
	return &g->sink;
}

static int gecko_begin(struct sink *s, const struct profile_meta *meta,
		       const struct profile_tables *tables)
{
	struct gecko *g = to_gecko(s);

	if (g->err)
		return g->err;
	if (g->active || (g->begun && !g->args.many))
		return -EINVAL;
	g->err = stacks_begin(g->stacks, meta, tables);
	g->active = g->begun = !g->err;
	g->timed = false;
	return g->err;
}

static int add_marker(struct gecko *g, struct gecko_thread *th, enum gecko_marker m, int64_t end)
{
	const uint64_t record[] = { m, spool_zigzag(th->since_us[m]), spool_zigzag(end) };

	th->open &= ~(1ull << m);
	th->marker_cnt++;
	g->bytes += MARKER_BYTES;
	return spool_add(g->spool, &th->markers, record, ARRAY_SIZE(record));
}

static void open_marker(struct gecko_thread *th, enum gecko_marker m, int64_t now)
{
	if (th->open & 1ull << m)
		return;
	th->open |= 1ull << m;
	th->since_us[m] = now;
}

static int close_marker(struct gecko *g, struct gecko_thread *th, enum gecko_marker m, int64_t now)
{
	return th->open & 1ull << m ? add_marker(g, th, m, now) : 0;
}

/* Changes from one state to the other, unless the thread is in it already. */
static int switch_markers(struct gecko *g, struct gecko_thread *th, enum gecko_marker begin,
			  enum gecko_marker end, int64_t now)
{
	open_marker(th, begin, now);
	return close_marker(g, th, end, now);
}

/* Pairs of states that exclude each other, by a status bit. */
static const struct {
	uint8_t bit;
	enum gecko_marker yes, no;
} pairs[] = {
	{ STATUS_HAS_GIL, MARKER_HAS_GIL, MARKER_NO_GIL },
	{ STATUS_ON_CPU, MARKER_ON_CPU, MARKER_OFF_CPU },
	{ STATUS_HAS_EXCEPTION, MARKER_EXCEPTION, MARKER_NO_EXCEPTION },
};

static int track_pair(struct gecko *g, struct gecko_thread *th, size_t i, uint8_t status,
		      int64_t now)
{
	bool yes = status & pairs[i].bit;

	return switch_markers(g, th, yes ? pairs[i].yes : pairs[i].no,
			      yes ? pairs[i].no : pairs[i].yes, now);
}

/* With the GIL, Python code runs; on-CPU without it, native code does. */
static int track_code(struct gecko *g, struct gecko_thread *th, uint8_t status, int64_t now)
{
	int err;

	if (status & STATUS_HAS_GIL)
		return switch_markers(g, th, MARKER_PYTHON, MARKER_NATIVE, now);
	if (status & STATUS_ON_CPU)
		return switch_markers(g, th, MARKER_NATIVE, MARKER_PYTHON, now);
	err = close_marker(g, th, MARKER_PYTHON, now);
	return err ? err : close_marker(g, th, MARKER_NATIVE, now);
}

static int track_one(struct gecko *g, struct gecko_thread *th, enum gecko_marker m, bool on,
		     int64_t now)
{
	if (!on)
		return close_marker(g, th, m, now);
	open_marker(th, m, now);
	return 0;
}

/* Updates all markers; their order in the file is CPython's. */
static int track_states(struct gecko *g, struct gecko_thread *th, uint8_t status, bool gc,
			int64_t now)
{
	int err = track_pair(g, th, 0, status, now);

	if (!err)
		err = track_pair(g, th, 1, status, now);
	if (!err)
		err = track_code(g, th, status, now);
	if (!err)
		err = track_one(g, th, MARKER_GIL_WAIT, status & STATUS_GIL_REQUESTED, now);
	if (!err)
		err = track_pair(g, th, 2, status, now);
	if (!err)
		err = track_one(g, th, MARKER_GC, gc, now);
	return err;
}

static int add_thread(struct gecko *g, const struct event *ev, struct gecko_thread **out)
{
	struct gecko_thread *th = calloc(1, sizeof(*th));

	if (!th || u64map_put(g->by_tid, ev->thread_id, th)) {
		free(th);
		return -ENOMEM;
	}
	if (buf_add(&g->threads, &th, sizeof(th))) {
		u64map_remove(g->by_tid, ev->thread_id);
		free(th);
		return -ENOMEM;
	}
	th->process = stacks_process_cnt(g->stacks) - 1;
	th->thread_id = ev->thread_id;
	th->main = ev->status & STATUS_MAIN_THREAD;
	*out = th;
	return 0;
}

static int find_thread(struct gecko *g, const struct event *ev, struct gecko_thread **th)
{
	int err = 0;

	*th = g->last;
	if (!*th || (*th)->thread_id != ev->thread_id)
		*th = u64map_get(g->by_tid, ev->thread_id);
	if (!*th)
		err = add_thread(g, ev, th);
	if (!err)
		g->last = *th;
	return err;
}

/*
 * The thread's tree node for a stack, which must have frames. For the part that the stack shares
 * with the last one at the root, the same nodes are used.
 */
static int find_node(struct gecko_thread *th, uint32_t id, const struct stack_view *v,
		     uint32_t *node1)
{
	struct pair pair = { 0 };
	uint32_t depth = 0, *node;
	bool same = true;

	if (th->depth && th->stack == id) {
		*node1 = th->path[th->depth - 1] + 1;
		return 0;
	}
	while (depth < v->n) {
		pair.a = v->labels[v->n - depth - 1];
		node = &th->path[depth];
		same = same && depth < th->depth && th->nodes.list[*node].a == pair.a;
		if (!same && pairs_add(&th->nodes, pair, node)) {
			th->depth = 0;
			return -ENOMEM;
		}
		pair.b = *node + 1;
		depth++;
	}
	th->depth = depth;
	th->stack = id;
	*node1 = pair.b;
	return 0;
}

static int add_sample(struct gecko *g, struct gecko_thread *th, const struct event *ev,
		      uint32_t node1)
{
	int64_t now = (int64_t)ev->time_us;
	const uint64_t record[] = {
		node1, spool_zigzag((int64_t)((uint64_t)now - (uint64_t)th->time_us)), ev->weight,
	};
	int err;

	g->bytes += SAMPLE_BYTES;
	err = sink_check_size(&sink_gecko, g->args.max_bytes, g->bytes);
	if (err)
		return err;
	th->time_us = now;
	th->sample_cnt++;
	if (ev->weight != 1)
		th->weighted = true;
	return spool_add(g->spool, &th->samples, record, ARRAY_SIZE(record));
}

static int take_event(struct gecko *g, const struct event *ev)
{
	int64_t now = (int64_t)ev->time_us;
	struct gecko_thread *th;
	struct stack_view v;
	uint32_t id, node1;
	bool gc;
	int err = stacks_add(g->stacks, ev, &id);

	if (err)
		return err;
	v = stacks_get(g->stacks, id);
	if (!g->timed || now > g->last_us)
		g->last_us = now;
	if (!g->timed && (!g->based || now < g->base_us))
		g->base_us = now;
	g->timed = g->based = true;
	g->event_cnt++;
	err = find_thread(g, ev, &th);
	if (!err)
		err = gc_stacks_has(&g->gc, g->stacks, id, &gc);
	if (!err)
		err = track_states(g, th, ev->status, gc, now);
	if (err || !v.n)
		return err;
	err = find_node(th, id, &v, &node1);
	return err ? err : add_sample(g, th, ev, node1);
}

static int gecko_event(struct sink *s, const struct event *ev)
{
	struct gecko *g = to_gecko(s);

	if (g->err)
		return g->err;
	if (!g->active)
		return -EINVAL;
	return g->err = take_event(g, ev);
}

static int gecko_end(struct sink *s, const struct profile_stats *stats)
{
	struct gecko *g = to_gecko(s);
	struct gecko_thread *th;
	size_t pos = 0;
	int m;

	if (g->err)
		return g->err;
	if (!g->active)
		return -EINVAL;
	g->active = false;
	while (!g->err && (th = u64map_next(g->by_tid, &pos))) {
		for (m = 0; !g->err && m < MARKER_CNT; m++)
			g->err = close_marker(g, th, (enum gecko_marker)m, g->last_us);
	}
	u64map_free(g->by_tid);
	memset(g->by_tid, 0, sizeof(*g->by_tid));
	g->last = NULL;
	if (!g->err)
		g->err = stacks_libraries(g->stacks);
	stacks_end(g->stacks);
	return g->err;
}

static int gecko_close(struct sink *s)
{
	struct gecko *g = to_gecko(s);
	int err = g->err;
	uint32_t i;

	if (!err && !g->active)
		err = gecko_write(g);
	for (i = 0; i < gecko_thread_cnt(g); i++) {
		struct gecko_thread *th = gecko_thread_at(g, i);

		pairs_free(&th->nodes);
		spool_stream_free(&th->samples);
		spool_stream_free(&th->markers);
		free(th);
	}
	u64map_free(g->by_tid);
	free(g->by_tid);
	buf_free(&g->threads);
	gc_stacks_free(&g->gc);
	stacks_free(g->stacks);
	spool_free(g->spool);
	free(g);
	return err;
}

const struct sink_ops sink_gecko = {
	.name = "gecko",
	.help = "JSON for the Firefox Profiler, like CPython 3.15's",
	.open = gecko_open,
	.begin = gecko_begin,
	.event = gecko_event,
	.end = gecko_end,
	.close = gecko_close,
	.suffix = ".gecko.json",
	.bytes_an_event = SAMPLE_BYTES,
};
