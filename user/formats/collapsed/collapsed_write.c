// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * collapsed_write.c - writes folded stacks, one per line, for flame graph tools:
 * "tid:12;a.py:f:3;b.py:g:7 42", root first, most frequent first.
 *
 * The lines are those of CPython 3.15's `profiling.sampling replay --collapsed`
 * (Lib/profiling/sampling/stack_collector.py): basename of the file, name alone for pseudo-frames,
 * the profiler's own frames left out; stacks are the same if the full file names are. Only control
 * characters, invalid UTF-8 and ";" in names are written differently: escaped, because they would
 * break the lines.
 *
 * A line's text only exists while it is written; sorting compares the ranks of its words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/fold.h"
#include "formats/formats.h"
#include "model/aggregate.h"
#include "base/writer.h"

struct collapsed {
	struct aggregate *a;
	struct fold fold;
	struct buf heads;	/* the prefixes of all groups, */
	size_t *head_ends;	/* and the end of each group's */
	uint32_t *ranks;	/* by label: rank of its word among non-final words */
};

/* Adds what precedes the frames: "process:12 app @web;tid:13", either part, or nothing. */
static int add_head(struct collapsed *c, uint32_t group)
{
	const struct aggregate *a = c->a;
	const struct stack_group *g = stacks_group(a->stacks, group);
	const struct stack_process *p = stacks_process(a->stacks, g->process);
	bool process = a->args.many || (!a->config.by_thread && *p->name);
	char tid[40];
	int err = 0;

	if (process) {
		const char *kind = sink_meta_kind(&p->meta);

		err = buf_add(&c->heads, kind, strlen(kind));
		if (!err)
			err = buf_add(&c->heads, ":", 1);
		if (!err)
			err = fold_add(&c->heads, string_of(*p->name ? p->name : "0"));
	}
	if (!err && a->config.by_thread)
		err = buf_add(&c->heads, tid,
			      snprintf(tid, sizeof(tid), "%stid:%llu", process ? ";" : "",
				       (unsigned long long)g->thread_id));
	c->head_ends[group] = c->heads.len;
	return err;
}

static struct string_ref head_of(const struct collapsed *c, uint32_t group)
{
	size_t start = group ? c->head_ends[group - 1] : 0;

	return (struct string_ref){ (const char *)c->heads.data + start,
				    (uint32_t)(c->head_ends[group] - start) };
}

/* Compares the lines of two different words. more_a, more_b: another word follows. */
static int compare_words(struct string_ref a, struct string_ref b, bool more_a, bool more_b)
{
	uint32_t len = a.len < b.len ? a.len : b.len;
	int diff = len ? memcmp(a.data, b.data, len) : 0;
	int next_a, next_b;

	if (diff || a.len == b.len)
		return diff;
	/* After the shorter word comes ";", or the end of the stack. */
	next_a = a.len > len ? (unsigned char)a.data[len] : more_a ? ';' : -1;
	next_b = b.len > len ? (unsigned char)b.data[len] : more_b ? ';' : -1;
	return next_a - next_b;
}

static int compare_labels(const void *a, const void *b, void *ctx)
{
	const struct fold *fold = ctx;

	return compare_words(fold_word(fold, *(const uint32_t *)a),
			     fold_word(fold, *(const uint32_t *)b), true, true);
}

/* Ranks the labels' words; words with the same text have the same rank. */
static int rank_labels(struct collapsed *c)
{
	uint32_t i, cnt = stacks_tables(c->a->stacks)->frame_cnt;
	uint32_t *order = calloc((size_t)cnt + 1, sizeof(*order));

	c->ranks = calloc((size_t)cnt + 1, sizeof(*c->ranks));
	if (!order || !c->ranks) {
		free(order);
		return -ENOMEM;
	}
	for (i = 0; i < cnt; i++)
		order[i] = i;
	qsort_r(order, cnt, sizeof(*order), compare_labels, &c->fold);
	for (i = 1; i < cnt; i++) {
		bool same = !compare_labels(&order[i - 1], &order[i], &c->fold);

		c->ranks[order[i]] = same ? c->ranks[order[i - 1]] : i;
	}
	free(order);
	return 0;
}

/*
 * Most frequent first, then by text: UTF-8 sorts like its code points. Comparing word by word gives
 * the same result as comparing bytes, since no word contains a ";". If one word is a prefix of
 * another, what follows it decides.
 */
static int compare_lines(const void *a, const void *b, void *ctx)
{
	const struct collapsed *c = ctx;
	const struct stack_view *x = a, *y = b;
	uint32_t i = x->n, j = y->n;
	int diff;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->group != y->group) {
		diff = compare_words(head_of(c, x->group), head_of(c, y->group), true, true);
		if (diff)
			return diff;
	}
	while (i && j) {
		i--;
		j--;
		if (x->labels[i] == y->labels[j])
			continue;
		if (i && j) {
			if (c->ranks[x->labels[i]] == c->ranks[y->labels[j]])
				continue;
			return c->ranks[x->labels[i]] < c->ranks[y->labels[j]] ? -1 : 1;
		}
		diff = compare_words(fold_word(&c->fold, x->labels[i]),
				     fold_word(&c->fold, y->labels[j]), i, j);
		if (diff)
			return diff;
	}
	return i ? 1 : j ? -1 : 0;
}

static void put_line(const struct collapsed *c, struct writer *w, const struct stack_view *v)
{
	struct string_ref word = head_of(c, v->group);
	uint32_t i = v->n;
	bool first = !word.len;

	writer_put(w, word.data, word.len);
	while (i--) {
		if (!first)
			writer_char(w, ';');
		first = false;
		word = fold_word(&c->fold, v->labels[i]);
		writer_put(w, word.data, word.len);
	}
	writer_char(w, ' ');
	writer_uint(w, v->weight);
	writer_char(w, '\n');
}

static int write_lines(struct collapsed *c, struct stack_view *lines, struct writer *w)
{
	uint32_t i, cnt = 0, stack_cnt = stacks_cnt(c->a->stacks);

	for (i = 0; i < stack_cnt; i++) {
		lines[cnt] = stacks_get(c->a->stacks, i);
		cnt += lines[cnt].n != 0;
	}
	qsort_r(lines, cnt, sizeof(*lines), compare_lines, c);
	for (i = 0; i < cnt; i++)
		put_line(c, w, &lines[i]);
	return writer_flush(w);
}

static int collapsed_write(struct aggregate *a)
{
	uint32_t i, groups = stacks_group_cnt(a->stacks);
	struct collapsed c = { .a = a };
	struct stack_view *lines = calloc((size_t)stacks_cnt(a->stacks) + 1, sizeof(*lines));
	struct writer *w = writer_new(a->args.fd, a->args.max_bytes);
	int err = -ENOMEM;

	c.head_ends = calloc((size_t)groups + 1, sizeof(*c.head_ends));
	if (!lines || !w || !c.head_ends)
		goto out;
	err = fold_init(&c.fold, a->stacks, a->config.detail);
	if (!err)
		err = rank_labels(&c);
	for (i = 0; !err && i < groups; i++)
		err = add_head(&c, i);
	if (!err)
		err = write_lines(&c, lines, w);
out:
	fold_free(&c.fold);
	buf_free(&c.heads);
	free(c.head_ends);
	free(c.ranks);
	free(lines);
	free(w);
	return err;
}

static const struct aggregate_format collapsed_format = {
	.ops = &sink_collapsed,
	.apart = DETAIL_LINE,
	.lines = true,
	.by_thread = true,
	.each_process = true,
	.spelled = true,
	.frame_bytes = 4,
	.write = collapsed_write,
};

static struct sink *collapsed_open(const struct sink_args *args)
{
	return aggregate_open(&collapsed_format, args);
}

const struct sink_ops sink_collapsed = {
	.name = "collapsed",
	.help = "folded stacks with counts, for flame graph tools",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.open = collapsed_open,
	AGGREGATE_CALLS,
	.suffix = ".folded",
};
