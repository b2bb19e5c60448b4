// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heatmap.c - the sink `heatmap`: an HTML page that shows the source with the samples of every line
 * and, where columns are known, of every expression. See docs/format-heatmap.md.
 *
 * Collects a call tree like a flame graph. The counts of lines are computed at the end, once for
 * each distinct stack. They are those of CPython 3.15's `replay --heatmap`
 * (Lib/profiling/sampling/heatmap_collector.py), except for the self of samples whose innermost
 * frame is a detail (model/stack_frame.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/json.h"
#include "formats/formats.h"
#include "formats/html/html_page.h"
#include "formats/html/line_opcodes.h"
#include "formats/html/page_opcodes.h"
#include "formats/source_text.h"
#include "model/sink.h"
#include "model/source_lookup.h"
#include "model/stack_frame.h"
#include "model/stack_tree.h"

#define DATA_VERSION 2
#define NO_FILE UINT32_MAX

/*
 * All sources in the page together. If there is more, the files with the fewest samples have no
 * text.
 */
#define SOURCES_MAX_BYTES (64 * 1024 * 1024)

struct count {
	uint64_t self, total;
};

/* The counts of all places of one kind (file, line or span), indexed by the place's number. */
struct places {
	struct count *counts;
	uint16_t *on_path;	/* how often the place is in the current stack */
	uint32_t *of_frame;	/* the place of each frame id */
	uint32_t *first;	/* index in order[] of the place's first frame */
	uint32_t cnt;
};

enum place_kind { PLACE_FILE, PLACE_LINE, PLACE_SPAN, PLACE_KINDS };

/* The frames of source files, ordered by position, and their counts. */
struct heat {
	const struct stack_tree *tree;
	const struct profile_tables *tables;
	uint32_t *order;
	uint32_t order_cnt;
	struct places places[PLACE_KINDS];
	struct line_opcodes opcodes;
	const struct source_lookup *sources;
	size_t source_bytes;
};

struct heatmap_sink {
	struct sink sink;
	int fd, err;
	bool many, active, begun;
	const struct source_lookup *sources;	/* NULL: no source text */
	char *title;
	struct stack_tree *tree;
	struct page_opcodes *opcodes;
	struct html_processes processes;
};

/* Names that are not those of files, the same ones as CPython leaves out. */
static bool is_source(const struct string_ref *file)
{
	static const char *const none[] = { "~", ".", "..." };
	size_t i;

	if (!file->len || file->data[0] == '<' || file->data[0] == '[')
		return false;
	for (i = 0; i < ARRAY_SIZE(none); i++) {
		if (file->len == strlen(none[i]) && !memcmp(file->data, none[i], file->len))
			return false;
	}
	return true;
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/*
 * By file, line, then the rest of the position. Compared as unsigned, so unknown values come last.
 */
static int compare_positions(const struct frame *a, const struct frame *b, enum place_kind kind)
{
	int diff = compare_u32(a->file, b->file);

	if (!diff && kind >= PLACE_LINE)
		diff = compare_u32(a->line, b->line);
	if (!diff && kind >= PLACE_SPAN)
		diff = compare_u32(a->column, b->column);
	if (!diff && kind >= PLACE_SPAN)
		diff = compare_u32(a->end_line, b->end_line);
	if (!diff && kind >= PLACE_SPAN)
		diff = compare_u32(a->end_column, b->end_column);
	return diff;
}

static int compare_frames(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int diff = compare_positions(&frames[x], &frames[y], PLACE_SPAN);

	return diff ? diff : compare_u32(x, y);
}

/* Numbers the places of one kind, in the order of the frames. */
static int number_places(struct heat *h, enum place_kind kind)
{
	const struct frame *frames = h->tables->frames;
	struct places *p = &h->places[kind];
	uint32_t i;

	p->of_frame = malloc(((size_t)h->tables->frame_cnt + 1) * sizeof(*p->of_frame));
	p->first = calloc((size_t)h->order_cnt + 1, sizeof(*p->first));
	if (!p->of_frame || !p->first)
		return -ENOMEM;
	memset(p->of_frame, 0xff, h->tables->frame_cnt * sizeof(*p->of_frame));
	for (i = 0; i < h->order_cnt; i++) {
		if (!i || compare_positions(&frames[h->order[i - 1]], &frames[h->order[i]], kind))
			p->first[p->cnt++] = i;
		p->of_frame[h->order[i]] = p->cnt - 1;
	}
	p->first[p->cnt] = h->order_cnt;
	p->counts = calloc((size_t)p->cnt + 1, sizeof(*p->counts));
	p->on_path = calloc((size_t)p->cnt + 1, sizeof(*p->on_path));
	return p->counts && p->on_path ? 0 : -ENOMEM;
}

static int sort_frames(struct heat *h)
{
	const struct profile_tables *t = h->tables;
	uint32_t i, kind;
	int err = 0;

	h->order = calloc((size_t)t->frame_cnt + 1, sizeof(*h->order));
	if (!h->order)
		return -ENOMEM;
	for (i = 0; i < t->frame_cnt; i++) {
		if (is_source(&t->strings[t->frames[i].file]))
			h->order[h->order_cnt++] = i;
	}
	qsort_r(h->order, h->order_cnt, sizeof(*h->order), compare_frames, (void *)t->frames);
	for (kind = 0; !err && kind < PLACE_KINDS; kind++)
		err = number_places(h, kind);
	return err;
}

/* Adds a frame to the path: its places are counted, unless they are on the path already. */
static void enter_frame(struct heat *h, uint32_t frame, uint64_t weight)
{
	uint32_t kind;

	for (kind = 0; kind < PLACE_KINDS; kind++) {
		struct places *p = &h->places[kind];
		uint32_t place = p->of_frame[frame];

		if (place != NO_FILE && !p->on_path[place]++)
			p->counts[place].total = add_capped(p->counts[place].total, weight);
	}
}

static void leave_frame(struct heat *h, uint32_t frame)
{
	uint32_t kind;

	for (kind = 0; kind < PLACE_KINDS; kind++) {
		if (h->places[kind].of_frame[frame] != NO_FILE)
			h->places[kind].on_path[h->places[kind].of_frame[frame]]--;
	}
}

static void count_self(struct heat *h, const struct stack_tree_view *v)
{
	uint32_t i, kind, node;

	for (i = 0; i < v->share_cnt; i++) {
		const struct stack_share *g = &v->shares[i];

		node = g->node;
		while (node && frame_is_detail(h->tables, v->nodes[node].frame,
					       SELF_OF_PYTHON))
			node = v->nodes[node].parent;
		if (!node)
			continue;
		for (kind = 0; kind < PLACE_KINDS; kind++) {
			struct places *p = &h->places[kind];
			uint32_t place = p->of_frame[v->nodes[node].frame];

			if (place != NO_FILE)
				p->counts[place].self = add_capped(p->counts[place].self,
								   g->weight);
		}
	}
}

static int count_places(struct heat *h)
{
	struct stack_tree_view v = stack_tree_view(h->tree);
	uint32_t *depths = NULL, *order = stack_tree_preorder(h->tree, &depths);
	uint64_t *totals = stack_tree_totals(h->tree);
	uint32_t path[EVENT_MAX_FRAMES], depth = 0, i;
	int err = -ENOMEM;

	if (!order || !totals)
		goto out;
	for (i = 1; i < v.node_cnt; i++) {
		while (depth >= depths[i])
			leave_frame(h, path[--depth]);
		path[depth] = v.nodes[order[i]].frame;
		enter_frame(h, path[depth++], totals[order[i]]);
	}
	count_self(h, &v);
	err = 0;
out:
	free(order);
	free(depths);
	free(totals);
	return err;
}

static void put_counts(struct html_data *d, const struct places *p, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i < to; i++)
		html_varint(d, p->counts[i].total);
	for (i = from; i < to; i++)
		html_varint(d, p->counts[i].self);
}

/* Writes the lines from..to-1: their numbers, a function for each, and their counts. */
static void put_lines(struct html_data *d, const struct heat *h, uint32_t from, uint32_t to)
{
	const struct places *p = &h->places[PLACE_LINE];
	const struct frame *frames = h->tables->frames;
	uint32_t i;

	html_varint(d, to - from);
	/* LINE_NONE becomes 0. It comes last, so numbers may decrease there. */
	for (i = from; i < to; i++) {
		int32_t line = frames[h->order[p->first[i]]].line;

		html_varint(d, line < 0 ? 0 : line);
	}
	for (i = from; i < to; i++)
		html_varint(d, frames[h->order[p->first[i]]].func);
	put_counts(d, p, from, to);
}

static void put_spans(struct html_data *d, const struct heat *h, uint32_t from, uint32_t to)
{
	const struct places *p = &h->places[PLACE_SPAN];
	const struct frame *frames = h->tables->frames;
	uint32_t i;

#define PUT_COLUMN(value)                                                                          \
	for (i = from; i < to; i++) {                                                              \
		const struct frame *f = &frames[h->order[p->first[i]]];                            \
		html_varint(d, (value));                                                           \
	}
	html_varint(d, to - from);
	PUT_COLUMN(f->line < 0 ? 0 : (uint32_t)f->line);
	PUT_COLUMN((uint32_t)f->column + 1U);
	PUT_COLUMN(f->end_line < 0 ? 0 : (uint32_t)f->end_line);
	PUT_COLUMN((uint32_t)f->end_column + 1U);
#undef PUT_COLUMN
	put_counts(d, p, from, to);
}

static void put_text(struct html_data *d, struct heat *h, const struct string_ref *name)
{
	struct string_ref text = { 0 };
	int state = SOURCE_NOT_WANTED;

	if (h->sources)
		state = h->sources->find(h->sources->ctx, *name, &text);
	if (state < 0 && !d->err)
		d->err = state;
	if (state == SOURCE_READ && h->source_bytes + text.len > SOURCES_MAX_BYTES)
		state = SOURCE_TOO_LARGE;
	html_varint(d, state);
	if (state == SOURCE_READ) {
		h->source_bytes += text.len;
		html_bytes(d, text.data, text.len);
	}
}

static void put_file(struct html_data *d, struct heat *h, uint32_t file)
{
	const struct places *p = &h->places[PLACE_FILE];
	uint32_t first = h->order[p->first[file]], last = h->order[p->first[file + 1] - 1];
	uint32_t name = h->tables->frames[first].file;

	html_varint(d, name);
	html_varint(d, p->counts[file].total);
	html_varint(d, p->counts[file].self);
	put_lines(d, h, h->places[PLACE_LINE].of_frame[first],
		  h->places[PLACE_LINE].of_frame[last] + 1);
	put_spans(d, h, h->places[PLACE_SPAN].of_frame[first],
		  h->places[PLACE_SPAN].of_frame[last] + 1);
	line_opcodes_put(d, &h->opcodes, h->places[PLACE_LINE].of_frame[first],
			 h->places[PLACE_LINE].of_frame[last] + 1);
	put_text(d, h, &h->tables->strings[name]);
}

static int compare_totals(const void *a, const void *b, void *ctx)
{
	const struct count *counts = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (counts[x].total != counts[y].total)
		return counts[x].total > counts[y].total ? -1 : 1;
	return compare_u32(x, y);
}

/* Writes the files, those with the most samples first. */
static void put_files(struct html_data *d, struct heat *h)
{
	const struct places *p = &h->places[PLACE_FILE];
	uint32_t *files = calloc((size_t)p->cnt + 1, sizeof(*files));
	uint32_t i;

	if (!files) {
		d->err = -ENOMEM;
		return;
	}
	for (i = 0; i < p->cnt; i++)
		files[i] = i;
	qsort_r(files, p->cnt, sizeof(*files), compare_totals, p->counts);
	html_varint(d, p->cnt);
	for (i = 0; !d->err && i < p->cnt; i++)
		put_file(d, h, files[i]);
	free(files);
}

static void heat_free(struct heat *h)
{
	uint32_t kind;

	for (kind = 0; kind < PLACE_KINDS; kind++) {
		free(h->places[kind].counts);
		free(h->places[kind].on_path);
		free(h->places[kind].of_frame);
		free(h->places[kind].first);
	}
	line_opcodes_free(&h->opcodes);
	free(h->order);
}

static struct heatmap_sink *to_heatmap(struct sink *s)
{
	return (struct heatmap_sink *)s;
}

static int put_meta(struct json *j, const void *ctx)
{
	const struct heatmap_sink *s = ctx;
	struct stack_tree_view v = stack_tree_view(s->tree);
	uint32_t i;
	uint64_t weight = 0;
	int err;

	for (i = 0; i < v.share_cnt; i++)
		weight = add_capped(weight, v.shares[i].weight);
	json_uint(j, "version", DATA_VERSION);
	json_string(j, "generator", "tachbpf " TACHBPF_VERSION);
	err = html_json_text(j, "title", s->title);
	json_uint(j, "samples", weight);
	page_opcodes_json(j, s->opcodes);
	return err ? err : html_json_processes(j, &s->processes);
}

static int write_page(struct heatmap_sink *s)
{
	struct heat h = { .tree = s->tree, .tables = stack_tree_view(s->tree).tables,
			  .sources = s->sources };
	struct html_data d = { 0 };
	int err = sort_frames(&h);

	if (!err)
		err = count_places(&h);
	if (!err)
		err = line_opcodes_make(&h.opcodes, s->opcodes, h.tables,
					h.places[PLACE_LINE].of_frame, NO_FILE);
	if (!err) {
		html_json(&d, put_meta, s);
		html_strings(&d, h.tables);
		put_files(&d, &h);
		err = html_write(s->fd, &html_heatmap, &d);
	}
	heat_free(&h);
	return err;
}

static void heatmap_free(struct heatmap_sink *s)
{
	html_processes_free(&s->processes);
	stack_tree_free(s->tree);
	page_opcodes_free(s->opcodes);
	free(s->title);
	free(s);
}

static struct sink *heatmap_open(const struct sink_args *args)
{
	struct heatmap_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sink.ops = &sink_heatmap;
	s->fd = args->fd;
	s->many = args->many;
	s->sources = args->sources;
	s->tree = stack_tree_new(DETAIL_LOCATION);
	if (args->title)
		s->title = strdup(args->title);
	s->opcodes = page_opcodes_new();
	if (s->tree && s->opcodes && (s->title || !args->title))
		return &s->sink;
	heatmap_free(s);
	errno = ENOMEM;
	return NULL;
}

static int heatmap_begin(struct sink *sink, const struct profile_meta *meta,
			 const struct profile_tables *tables)
{
	struct heatmap_sink *s = to_heatmap(sink);

	if (s->err)
		return s->err;
	if (s->active || (s->begun && !s->many))
		return -EINVAL;
	s->active = s->begun = true;
	page_opcodes_begin(s->opcodes, meta, tables);
	s->err = stack_tree_begin(s->tree, tables);
	if (!s->err)
		s->err = html_processes_add(&s->processes, meta, NULL, 0);
	return s->err;
}

static int heatmap_event(struct sink *sink, const struct event *ev)
{
	struct heatmap_sink *s = to_heatmap(sink);

	if (s->err)
		return s->err;
	if (!s->active)
		return -EINVAL;
	s->err = stack_tree_event(s->tree, ev);
	if (!s->err)
		s->err = page_opcodes_add(s->opcodes, s->tree, ev);
	return s->err;
}

static int heatmap_end(struct sink *sink, const struct profile_stats *stats)
{
	struct heatmap_sink *s = to_heatmap(sink);

	if (s->err)
		return s->err;
	if (!s->active)
		return -EINVAL;
	s->active = false;
	stack_tree_end(s->tree);
	if (stats)
		s->processes.list[s->processes.cnt - 1].stats = *stats;
	return 0;
}

/* The page contains all data, so it is written only at the end. */
static int heatmap_close(struct sink *sink)
{
	struct heatmap_sink *s = to_heatmap(sink);
	int err = s->err;

	if (!err && !s->active)
		err = write_page(s);
	heatmap_free(s);
	return err;
}

const struct sink_ops sink_heatmap = {
	.name = "heatmap",
	.help = "source code with the samples of every line, as one HTML file",
	.open = heatmap_open,
	.begin = heatmap_begin,
	.event = heatmap_event,
	.end = heatmap_end,
	.close = heatmap_close,
	.kept = true,
	.suffix = ".heatmap.html",
};
