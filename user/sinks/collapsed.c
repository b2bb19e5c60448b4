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
#include "sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "util.h"

/* CPython: _INTERNAL_FRAME_SUFFIXES in Lib/profiling/sampling/constants.py. */
#define INTERNAL_SUFFIX "_sync_coordinator.py"

#define WRITE_BYTES (64 * 1024)

enum label_state { LABEL_NEW, LABEL_SHOWN, LABEL_HIDDEN };

/* What a frame id is in the output: frames that differ in columns only are one. */
struct label {
	uint32_t id;
	uint8_t state;
};

/* A stack as the key that it is counted under. */
struct stack_key {
	uint64_t thread_id;
	uint32_t labels[EVENT_MAX_FRAMES];	/* innermost first */
};

struct line {
	const char *text;
	size_t len;
	uint64_t cnt;
};

struct collapsed_sink {
	struct sink sink;
	int err;
	int fd;
	bool many;
	bool active, begun;
	uint32_t tgid;
	char comm[128];
	const struct profile_tables *tables;
	struct intern *stacks;	/* the frames: labels; the strings: struct stack_key */
	struct label *labels;	/* by frame id */
	uint32_t label_cap;
	struct buf counts;	/* u64, by the id of the stack */
};

static struct collapsed_sink *to_collapsed(struct sink *s)
{
	return (struct collapsed_sink *)s;
}

static struct sink *collapsed_open(const struct sink_args *args)
{
	struct collapsed_sink *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sink.ops = &sink_collapsed;
	c->fd = args->fd;
	c->many = args->many;
	return &c->sink;
}

/* ";" separates frames, so no part of one may hold it. */
static void hide_semicolons(char *s)
{
	for (; (s = strchr(s, ';')); s++)
		*s = ':';
}

static int collapsed_begin(struct sink *s, const struct profile_meta *meta,
			   const struct profile_tables *tables)
{
	struct collapsed_sink *c = to_collapsed(s);

	if (c->err)
		return c->err;
	if (c->active || (c->begun && !c->many))
		return -EINVAL;
	c->stacks = intern_new();
	if (!c->stacks)
		return c->err = -ENOMEM;
	c->active = c->begun = true;
	c->tables = tables;
	c->tgid = meta->tgid;
	c->comm[0] = '\0';
	if (meta->comm)
		escape_text(meta->comm, strlen(meta->comm), c->comm, sizeof(c->comm));
	hide_semicolons(c->comm);
	return 0;
}

static bool is_internal(const struct string_ref *file)
{
	size_t len = strlen(INTERNAL_SUFFIX);

	return file->len >= len && !memcmp(file->data + file->len - len, INTERNAL_SUFFIX, len);
}

/* Make sure that every frame id so far has room in labels. */
static int grow_labels(struct collapsed_sink *c)
{
	uint32_t cap = c->tables->frame_cnt;
	struct label *labels;

	if (cap < UINT32_MAX / 2 && cap < c->label_cap * 2)
		cap = c->label_cap * 2;
	labels = realloc(c->labels, cap * sizeof(*labels));
	if (!labels)
		return -ENOMEM;
	memset(labels + c->label_cap, 0, (cap - c->label_cap) * sizeof(*labels));
	c->labels = labels;
	c->label_cap = cap;
	return 0;
}

static int make_label(struct collapsed_sink *c, uint32_t frame)
{
	const struct frame *f = &c->tables->frames[frame];
	struct frame key = { .file = f->file, .func = f->func, .line = f->line };
	struct label *l = &c->labels[frame];

	/* No line is line 0 there. */
	if (key.line == LINE_NONE)
		key.line = 0;
	if (is_internal(&c->tables->strings[f->file])) {
		l->state = LABEL_HIDDEN;
		return 0;
	}
	l->state = LABEL_SHOWN;
	return intern_frame(c->stacks, &key, &l->id);
}

static int count_event(struct collapsed_sink *c, const struct event *ev)
{
	struct stack_key key;
	uint32_t i, id, cnt = 0, known = intern_tables(c->stacks)->string_cnt;
	int err;

	key.thread_id = ev->thread_id;
	for (i = 0; i < ev->nframes; i++) {
		uint32_t frame = ev->frames[i];

		if (frame >= c->tables->frame_cnt)
			return -EINVAL;
		if (frame >= c->label_cap && grow_labels(c))
			return -ENOMEM;
		if (c->labels[frame].state == LABEL_NEW) {
			err = make_label(c, frame);
			if (err)
				return err;
		}
		if (c->labels[frame].state == LABEL_SHOWN)
			key.labels[cnt++] = c->labels[frame].id;
	}
	if (!cnt)
		return 0;
	err = intern_string(c->stacks, (const char *)&key,
			    offsetof(struct stack_key, labels) + cnt * sizeof(key.labels[0]), &id);
	if (err)
		return err;
	if (id == known)
		return buf_add(&c->counts, &ev->weight, sizeof(ev->weight));
	((uint64_t *)(void *)c->counts.data)[id] += ev->weight;
	return 0;
}

static int collapsed_event(struct sink *s, const struct event *ev)
{
	struct collapsed_sink *c = to_collapsed(s);

	if (c->err)
		return c->err;
	if (!c->active)
		return -EINVAL;
	if (ev->nframes > EVENT_MAX_FRAMES)
		return c->err = -EINVAL;
	return c->err = count_event(c, ev);
}

/* Append a name; ordinary ones as they are. */
static int add_name(struct buf *b, const char *s, size_t len)
{
	/* escape_text(): at most four bytes for one, and the NUL. */
	size_t room = len * 4 + 1;
	char *p;

	if (buf_reserve(b, room))
		return -ENOMEM;
	p = escape_text(s, len, (char *)b->data + b->len, room);
	hide_semicolons(p);
	b->len += strlen(p);
	return 0;
}

static int add_label(struct buf *b, const struct profile_tables *tables, const struct frame *label)
{
	const struct string_ref *file = &tables->strings[label->file];
	const struct string_ref *func = &tables->strings[label->func];
	const char *base = file->len ? memrchr(file->data, '/', file->len) : NULL;
	char line[16];
	int err;

	if (!label->line && file->len == 1 && file->data[0] == SYNTHETIC_FILE[0])
		return add_name(b, func->data, func->len);
	base = base ? base + 1 : file->data;
	err = add_name(b, base, file->data + file->len - base);
	if (!err)
		err = buf_add(b, ":", 1);
	if (!err)
		err = add_name(b, func->data, func->len);
	if (!err)
		err = buf_add(b, line, snprintf(line, sizeof(line), ":%d", label->line));
	return err;
}

/* The text of a line without its count. */
static int add_stack(struct collapsed_sink *c, struct buf *b, const struct string_ref *stack)
{
	const struct frame *labels = intern_tables(c->stacks)->frames;
	struct stack_key key;
	char head[192];
	size_t i;
	int err = 0, n;

	memcpy(&key, stack->data, stack->len);
	i = (stack->len - offsetof(struct stack_key, labels)) / sizeof(key.labels[0]);
	if (c->many) {
		n = snprintf(head, sizeof(head), "process:%u%s%s;", c->tgid,
			     c->comm[0] ? " " : "", c->comm);
		err = buf_add(b, head, n);
	}
	n = snprintf(head, sizeof(head), "tid:%llu", (unsigned long long)key.thread_id);
	if (!err)
		err = buf_add(b, head, n);
	while (!err && i--) {
		err = buf_add(b, ";", 1);
		if (!err)
			err = add_label(b, c->tables, &labels[key.labels[i]]);
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

static int write_lines(struct collapsed_sink *c, const struct line *lines, uint32_t cnt)
{
	struct buf out = { 0 };
	char tail[32];
	uint32_t i;
	int n, err = 0;

	for (i = 0; !err && i < cnt; i++) {
		n = snprintf(tail, sizeof(tail), " %llu\n", (unsigned long long)lines[i].cnt);
		err = buf_add(&out, lines[i].text, lines[i].len);
		if (!err)
			err = buf_add(&out, tail, n);
		if (!err && out.len >= WRITE_BYTES) {
			err = write_all(c->fd, out.data, out.len);
			out.len = 0;
		}
	}
	if (!err)
		err = write_all(c->fd, out.data, out.len);
	buf_free(&out);
	return err;
}

static int write_profile(struct collapsed_sink *c)
{
	const struct profile_tables *stacks = intern_tables(c->stacks);
	const uint64_t *counts = (const uint64_t *)(const void *)c->counts.data;
	struct line *lines = calloc((size_t)stacks->string_cnt + 1, sizeof(*lines));
	struct buf text = { 0 };
	size_t at = 0;
	uint32_t i;
	int err = lines ? 0 : -ENOMEM;

	for (i = 0; !err && i < stacks->string_cnt; i++) {
		at = text.len;
		err = add_stack(c, &text, &stacks->strings[i]);
		if (!err)
			lines[i] = (struct line){ .len = text.len - at, .cnt = counts[i] };
	}
	if (err)
		goto out;
	/* Only now does the text stay where it is. */
	for (i = 0, at = 0; i < stacks->string_cnt; at += lines[i++].len)
		lines[i].text = (const char *)text.data + at;
	qsort(lines, stacks->string_cnt, sizeof(*lines), compare_lines);
	err = write_lines(c, lines, stacks->string_cnt);
out:
	buf_free(&text);
	free(lines);
	return err;
}

static void reset(struct collapsed_sink *c)
{
	intern_free(c->stacks);
	free(c->labels);
	buf_free(&c->counts);
	c->stacks = NULL;
	c->labels = NULL;
	c->label_cap = 0;
	c->active = false;
}

static int collapsed_end(struct sink *s, const struct profile_stats *stats)
{
	struct collapsed_sink *c = to_collapsed(s);

	if (c->err)
		return c->err;
	if (!c->active)
		return -EINVAL;
	c->err = write_profile(c);
	reset(c);
	return c->err;
}

static int collapsed_close(struct sink *s)
{
	struct collapsed_sink *c = to_collapsed(s);
	int err = c->err;

	reset(c);
	free(c);
	return err;
}

const struct sink_ops sink_collapsed = {
	.name = "collapsed",
	.help = "folded stacks with counts, for flame graph tools",
	.open = collapsed_open,
	.begin = collapsed_begin,
	.event = collapsed_event,
	.end = collapsed_end,
	.close = collapsed_close,
};
