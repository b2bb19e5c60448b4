// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flamegraph.c - the sink `flamegraph`: an HTML page that draws the stacks; and the page
 * that compares two recordings. See docs/format-flamegraph.md.
 *
 * Collects a call tree and writes it as columns of varints. The browser computes everything
 * that a user selects from them. pages/ has the pages themselves.
 */
#include "formats/html/flamegraph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/formats.h"
#include "formats/html/html_page.h"
#include "model/sink.h"
#include "model/stack_tree.h"

#define DATA_VERSION 2

struct flamegraph {
	struct stack_tree *tree;
	struct html_processes processes;
};

struct flamegraph_sink {
	struct sink sink;
	int fd, err;
	bool many, active, begun;
	char *title;
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
	stack_tree_free(f->tree);
	free(f);
}

int flamegraph_begin(struct flamegraph *f, const struct profile_meta *meta,
		     const struct profile_tables *tables)
{
	int err = stack_tree_begin(f->tree, tables);

	return err ? err : html_processes_add(&f->processes, meta, NULL, 0);
}

int flamegraph_event(struct flamegraph *f, const struct event *ev)
{
	return stack_tree_event(f->tree, ev);
}

int flamegraph_end(struct flamegraph *f, const struct profile_stats *stats)
{
	stack_tree_end(f->tree);
	if (stats)
		f->processes.list[f->processes.cnt - 1].stats = *stats;
	return 0;
}

struct meta_ctx {
	const struct flamegraph *graph;
	const char *title;
	const char *const *sides;	/* NULL: not a comparison */
};

static int put_meta(struct json *j, const void *ctx)
{
	const struct meta_ctx *m = ctx;
	size_t i;
	int err;

	json_uint(j, "version", DATA_VERSION);
	json_string(j, "generator", "tachbpf " TACHBPF_VERSION);
	err = html_json_text(j, "title", m->title);
	if (m->sides) {
		json_array(j, "sides");
		for (i = 0; !err && i < 2; i++)
			err = html_json_text(j, NULL, m->sides[i]);
		json_array_end(j);
	}
	return err ? err : html_json_processes(j, &m->graph->processes);
}

static void put_frames(struct html_data *d, const struct stack_tree_view *v)
{
	const struct profile_tables *tables = v->tables;
	uint32_t i;

	html_varint(d, tables->frame_cnt);
	for (i = 0; i < tables->frame_cnt; i++)
		html_varint(d, tables->frames[i].file);
	for (i = 0; i < tables->frame_cnt; i++)
		html_varint(d, tables->frames[i].func);
	/* LINE_NONE becomes 0. */
	for (i = 0; i < tables->frame_cnt; i++)
		html_varint(d, tables->frames[i].line < 0 ? 0 : tables->frames[i].line);
	for (i = 0; i < tables->frame_cnt; i++)
		html_varint(d, (uint32_t)v->first_lines[i]);
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

/* Write the nodes in preorder without the root: how many levels up the parent is, and the frame. */
static void put_nodes(struct html_data *d, const struct stack_tree_view *v, const uint32_t *order,
		      const uint32_t *depths)
{
	uint32_t i;

	html_varint(d, v->node_cnt - 1);
	for (i = 1; i < v->node_cnt; i++)
		html_varint(d, depths[i - 1] + 1 - depths[i]);
	for (i = 1; i < v->node_cnt; i++)
		html_varint(d, v->nodes[order[i]].frame);
}

struct place {
	uint32_t node;	/* in preorder */
	uint32_t share;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->share < y->share ? -1 : 1;
}

static void put_sorted_shares(struct html_data *d, const struct stack_tree_view *v,
			      const struct place *places)
{
	uint32_t i;

	html_varint(d, v->share_cnt);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, places[i].node - (i ? places[i - 1].node : 0));
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, v->shares[places[i].share].thread);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, v->shares[places[i].share].status);
	for (i = 0; i < v->share_cnt; i++)
		html_varint(d, v->shares[places[i].share].weight);
}

static void put_shares(struct html_data *d, const struct stack_tree_view *v,
		       const uint32_t *order)
{
	struct place *places = calloc((size_t)v->share_cnt + 1, sizeof(*places));
	uint32_t *number = calloc(v->node_cnt, sizeof(*number));
	uint32_t i;

	if (places && number) {
		for (i = 0; i < v->node_cnt; i++)
			number[order[i]] = i;
		for (i = 0; i < v->share_cnt; i++)
			places[i] = (struct place){ number[v->shares[i].node], i };
		qsort(places, v->share_cnt, sizeof(*places), compare_places);
		put_sorted_shares(d, v, places);
	} else {
		d->err = -ENOMEM;
	}
	free(places);
	free(number);
}

static int write_page(int fd, const struct meta_ctx *m)
{
	struct stack_tree_view v = stack_tree_view(m->graph->tree);
	struct html_data d = { 0 };
	uint32_t *depths = NULL, *order = stack_tree_preorder(m->graph->tree, &depths);

	if (!order)
		return -ENOMEM;
	html_json(&d, put_meta, m);
	html_strings(&d, v.tables);
	put_frames(&d, &v);
	put_threads(&d, &v);
	put_nodes(&d, &v, order, depths);
	put_shares(&d, &v, order);
	free(order);
	free(depths);
	return html_write(fd, &html_flamegraph, &d);
}

int flamegraph_write(int fd, const struct flamegraph *f, const char *title)
{
	struct meta_ctx m = { f, title, NULL };

	return write_page(fd, &m);
}

int flamegraph_diff(int fd, const struct flamegraph *before, const char *before_title,
		    const struct flamegraph *after, const char *after_title)
{
	const struct flamegraph *const parts[2] = { before, after };
	const char *const titles[2] = { before_title, after_title };
	struct flamegraph *both = flamegraph_new();
	struct meta_ctx m = { both, NULL, titles };
	size_t i, side;
	int err = both ? 0 : -ENOMEM;

	for (side = 0; !err && side < 2; side++) {
		err = stack_tree_merge(both->tree, parts[side]->tree);
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
	s->graph = flamegraph_new();
	if (args->title)
		s->title = strdup(args->title);
	if (s->graph && (s->title || !args->title))
		return &s->sink;
	flamegraph_free(s->graph);
	free(s->title);
	free(s);
	errno = ENOMEM;
	return NULL;
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
	return s->err = flamegraph_begin(s->graph, meta, tables);
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

/* The page has all data in it, so it is only written at the end. */
static int sink_close(struct sink *sink)
{
	struct flamegraph_sink *s = to_flamegraph(sink);
	int err = s->err;

	if (!err && !s->active)
		err = flamegraph_write(s->fd, s->graph, s->title);
	flamegraph_free(s->graph);
	free(s->title);
	free(s);
	return err;
}

const struct sink_ops sink_flamegraph = {
	.name = "flamegraph",
	.help = "interactive flame graph, one HTML file",
	.takes = SINK_TAKES_HELD,
	.open = sink_open,
	.begin = sink_begin,
	.event = sink_event,
	.end = sink_end,
	.close = sink_close,
	.suffix = ".html",
};
