// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pstats.c - writes statistics that Python's `pstats` module loads: a marshalled dict {(file, line,
 * function): (cc, nc, tt, ct, callers)}.
 *
 * The numbers are those of CPython 3.15's `profiling.sampling replay --pstats`
 * (Lib/profiling/sampling/pstats_collector.py): cc is the number of samples in which the function
 * was innermost, nc of those in which it was anywhere; tt and ct are the same, multiplied by the
 * interval in seconds. Two things are cProfile's, so that pstats of every Python and the tools
 * around it read the file: callers are (nc, cc, tt, ct), not nc alone; and the key
 * ("__sampled__",), on which Pythons before 3.15 fail, is left out.
 *
 * The encoding is that of CPython's Python/marshal.c. Objects are written once and then referred to
 * (FLAG_REF, since marshal version 3, that is Python 3.4).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/pairs.h"
#include "formats/formats.h"
#include "model/aggregate.h"
#include "base/writer.h"

/* Python/marshal.c: TYPE_* and FLAG_REF. */
#define M_DICT '{'
#define M_END '0'
#define M_TUPLE '('
#define M_UNICODE 'u'
#define M_INT 'i'
#define M_LONG 'l'
#define M_FLOAT 'g'
#define M_REF 'r'
#define M_FLAG_REF 0x80
#define M_DIGIT_BITS 15

struct counts {
	uint64_t cc, nc;
	double tt, ct;		/* seconds */
	uint32_t seen;		/* number of the last stack counted here, + 1 */
};

struct pstats {
	struct aggregate *a;
	const struct profile_tables *t;
	struct writer *w;
	struct counts *funcs;		/* by label */
	struct pairs edge_ids;		/* pairs of labels: callee, caller */
	struct buf edges;		/* struct counts, by the edge's id */
	uint32_t *order;		/* the edges' ids, sorted by callee */
	uint32_t *refs;			/* by label: number of its tuple's reference + 1 */
	uint32_t *string_refs;		/* by string: number of its reference + 1 */
	uint32_t ref_cnt;
};

static void put_u32(struct writer *w, uint32_t v)
{
	const uint8_t bytes[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
				   (uint8_t)(v >> 24) };

	writer_put(w, bytes, sizeof(bytes));
}

static void put_int(struct writer *w, uint64_t v)
{
	uint32_t digits = 0;
	uint64_t rest;

	if (v <= INT32_MAX) {
		writer_char(w, M_INT);
		put_u32(w, (uint32_t)v);
		return;
	}
	for (rest = v; rest; rest >>= M_DIGIT_BITS)
		digits++;
	writer_char(w, M_LONG);
	put_u32(w, digits);
	for (; v; v >>= M_DIGIT_BITS) {
		uint8_t bytes[2] = { (uint8_t)v, (v >> 8) & 0x7f };

		writer_put(w, bytes, sizeof(bytes));
	}
}

static void put_float(struct writer *w, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	writer_char(w, M_FLOAT);
	put_u32(w, (uint32_t)bits);
	put_u32(w, (uint32_t)(bits >> 32));
}

/*
 * Writes a reference if the object was written before. Otherwise the object must follow, and gets
 * the next number.
 */
static bool put_ref(struct pstats *p, uint32_t *ref, char type)
{
	if (*ref) {
		writer_char(p->w, M_REF);
		put_u32(p->w, *ref - 1);
		return true;
	}
	*ref = ++p->ref_cnt;
	writer_char(p->w, (char)(type | M_FLAG_REF));
	return false;
}

static int put_unicode(struct pstats *p, uint32_t string)
{
	struct string_ref s = p->t->strings[string];
	size_t room = (size_t)s.len * 4 + 1, len;
	char *text;

	if (put_ref(p, &p->string_refs[string], M_UNICODE))
		return 0;
	/* pstats prints names unchanged, even to terminals. */
	text = malloc(room);
	if (!text)
		return -ENOMEM;
	escape_text(s.data, s.len, text, room);
	len = strlen(text);
	put_u32(p->w, (uint32_t)len);
	writer_put(p->w, text, len);
	free(text);
	return 0;
}

/* Writes (file, line, function). */
static int put_label(struct pstats *p, uint32_t label)
{
	const struct frame *f = &p->t->frames[label];
	int err;

	if (put_ref(p, &p->refs[label], M_TUPLE))
		return 0;
	put_u32(p->w, 3);
	err = put_unicode(p, f->file);
	put_int(p->w, stacks_line(p->a->stacks, label));
	return err ? err : put_unicode(p, f->func);
}

/* The time in seconds that a stack's weight represents. */
static double stack_seconds(const struct aggregate *a, const struct stack_view *v)
{
	const struct stack_group *g = stacks_group(a->stacks, v->group);
	const struct profile_meta *meta = &stacks_process(a->stacks, g->process)->meta;

	if (meta->unit == UNIT_NANOSECONDS)
		return (double)v->weight / 1e9;
	return (double)v->weight * ((double)meta->interval_us / 1e6);
}

/*
 * Adds to c, the counts of a function or of an edge. leaf: the function, or the edge's callee, is
 * innermost.
 */
static void add_counts(struct counts *c, uint32_t stack, const struct stack_view *v, double time,
		       bool leaf, bool repeats)
{
	if (leaf) {
		c->cc = add_capped(c->cc, v->weight);
		c->tt += time;
	}
	if (repeats || c->seen != stack + 1)
		c->nc = add_capped(c->nc, v->weight);
	if (c->seen != stack + 1)
		c->ct += time;
	c->seen = stack + 1;
}

static int count_edge(struct pstats *p, uint32_t stack, const struct stack_view *v, uint32_t i,
		      double time)
{
	const struct pair e = { v->labels[i], v->labels[i + 1] };
	struct counts none = { 0 };
	uint32_t id;
	int err = pairs_add(&p->edge_ids, e, &id);

	if (!err && (size_t)id * sizeof(none) == p->edges.len)
		err = buf_add(&p->edges, &none, sizeof(none));
	if (err)
		return err;
	/* An edge is counted as often as the stack has it, and its time once. */
	add_counts((struct counts *)(void *)p->edges.data + id, stack, v, time, i == 0, true);
	return 0;
}

static int count_stacks(struct pstats *p)
{
	uint32_t i, k, cnt = stacks_cnt(p->a->stacks);
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		struct stack_view v = stacks_get(p->a->stacks, i);
		double time = stack_seconds(p->a, &v);

		for (k = 0; !err && k < v.n; k++) {
			add_counts(&p->funcs[v.labels[k]], i, &v, time, k == 0, false);
			if (k + 1 < v.n)
				err = count_edge(p, i, &v, k, time);
		}
	}
	return err;
}

/* Sets order: the edges of each callee together, in order of first occurrence (a counting sort). */
static int sort_edges(struct pstats *p, uint32_t *starts)
{
	uint32_t i, cnt = p->edge_ids.cnt;

	p->order = calloc((size_t)cnt + 1, sizeof(*p->order));
	if (!p->order)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		starts[p->edge_ids.list[i].a + 1]++;
	for (i = 0; i < p->t->frame_cnt; i++)
		starts[i + 1] += starts[i];
	for (i = 0; i < cnt; i++)
		p->order[starts[p->edge_ids.list[i].a]++] = i;
	return 0;
}

static int put_callers(struct pstats *p, uint32_t first, uint32_t end)
{
	const struct counts *edges = (const struct counts *)(const void *)p->edges.data;
	int err = 0;

	writer_char(p->w, M_DICT);
	for (; !err && first < end; first++) {
		const struct counts *c = &edges[p->order[first]];

		err = put_label(p, p->edge_ids.list[p->order[first]].b);
		writer_char(p->w, M_TUPLE);
		put_u32(p->w, 4);
		put_int(p->w, c->nc);
		put_int(p->w, c->cc);
		put_float(p->w, c->tt);
		put_float(p->w, c->ct);
	}
	writer_char(p->w, M_END);
	return err;
}

/* starts: as sort_edges() leaves it, where the next callee's edges begin. */
static int put_functions(struct pstats *p, const uint32_t *starts)
{
	uint32_t i;
	int err = 0;

	writer_char(p->w, M_DICT);
	for (i = 0; !err && i < p->t->frame_cnt; i++) {
		const struct counts *c = &p->funcs[i];

		err = put_label(p, i);
		writer_char(p->w, M_TUPLE);
		put_u32(p->w, 5);
		put_int(p->w, c->cc);
		put_int(p->w, c->nc);
		put_float(p->w, c->tt);
		put_float(p->w, c->ct);
		if (!err)
			err = put_callers(p, i ? starts[i - 1] : 0, starts[i]);
	}
	writer_char(p->w, M_END);
	return err;
}

static int pstats_write(struct aggregate *a)
{
	struct pstats p = { .a = a, .t = stacks_tables(a->stacks) };
	size_t labels = (size_t)p.t->frame_cnt + 1;
	uint32_t *starts = calloc(labels + 1, sizeof(*starts));
	int err = -ENOMEM;

	p.w = writer_new(a->args.fd, a->args.max_bytes);
	p.funcs = calloc(labels, sizeof(*p.funcs));
	p.refs = calloc(labels, sizeof(*p.refs));
	p.string_refs = calloc((size_t)p.t->string_cnt + 1, sizeof(*p.string_refs));
	if (!starts || !p.w || !p.funcs || !p.refs || !p.string_refs)
		goto out;
	err = count_stacks(&p);
	if (!err)
		err = sort_edges(&p, starts);
	if (!err)
		err = put_functions(&p, starts);
	if (!err)
		err = writer_flush(p.w);
out:
	pairs_free(&p.edge_ids);
	buf_free(&p.edges);
	free(p.order);
	free(p.string_refs);
	free(p.refs);
	free(p.funcs);
	free(p.w);
	free(starts);
	return err;
}

static const struct aggregate_format pstats_format = {
	.ops = &sink_pstats, .write = pstats_write, .apart = DETAIL_LINE, .lines = true,
};

static struct sink *pstats_open(const struct sink_args *args)
{
	return aggregate_open(&pstats_format, args);
}

const struct sink_ops sink_pstats = {
	.name = "pstats",
	.help = "for any version of Python's pstats module, and tools for cProfile's files",
	.takes = SINK_TAKES_LINES,
	.binary = true,
	.open = pstats_open,
	AGGREGATE_CALLS,
	.suffix = ".pstats",
	.no_bytes = "its columns are counts and seconds; pprof and speedscope have bytes",
};
