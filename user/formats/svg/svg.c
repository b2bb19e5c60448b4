// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * svg.c - the sink `svg`: an interactive flame graph as one SVG file. See docs/format-svg.md.
 *
 * Each box is an <svg> of its own with positions in percent: it scales with the window and cuts its
 * text off, and svg_script.js zooms by two numbers of each box.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes_text.h"
#include "base/util.h"
#include "base/writer.h"
#include "formats/formats.h"
#include "formats/svg/svg_boxes.h"
#include "model/aggregate.h"
#include "model/native_frame.h"
#include "model/profile_names.h"

#define ROW_PX 17
#define TOP_PX 60		/* of the first row */
#define NOMINAL_PX 1200		/* the width for which texts are shown without the script */
#define TEXT_PX 24		/* narrower boxes have no visible text; as in svg_script.js */
#define NAME_BYTES 256		/* longer names are cut */
#define FILE_BYTES 1024
#define WHOLE 100000000ull	/* the width: 100 % in millionths of a percent */

/* svg_script.S */
extern const char svg_script[];

struct svg {
	struct aggregate *a;
	struct svg_boxes boxes;
	struct writer *w;
};

/* ---- text ---- */

/* Writes printable text: what XML reserves as entities, and U+FFFE and U+FFFF, which it forbids. */
static void put_xml(struct writer *w, const char *s)
{
	for (; *s; s++) {
		if (*s == '&')
			writer_text(w, "&amp;");
		else if (*s == '<')
			writer_text(w, "&lt;");
		else if (*s == '>')
			writer_text(w, "&gt;");
		else if (!strncmp(s, "\xef\xbf\xbe", 3) || !strncmp(s, "\xef\xbf\xbf", 3))
			s += 2, writer_text(w, "\xef\xbf\xbd");
		else
			writer_char(w, *s);
	}
}

/* Writes any text, cut to at most max bytes, FILE_BYTES or less. */
static void put_text(struct writer *w, struct string_ref s, size_t max)
{
	char text[FILE_BYTES * 4 + 1];
	size_t len = s.len > max ? utf8_cut(s.data, s.len, max) : s.len;

	put_xml(w, escape_text(s.data, len, text, sizeof(text)));
	if (len < s.len)
		writer_text(w, "\xe2\x80\xa6");
}

/* "1,234,567" */
static void put_count(struct writer *w, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), i;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			writer_char(w, ',');
		writer_char(w, digits[i]);
	}
}

/* "1,234 samples", "12.3 MiB", "1.234 ms". */
static void put_weight(const struct svg *s, uint64_t weight)
{
	char bytes[BYTES_TEXT_MAX];

	if (s->a->unit == UNIT_BYTES) {
		writer_text(s->w, bytes_text((double)weight, bytes));
		return;
	}
	put_count(s->w, weight);
	writer_char(s->w, ' ');
	writer_text(s->w, profile_unit_of(weight, s->a->unit));
}

/* Returns a position in millionths of a percent: the same for boxes with the same edge. */
static uint64_t place_of(const struct svg *s, uint64_t at)
{
	return (uint64_t)((double)at / (double)s->boxes.total * (double)WHOLE);
}

/* Writes millionths of a percent: "12.345678%", "100%". */
static void put_percent(struct writer *w, uint64_t millionths)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, millionths / 1000000,
			   millionths % 1000000);

	while (text[len - 1] == '0')
		len--;
	len -= text[len - 1] == '.';
	writer_put(w, text, (size_t)len);
	writer_char(w, '%');
}

/* ---- colours: those of the HTML page ---- */

/* As hashText() of the page, of the first bytes. */
static uint32_t hash_of(struct string_ref s)
{
	uint32_t h = 0x811c9dc5, i;

	for (i = 0; i < s.len && i < FILE_BYTES; i++)
		h = (h ^ (unsigned char)s.data[i]) * 0x01000193;
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

/* Oklch: chroma 0.085, a hue every 15 degrees, lightness 0.81, 0.83, 0.85. */
static const uint32_t colours[24][3] = {
	{ 0xf0aabf, 0xf6b1c5, 0xfdb7cb }, { 0xf3abaf, 0xfab1b6, 0xffb7bc },
	{ 0xf3ada1, 0xfab3a7, 0xffb9ad }, { 0xf0b093, 0xf7b69a, 0xfebda0 },
	{ 0xeab489, 0xf1bb8f, 0xf8c195 }, { 0xe1b982, 0xe8c089, 0xefc68f },
	{ 0xd6bf80, 0xddc587, 0xe3cc8d }, { 0xc9c483, 0xcfcb8a, 0xd6d190 },
	{ 0xbaca8b, 0xc0d091, 0xc6d797 }, { 0xa9ce96, 0xb0d49d, 0xb6dba3 },
	{ 0x9ad1a4, 0xa0d7aa, 0xa6deb1 }, { 0x8bd3b3, 0x92d9ba, 0x98e0c0 },
	{ 0x80d3c3, 0x87dac9, 0x8de0d0 }, { 0x7bd2d2, 0x81d9d8, 0x88e0df },
	{ 0x7bd0df, 0x82d7e6, 0x88ddec }, { 0x82cdea, 0x89d4f1, 0x8fdaf8 },
	{ 0x8ec9f3, 0x94cff9, 0x9ad6ff }, { 0x9cc4f8, 0xa2cafe, 0xa9d1ff },
	{ 0xabbff9, 0xb2c5ff, 0xb8ccff }, { 0xbbbaf6, 0xc1c0fd, 0xc7c7ff },
	{ 0xc9b5f0, 0xcfbbf7, 0xd6c2fe }, { 0xd6b1e7, 0xdcb7ee, 0xe3bdf4 },
	{ 0xe1addb, 0xe8b4e2, 0xeebae8 }, { 0xeaabcd, 0xf0b1d4, 0xf7b8db },
};
#define GREY 0xd4d8de	/* lightness 0.88, chroma 0.01, hue 260 */

static uint32_t colour_of(const struct svg *s, const struct svg_box *box)
{
	const struct profile_tables *t = stacks_tables(s->a->stacks);
	const struct frame *f = box->kind == SVG_FRAME ? &t->frames[box->what] : NULL;

	if (!f || !frame_has_file(f->kind, &t->strings[f->file]))
		return GREY;
	return colours[hash_of(t->strings[f->file]) % 24][hash_of(t->strings[f->func]) % 3];
}

/* ---- boxes ---- */

static void put_name(const struct svg *s, const struct svg_box *box)
{
	const struct profile_tables *t = stacks_tables(s->a->stacks);
	const struct stack_process *p;
	char id[32];

	switch (box->kind) {
	case SVG_ALL:
		writer_text(s->w, "all");
		break;
	case SVG_PROCESS:
		p = stacks_process(s->a->stacks, box->what);
		writer_text(s->w, sink_meta_kind(&p->meta));
		writer_char(s->w, ' ');
		put_text(s->w, string_of(*p->name ? p->name : "0"), NAME_BYTES);
		break;
	case SVG_THREAD:
		snprintf(id, sizeof(id), "thread %" PRIu64,
			 stacks_group(s->a->stacks, box->what)->thread_id);
		writer_text(s->w, id);
		break;
	case SVG_FRAME:
		put_text(s->w, t->strings[t->frames[box->what].func], NAME_BYTES);
	}
}

/* " (/app/file.py:12)", if the box is a frame that has a file; or only the path's end. */
static void put_file(const struct svg *s, const struct svg_box *box, bool whole)
{
	const struct profile_tables *t = stacks_tables(s->a->stacks);
	const struct frame *f = box->kind == SVG_FRAME ? &t->frames[box->what] : NULL;
	uint32_t line = f ? stacks_line(s->a->stacks, box->what) : 0;

	if (!f || !frame_has_file(f->kind, &t->strings[f->file]))
		return;
	writer_text(s->w, " (");
	put_text(s->w, whole ? t->strings[f->file] : path_base(t->strings[f->file]), FILE_BYTES);
	if (line) {
		writer_char(s->w, ':');
		writer_uint(s->w, line);
	}
	writer_char(s->w, ')');
}

static void put_box(const struct svg *s, const struct svg_box *box)
{
	uint64_t left = place_of(s, box->start);
	uint64_t width = place_of(s, box->start + box->weight) - left;
	char text[160];

	writer_text(s->w, "<svg class=\"f\" x=\"");
	put_percent(s->w, left);
	writer_text(s->w, "\" width=\"");
	put_percent(s->w, width);
	snprintf(text, sizeof(text), "\" y=\"%u\" height=\"%u\"><title>",
		 TOP_PX + box->row * ROW_PX, ROW_PX);
	writer_text(s->w, text);
	put_name(s, box);
	put_file(s, box, true);
	writer_char(s->w, '\n');
	put_weight(s, box->weight);
	snprintf(text, sizeof(text), ", %.2f %%</title><rect width=\"100%%\" height=\"100%%\" "
		 "fill=\"#%06x\"/><text x=\"3\" y=\"12\"%s>",
		 100.0 * (double)box->weight / (double)s->boxes.total, colour_of(s, box),
		 width * NOMINAL_PX < TEXT_PX * WHOLE ? " display=\"none\"" : "");
	writer_text(s->w, text);
	put_name(s, box);
	put_file(s, box, false);
	writer_text(s->w, "</text></svg>\n");
}

/* ---- the picture ---- */

/* "2,574 samples; not drawn: 12 frames narrower than 0.01 %" */
static void put_facts(const struct svg *s)
{
	const struct svg_boxes *b = &s->boxes;

	if (!b->total)
		writer_text(s->w, "no samples");
	else
		put_weight(s, b->total);
	if (!b->narrow)
		return;
	writer_text(s->w, "; not drawn: ");
	put_count(s->w, b->narrow);
	writer_text(s->w, b->narrow == 1 ? " frame" : " frames");
	writer_text(s->w, " narrower than 0.01 %");
}

static void put_head(const struct svg *s)
{
	const char *title = s->a->args.title ? s->a->args.title : "Flame graph";
	char text[160];

	writer_text(s->w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" ");
	snprintf(text, sizeof(text), "height=\"%u\" font-family=\"Verdana, 'DejaVu Sans', "
		 "sans-serif\" font-size=\"11\" fill=\"#1d2530\">\n",
		 TOP_PX + (s->boxes.rows ? s->boxes.rows : 1) * ROW_PX + ROW_PX);
	writer_text(s->w, text);
	writer_text(s->w, "<!-- tachbpf " TACHBPF_VERSION " -->\n<style>"
		".f rect { stroke: #fff; stroke-width: .6 } .f { cursor: pointer } "
		".f:hover rect { stroke: #1d2530 } .f text { pointer-events: none } "
		".above { opacity: .6 } .hit rect { fill: #f7c948 } "
		".button { cursor: pointer; fill: #2b62c9 }</style>\n"
		"<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
		"<text x=\"8\" y=\"20\" font-size=\"14\" font-weight=\"600\">");
	put_text(s->w, string_of(title), NAME_BYTES);
	writer_text(s->w, "</text>\n<text class=\"status\" x=\"8\" y=\"42\">");
	put_facts(s);
	writer_text(s->w, "</text>\n<g text-anchor=\"end\">"
		"<text class=\"matched\" x=\"100%\" dx=\"-8\" y=\"42\"></text>"
		"<text class=\"button reset\" x=\"100%\" dx=\"-120\" y=\"20\" display=\"none\">"
		"Reset zoom</text>"
		"<text class=\"button search\" x=\"100%\" dx=\"-8\" y=\"20\" display=\"none\">"
		"Search (Ctrl-F)</text></g>\n");
}

static int svg_write(struct aggregate *a)
{
	struct svg s = { .a = a, .w = writer_new(a->args.fd, a->args.max_bytes) };
	int err = s.w ? 0 : -ENOMEM;
	size_t i;

	if (!err)
		err = svg_boxes_make(&s.boxes, a->stacks, a->args.many, a->config.by_thread);
	if (!err) {
		put_head(&s);
		for (i = 0; i < s.boxes.cnt; i++)
			put_box(&s, &s.boxes.list[i]);
		writer_text(s.w, "<script><![CDATA[\n");
		writer_text(s.w, svg_script);
		writer_text(s.w, "]]></script>\n</svg>\n");
		err = writer_flush(s.w);
	}
	svg_boxes_free(&s.boxes);
	free(s.w);
	return err;
}

static const struct aggregate_format svg_format = {
	.ops = &sink_svg,
	.apart = DETAIL_LINE,
	.one_unit = true,
	.write = svg_write,
};

static struct sink *svg_open(const struct sink_args *args)
{
	return aggregate_open(&svg_format, args);
}

const struct sink_ops sink_svg = {
	.name = "svg",
	.help = "interactive flame graph, as one SVG picture",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.open = svg_open,
	AGGREGATE_CALLS,
	.suffix = ".svg",
};
