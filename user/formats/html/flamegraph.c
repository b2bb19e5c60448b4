// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * flamegraph.c - the sink `flamegraph`: an HTML page that draws the stacks; and the page
 * that compares two recordings. See docs/format-flamegraph.md.
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
#include "formats/html/flamegraph_data.h"
#include "formats/html/flamegraph_times.h"
#include "formats/html/html_page.h"
#include "formats/html/page_opcodes.h"
#include "model/sink.h"
#include "model/stack_tree.h"

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
	bool part;		/* of another one: it writes nothing */
	/* Of parts: the first one. Its width_us is how wide the page's bins of time were last. */
	struct flamegraph_sink *like;
	_Atomic uint64_t width_us;	/* it only grows; the thread that joins parts writes it */
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
	flamegraph_times_free(f->times);
	page_opcodes_free(f->opcodes);
	stack_tree_free(f->tree);
	free(f);
}

/*
 * Also collect when samples were taken and at which opcodes, for the page of one recording:
 * before the first flamegraph_begin(). The page has times if all processes say them by one
 * clock. 0 or -ENOMEM.
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
 * Add everything that part has collected: f is then as if part's processes had come after its
 * own. Another thread may have collected part before. Both collect the same: more, or not. part is
 * used up, and its owner frees it. 0 or -ENOMEM. 1: part does not fit, and nothing was changed: its
 * processes must be collected again, by f.
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
	return err ? err : html_json_processes(j, &m->graph->processes);
}

static int write_page(int fd, const struct meta_ctx *m)
{
	struct html_data d = { 0 };

	html_json(&d, put_meta, m);
	flamegraph_put_data(&d, m->graph->tree, m->graph->times, m->graph->opcodes);
	return html_write(fd, &html_flamegraph, &d);
}

/* Write what was collected as one page to fd. title may be NULL. */
static int flamegraph_write(int fd, const struct flamegraph *f, const char *title)
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

/* The page has all data in it, so it is only written at the end. */
static int sink_close(struct sink *sink)
{
	struct flamegraph_sink *s = to_flamegraph(sink);
	int err = s->err;

	if (!err && !s->active && !s->part)
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
	.part = sink_part,
	.join = sink_join,
	.suffix = ".html",
	.kept = true,
};
