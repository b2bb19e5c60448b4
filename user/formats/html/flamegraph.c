// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flamegraph.c - the sink `flamegraph`: an HTML page that draws the stacks; and the page that
 * compares two recordings. See docs/format-flamegraph.md.
 *
 * Collects a call tree and the times of its samples; flamegraph_data.c writes them. The browser
 * computes everything that a user selects. pages/ has the pages themselves.
 */
#include "formats/html/flamegraph.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/formats.h"
#include "formats/html/flamegraph_times.h"
#include "formats/html/html_page.h"
#include "formats/html/page_opcodes.h"
#include "formats/html/page_sources.h"
#include "formats/html/page_types.h"
#include "model/sink.h"
#include "model/stack_tree.h"

/*
 * A call tree as the columns of docs/format-flamegraph.md. Frames and groups are sorted, so that
 * similar ones are adjacent and compress well.
 */

/* Groups are prefetched this far ahead of the one that is written. */
#define FETCH_AHEAD 16

/* Frames, nodes or groups in the page's order: order[place] is the tree's number. */
struct numbers {
	uint32_t *order, *place;
};

static bool numbers_new(struct numbers *n, uint32_t cnt)
{
	uint32_t i;

	n->order = calloc((size_t)cnt + 1, sizeof(*n->order));
	n->place = calloc((size_t)cnt + 1, sizeof(*n->place));
	for (i = 0; n->order && i < cnt; i++)
		n->order[i] = i;
	return n->order && n->place;
}

static void numbers_free(struct numbers *n)
{
	free(n->order);
	free(n->place);
}

static void numbers_place(struct numbers *n, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		n->place[n->order[i]] = i;
}

/* ---- frames ---- */

static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx;
	const struct frame *x = &frames[*(const uint32_t *)a], *y = &frames[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* LINE_NONE becomes 0. */
static int64_t line_of(const struct frame *f)
{
	return f->line < 0 ? 0 : f->line;
}

static void put_frames(struct html_data *d, const struct stack_tree_view *v, struct numbers *n)
{
	const struct frame *frames = v->tables->frames, none = { .line = 0 };
	uint32_t cnt = v->tables->frame_cnt, i;

	if (cnt)
		qsort_r(n->order, cnt, sizeof(*n->order), compare_frames, (void *)frames);
	numbers_place(n, cnt);
	html_varint(d, cnt);
#define PUT_DIFFERENCES(value)                                                                     \
	for (i = 0; i < cnt; i++) {                                                                \
		const struct frame *f = &frames[n->order[i]];                                      \
		const struct frame *last = i ? &frames[n->order[i - 1]] : &none;                   \
		html_svarint(d, (int64_t)(value(f)) - (int64_t)(value(last)));                     \
	}
#define FILE_OF(f) (f)->file
#define FUNC_OF(f) (f)->func
	PUT_DIFFERENCES(FILE_OF)
	PUT_DIFFERENCES(FUNC_OF)
	PUT_DIFFERENCES(line_of)
#undef FUNC_OF
#undef FILE_OF
#undef PUT_DIFFERENCES
	for (i = 0; i < cnt; i++)
		html_varint(d, (uint32_t)v->first_lines[n->order[i]]);
}

static void put_threads(struct html_data *d, const struct stack_tree_view *v)
{
	uint32_t i;

	html_varint(d, v->thread_cnt);
	for (i = 0; i < v->thread_cnt; i++)
		html_varint(d, v->threads[i].process);
	for (i = 0; i < v->thread_cnt; i++)
		html_varint(d, v->threads[i].interp_id);
	for (i = 0; i < v->thread_cnt; i++)
		html_varint(d, v->threads[i].thread_id);
}

/* Writes the nodes in preorder without the root: levels up to the parent, and the frame. */
static void put_nodes(struct html_data *d, const struct stack_tree_view *v, const uint32_t *order,
		      const uint32_t *depths, const struct numbers *frames)
{
	uint32_t i;

	html_varint(d, v->node_cnt - 1);
	for (i = 1; i < v->node_cnt; i++)
		html_varint(d, depths[i - 1] + 1 - depths[i]);
	for (i = 1; i < v->node_cnt; i++)
		html_varint(d, frames->place[v->nodes[order[i]].frame]);
}

/* ---- groups ---- */

/* The sort keys of groups, the least significant first: each sort is stable. */
enum group_key { BY_STATUS, BY_THREAD, BY_NODE, GROUP_KEYS };

struct group_sort {
	const struct stack_share *shares;
	const uint32_t *node_place;
	uint32_t cnt;
	uint32_t *from, *to;	/* shares before and after */
	uint32_t *first;	/* by key: where its shares begin */
};

static inline uint32_t group_key(const struct group_sort *s, enum group_key by, uint32_t i)
{
	const struct stack_share *share = &s->shares[s->from[i]];

	return by == BY_STATUS ? share->status :
	       by == BY_THREAD ? share->thread : s->node_place[share->node];
}

/* Sorts by a key that is below key_cnt. */
static void sort_by(struct group_sort *s, enum group_key by, uint32_t key_cnt)
{
	uint32_t *swap = s->from, i;

	memset(s->first, 0, ((size_t)key_cnt + 1) * sizeof(*s->first));
	for (i = 0; i < s->cnt; i++)
		s->first[group_key(s, by, i) + 1]++;
	for (i = 1; i < key_cnt; i++)
		s->first[i] += s->first[i - 1];
	for (i = 0; i < s->cnt; i++)
		s->to[s->first[group_key(s, by, i)]++] = s->from[i];
	s->from = s->to;
	s->to = swap;
}

/* Sorts the shares, millions of them, by node, thread and status. Returns 0 or -ENOMEM. */
static int sort_groups(const struct stack_tree_view *v, const struct numbers *nodes,
		       struct numbers *shares)
{
	const uint32_t keys[GROUP_KEYS] = { 256, v->thread_cnt, v->node_cnt };
	struct group_sort s = { .shares = v->shares, .node_place = nodes->place,
				.cnt = v->share_cnt, .from = shares->order, .to = shares->place };
	uint32_t most = 0, by;

	for (by = 0; by < GROUP_KEYS; by++)
		most = keys[by] > most ? keys[by] : most;
	s.first = calloc((size_t)most + 1, sizeof(*s.first));
	if (!s.first)
		return -ENOMEM;
	for (by = 0; by < GROUP_KEYS; by++)
		sort_by(&s, by, keys[by]);
	free(s.first);
	*shares = (struct numbers){ .order = s.from, .place = s.to };
	return 0;
}

/* The share at place i. Places are scattered in memory, so a later one is prefetched. */
static inline const struct stack_share *share_at(const struct stack_tree_view *v,
						 const struct numbers *shares, uint32_t i)
{
	if (i + FETCH_AHEAD < v->share_cnt)
		__builtin_prefetch(&v->shares[shares->order[i + FETCH_AHEAD]]);
	return &v->shares[shares->order[i]];
}

static void put_groups(struct html_data *d, const struct stack_tree_view *v,
		       const struct numbers *nodes, struct numbers *shares)
{
	uint32_t i, place, last = 0;

	if (sort_groups(v, nodes, shares)) {
		d->err = -ENOMEM;
		return;
	}
	html_varint(d, v->share_cnt);
	for (i = 0; i < v->share_cnt; i++, last = place) {
		place = nodes->place[share_at(v, shares, i)->node];
		html_varint(d, place - last);
	}
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, share_at(v, shares, i)->thread);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, share_at(v, shares, i)->status);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, share_at(v, shares, i)->weight);
}

static void put_opcodes(struct html_data *d, const struct page_opcodes *o,
			const struct numbers *frames)
{
	uint32_t cnt = o ? page_opcodes_cnt(o) : 0, i;

	html_varint(d, cnt);
	for (i = 0; i < cnt; i++)
		html_varint(d, frames->place[page_opcodes_get(o, i).frame]);
	for (i = 0; i < cnt; i++)
		html_varint(d, page_opcodes_get(o, i).name);
	for (i = 0; i < cnt; i++)
		html_varint(d, page_opcodes_get(o, i).weight);
}

/* Adds everything after the metadata to d. times and opcodes may be NULL. An error is kept in d. */
static void flamegraph_put_data(struct html_data *d, const struct stack_tree *tree,
			 const struct flamegraph_times *times,
			 const struct page_opcodes *opcodes)
{
	struct stack_tree_view v = stack_tree_view(tree);
	struct numbers frames = { 0 }, nodes = { 0 }, shares = { 0 };
	uint32_t *depths = NULL;

	if (!numbers_new(&frames, v.tables->frame_cnt) || !numbers_new(&shares, v.share_cnt) ||
	    !numbers_new(&nodes, v.node_cnt)) {
		d->err = -ENOMEM;
		goto out;
	}
	free(nodes.order);
	nodes.order = stack_tree_preorder(tree, &depths);
	if (!nodes.order) {
		d->err = -ENOMEM;
		goto out;
	}
	numbers_place(&nodes, v.node_cnt);
	html_strings(d, v.tables);
	put_frames(d, &v, &frames);
	put_threads(d, &v);
	put_nodes(d, &v, nodes.order, depths, &frames);
	put_groups(d, &v, &nodes, &shares);
	flamegraph_times_put(d, times, shares.order, v.share_cnt);
	put_opcodes(d, opcodes, &frames);
out:
	numbers_free(&frames);
	numbers_free(&nodes);
	numbers_free(&shares);
	free(depths);
}

#define DATA_VERSION 3

struct flamegraph {
	struct stack_tree *tree;
	struct flamegraph_times *times;	/* NULL: not wanted */
	struct page_opcodes *opcodes;	/* NULL: not wanted */
	struct html_processes processes;
};

struct flamegraph_sink {
	struct sink sink;
	int fd, err;
	bool many, active, begun;
	bool part;		/* part of another one: it writes nothing */
	/* Of parts: the first one. Its width_us is the last width of the page's bins of time. */
	struct flamegraph_sink *like;
	_Atomic uint64_t width_us;	/* it only grows; the thread that joins parts writes it */
	char *title;
	const struct source_lookup *sources;
	struct flamegraph *graph;
};

struct flamegraph *flamegraph_new(void)
{
	struct flamegraph *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->tree = stack_tree_new(DETAIL_LINE);
	if (f->tree)
		return f;
	free(f);
	return NULL;
}

void flamegraph_free(struct flamegraph *f)
{
	if (!f)
		return;
	html_processes_free(&f->processes);
	flamegraph_times_free(f->times);
	page_opcodes_free(f->opcodes);
	stack_tree_free(f->tree);
	free(f);
}

/*
 * Also collects when samples were taken and at which opcodes, for the page of one recording: before
 * the first flamegraph_begin(). The page has times if all processes give them by one clock. Returns
 * 0 or -ENOMEM.
 */
static int flamegraph_collect_more(struct flamegraph *f)
{
	f->times = flamegraph_times_new();
	f->opcodes = page_opcodes_new();
	return f->times && f->opcodes ? 0 : -ENOMEM;
}

int flamegraph_begin(struct flamegraph *f, const struct profile_meta *meta,
		     const struct profile_tables *tables)
{
	int err = stack_tree_begin(f->tree, tables);

	if (!err && f->times)
		err = flamegraph_times_begin(f->times, meta);
	if (f->opcodes)
		page_opcodes_begin(f->opcodes, meta, tables);
	return err ? err : html_processes_add(&f->processes, meta, NULL, 0);
}

int flamegraph_event(struct flamegraph *f, const struct event *ev)
{
	int err = stack_tree_event(f->tree, ev);

	if (!err && f->times)
		err = flamegraph_times_add(f->times, stack_tree_share(f->tree), ev);
	if (!err && f->opcodes)
		err = page_opcodes_add(f->opcodes, f->tree, ev);
	return err;
}

int flamegraph_end(struct flamegraph *f, const struct profile_stats *stats)
{
	stack_tree_end(f->tree);
	if (stats)
		f->processes.list[f->processes.cnt - 1].stats = *stats;
	return 0;
}

/*
 * Adds everything that part has collected, as if part's processes had come after f's own. Another
 * thread may have collected part before. Both must collect the same: more, or not. part is used up,
 * and its owner frees it. Returns 0 or -ENOMEM; 1: part does not fit, and nothing was changed: f
 * must collect its processes again.
 */
static int flamegraph_join(struct flamegraph *f, struct flamegraph *part)
{
	struct stack_tree_map map = { 0 };
	int err;

	if ((f->times && !flamegraph_times_fit(f->times, part->times)) ||
	    (f->opcodes && !page_opcodes_fit(part->opcodes)))
		return 1;
	err = stack_tree_merge(f->tree, part->tree, &map);
	if (!err && f->times)
		err = flamegraph_times_join(f->times, part->times, map.share);
	if (!err && f->opcodes)
		err = page_opcodes_join(f->opcodes, part->opcodes, map.frames);
	if (!err)
		err = html_processes_join(&f->processes, &part->processes);
	free(map.frames);
	return err;
}

struct meta_ctx {
	const struct flamegraph *graph;
	const char *title;
	const char *const *sides;	/* NULL: not a comparison */
	const struct source_lookup *sources;	/* NULL: no source text */
};

static int put_meta(struct json *j, const void *ctx)
{
	const struct meta_ctx *m = ctx;
	size_t i;
	int err;

	json_uint(j, "version", DATA_VERSION);
	json_string(j, "generator", "tachbpf " TACHBPF_VERSION);
	err = html_json_text(j, "title", m->title);
	if (m->graph->times && flamegraph_times_utc(m->graph->times))
		json_bool(j, "utc", true);
	if (m->graph->opcodes)
		page_opcodes_json(j, m->graph->opcodes);
	if (m->sides) {
		json_array(j, "sides");
		for (i = 0; !err && i < 2; i++)
			err = html_json_text(j, NULL, m->sides[i]);
		json_array_end(j);
	}
	if (!err && m->sources)
		err = html_json_sources(j, m->sources, stack_tree_view(m->graph->tree).tables);
	/* Of several processes they would be types of different programs. */
	if (!err && !m->sides && m->graph->processes.cnt == 1)
		err = page_types_json(j, m->graph->processes.list[0].meta.types);
	return err ? err : html_json_processes(j, &m->graph->processes);
}

static int write_page(int fd, const struct meta_ctx *m)
{
	struct html_data d = { 0 };

	html_json(&d, put_meta, m);
	flamegraph_put_data(&d, m->graph->tree, m->graph->times, m->graph->opcodes);
	return html_write(fd, &html_flamegraph, &d);
}

int flamegraph_diff(int fd, const struct flamegraph *before, const char *before_title,
		    const struct flamegraph *after, const char *after_title)
{
	const struct flamegraph *const parts[2] = { before, after };
	const char *const titles[2] = { before_title, after_title };
	struct flamegraph *both = flamegraph_new();
	struct meta_ctx m = { both, NULL, titles, NULL };
	size_t i, side;
	int err = both ? 0 : -ENOMEM;

	for (side = 0; !err && side < 2; side++) {
		err = stack_tree_merge(both->tree, parts[side]->tree, NULL);
		for (i = 0; !err && i < parts[side]->processes.cnt; i++)
			err = html_processes_add(&both->processes,
						 &parts[side]->processes.list[i].meta,
						 &parts[side]->processes.list[i].stats, side);
	}
	if (!err)
		err = write_page(fd, &m);
	flamegraph_free(both);
	return err;
}

static struct flamegraph_sink *to_flamegraph(struct sink *s)
{
	return (struct flamegraph_sink *)s;
}

static struct sink *sink_open(const struct sink_args *args)
{
	struct flamegraph_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sink.ops = &sink_flamegraph;
	s->fd = args->fd;
	s->many = args->many;
	s->sources = args->sources;
	s->graph = flamegraph_new();
	if (args->title)
		s->title = strdup(args->title);
	if (s->graph && (s->title || !args->title) && !flamegraph_collect_more(s->graph))
		return &s->sink;
	flamegraph_free(s->graph);
	free(s->title);
	free(s);
	errno = ENOMEM;
	return NULL;
}

static struct sink *sink_part(struct sink *like)
{
	const struct sink_args args = { .fd = -1, .many = true };
	struct sink *s = sink_open(&args);

	if (s) {
		to_flamegraph(s)->part = true;
		to_flamegraph(s)->like = to_flamegraph(like ? like : s);
	}
	return s;
}

static int sink_join(struct sink *sink, struct sink *part)
{
	struct flamegraph_sink *s = to_flamegraph(sink), *from = to_flamegraph(part);
	int err;

	if (s->err)
		return s->err;
	if (s->active || from->active || from->err || !s->many)
		return 1;
	err = flamegraph_join(s->graph, from->graph);
	s->begun |= !err && from->begun;
	from->like->width_us = flamegraph_times_width_us(s->graph->times);
	return err == 1 ? 1 : (s->err = err);
}

static int sink_begin(struct sink *sink, const struct profile_meta *meta,
		      const struct profile_tables *tables)
{
	struct flamegraph_sink *s = to_flamegraph(sink);

	if (s->err)
		return s->err;
	if (s->active || (s->begun && !s->many))
		return -EINVAL;
	s->active = s->begun = true;
	s->err = flamegraph_begin(s->graph, meta, tables);
	if (s->like)
		flamegraph_times_widen(s->graph->times, s->like->width_us);
	return s->err;
}

static int sink_event(struct sink *sink, const struct event *ev)
{
	struct flamegraph_sink *s = to_flamegraph(sink);

	if (s->err)
		return s->err;
	if (!s->active)
		return -EINVAL;
	return s->err = flamegraph_event(s->graph, ev);
}

static int sink_end(struct sink *sink, const struct profile_stats *stats)
{
	struct flamegraph_sink *s = to_flamegraph(sink);

	if (s->err)
		return s->err;
	if (!s->active)
		return -EINVAL;
	s->active = false;
	return s->err = flamegraph_end(s->graph, stats);
}

/* The page contains all data, so it is written only at the end. */
static int sink_close(struct sink *sink)
{
	struct flamegraph_sink *s = to_flamegraph(sink);
	const struct meta_ctx m = { s->graph, s->title, NULL, s->sources };
	int err = s->err;

	if (!err && !s->active && !s->part)
		err = write_page(s->fd, &m);
	flamegraph_free(s->graph);
	free(s->title);
	free(s);
	return err;
}

const struct sink_ops sink_flamegraph = {
	.name = "flamegraph",
	.help = "interactive flame graph, as one HTML file",
	.takes = SINK_TAKES_HELD,
	.open = sink_open,
	.begin = sink_begin,
	.event = sink_event,
	.end = sink_end,
	.close = sink_close,
	.part = sink_part,
	.join = sink_join,
	.suffix = ".html",
	.kept = true,
};
