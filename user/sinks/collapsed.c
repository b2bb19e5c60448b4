// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * collapsed.c - folded stacks, one line each, as flame graph tools read them:
 * "tid:12;a.py:f:3;b.py:g:7 42", root first, most frequent first.
 *
 * The lines are those of CPython 3.15's `profiling.sampling replay --collapsed`
 * (Lib/profiling/sampling/stack_collector.py): basename of the file, name alone
 * for synthetic frames, the profiler's own frames left out, stacks told apart by
 * the full file names. Only control characters, invalid UTF-8 and ";" in names
 * come out differently: escaped, because they would break the lines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate.h"
#include "writer.h"

struct line {
	const char *text;
	size_t len;
	uint64_t cnt;
};

/* ";" separates frames, so no part of one may hold it. */
static void hide_semicolons(char *s)
{
	for (; (s = strchr(s, ';')); s++)
		*s = ':';
}

/* Append a name; ordinary ones as they are. */
static int add_name(struct buf *b, struct string_ref s)
{
	/* escape_text(): at most four bytes for one, and the NUL. */
	size_t room = (size_t)s.len * 4 + 1;
	char *p;

	if (buf_reserve(b, room))
		return -ENOMEM;
	p = escape_text(s.data, s.len, (char *)b->data + b->len, room);
	hide_semicolons(p);
	b->len += strlen(p);
	return 0;
}

static int add_label(struct buf *b, const struct aggregate *a, uint32_t label)
{
	const struct profile_tables *t = stacks_tables(a->stacks);
	const struct frame *f = &t->frames[label];
	char line[16];
	int err;

	if (stacks_synthetic(t, f))
		return add_name(b, t->strings[f->func]);
	err = add_name(b, path_base(t->strings[f->file]));
	if (!err)
		err = buf_add(b, ":", 1);
	if (!err)
		err = add_name(b, t->strings[f->func]);
	if (!err && a->config.detail >= DETAIL_LINE)
		err = buf_add(b, line, snprintf(line, sizeof(line), ":%d", f->line));
	return err;
}

/* What comes before the frames: "process:12 app;tid:13", either or both. */
static int add_group(struct buf *b, const struct aggregate *a, uint32_t group)
{
	const struct stack_group *g = stacks_group(a->stacks, group);
	const struct stack_process *p = stacks_process(a->stacks, g->process);
	char head[256], tid[32] = "";
	int n;

	if (a->config.by_thread)
		snprintf(tid, sizeof(tid), "tid:%llu;", (unsigned long long)g->thread_id);
	if (a->args.many || (!a->config.by_thread && p->name[0]))
		n = snprintf(head, sizeof(head), "process:%s;", *p->name ? p->name : "0");
	else
		n = head[0] = 0;
	/* The one ";" that stays is the last. */
	if (n) {
		head[n - 1] = '\0';
		hide_semicolons(head);
		head[n - 1] = ';';
	}
	return buf_add(b, head, n) || buf_add(b, tid, strlen(tid)) ? -ENOMEM : 0;
}

/* The text of a line without its count. */
static int add_stack(struct buf *b, const struct aggregate *a, const struct stack_view *stack)
{
	uint32_t i = stack->n;
	int err = add_group(b, a, stack->group);

	while (!err && i--) {
		err = add_label(b, a, stack->labels[i]);
		if (!err && i)
			err = buf_add(b, ";", 1);
	}
	return err;
}

/* Most frequent first, then by text: UTF-8 sorts like the code points it stands for. */
static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int diff;

	if (x->cnt != y->cnt)
		return x->cnt > y->cnt ? -1 : 1;
	diff = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
	if (diff)
		return diff;
	return x->len < y->len ? -1 : x->len > y->len;
}

static int write_lines(int fd, const struct line *lines, uint32_t cnt)
{
	struct writer *w = writer_new(fd);
	uint32_t i;
	int err;

	if (!w)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		writer_put(w, lines[i].text, lines[i].len);
		writer_char(w, ' ');
		writer_uint(w, lines[i].cnt);
		writer_char(w, '\n');
	}
	err = writer_flush(w);
	free(w);
	return err;
}

static int collapsed_write(struct aggregate *a)
{
	uint32_t i, cnt = 0, stack_cnt = stacks_cnt(a->stacks);
	struct line *lines = calloc((size_t)stack_cnt + 1, sizeof(*lines));
	struct buf text = { 0 };
	struct stack_view v;
	size_t at = 0;
	int err = lines ? 0 : -ENOMEM;

	for (i = 0; !err && i < stack_cnt; i++) {
		v = stacks_get(a->stacks, i);
		if (!v.n)
			continue;
		at = text.len;
		err = add_stack(&text, a, &v);
		lines[cnt++] = (struct line){ .len = text.len - at, .cnt = v.weight };
	}
	if (err)
		goto out;
	/* Only now does the text stay where it is. */
	for (i = 0, at = 0; i < cnt; at += lines[i++].len)
		lines[i].text = (const char *)text.data + at;
	qsort(lines, cnt, sizeof(*lines), compare_lines);
	err = write_lines(a->args.fd, lines, cnt);
out:
	buf_free(&text);
	free(lines);
	return err;
}

static const struct aggregate_format collapsed_format = {
	.ops = &sink_collapsed,
	.apart = DETAIL_LINE,
	.lines = true,
	.by_thread = true,
	.each_process = true,
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
};
