// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * csv.c - writes one row for each distinct stack of a thread and status, in the long form that data
 * frames and SQL expect (RFC 4180, but lines end in LF):
 *
 *	process,comm,container,thread,status,unit,weight,stack
 *	12,app,13,gil+on-cpu,samples,42,"a.py:f:3;b.py:g:7"
 *
 * Stacks are as in collapsed, root first; empty without a Python frame. Within a thread, the
 * heaviest comes first. Characters that would break a row are escaped as \xNN, and so is a first
 * character that makes spreadsheets see a formula.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/fold.h"
#include "formats/formats.h"
#include "model/aggregate.h"
#include "model/profile_names.h"
#include "base/writer.h"

struct row {
	struct stack_view stack;
	uint32_t id;
};

/* Appends the stack's words to b. */
static int add_stack(struct buf *b, const struct fold *fold, const struct stack_view *v)
{
	uint32_t i = v->n;
	int err = 0;

	while (!err && i--) {
		struct string_ref word = fold_word(fold, v->labels[i]);

		err = buf_add(b, word.data, word.len);
		if (!err && i)
			err = buf_add(b, ";", 1);
	}
	return err;
}

/* Writes a field according to RFC 4180. */
static void put_field(struct writer *w, const char *s, size_t len)
{
	bool quote = memchr(s, '"', len) || memchr(s, ',', len) || memchr(s, ' ', len) ||
		     memchr(s, ';', len);
	const char *next;
	char head[8];

	if (quote)
		writer_char(w, '"');
	if (len && strchr("=+-@", s[0])) {
		snprintf(head, sizeof(head), "\\x%02x", (unsigned char)s[0]);
		writer_text(w, head);
		s++;
		len--;
	}
	/* A quote is written twice. */
	while ((next = memchr(s, '"', len))) {
		writer_put(w, s, next + 1 - s);
		writer_char(w, '"');
		len -= next + 1 - s;
		s = next + 1;
	}
	writer_put(w, s, len);
	if (quote)
		writer_char(w, '"');
}

/* Writes a name, escaped as in stacks. */
static int put_name(struct writer *w, const char *name)
{
	struct buf b = { 0 };
	int err = fold_add(&b, string_of(name ? name : ""));

	if (!err)
		put_field(w, (const char *)b.data, b.len);
	buf_free(&b);
	return err;
}

static int put_row(struct writer *w, const struct aggregate *a, const struct fold *fold,
		   const struct stack_view *v, struct buf *text)
{
	const struct stack_group *g = stacks_group(a->stacks, v->group);
	const struct profile_meta *meta = &stacks_process(a->stacks, g->process)->meta;
	char status[PROFILE_STATUS_BYTES];
	int err;

	if (meta->tgid)
		writer_uint(w, meta->tgid);
	writer_char(w, ',');
	err = put_name(w, meta->of_container ? NULL : meta->comm);
	writer_char(w, ',');
	if (!err)
		err = put_name(w, meta->of_container ? meta->comm : meta->container);
	writer_char(w, ',');
	if (a->config.by_thread)
		writer_uint(w, g->thread_id);
	writer_char(w, ',');
	writer_text(w, profile_status_text(v->status, status));
	writer_char(w, ',');
	writer_text(w, profile_unit_name(meta->unit));
	writer_char(w, ',');
	writer_uint(w, v->weight);
	writer_char(w, ',');
	text->len = 0;
	if (!err)
		err = add_stack(text, fold, v);
	if (!err && text->len)
		put_field(w, (const char *)text->data, text->len);
	writer_char(w, '\n');
	return err;
}

/* By thread, then by weight, the heaviest first, then by first occurrence. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->stack.group != y->stack.group)
		return x->stack.group < y->stack.group ? -1 : 1;
	if (x->stack.weight != y->stack.weight)
		return x->stack.weight > y->stack.weight ? -1 : 1;
	return x->id < y->id ? -1 : 1;
}

static int csv_write(struct aggregate *a)
{
	uint32_t i, cnt = stacks_cnt(a->stacks);
	struct row *rows = calloc((size_t)cnt + 1, sizeof(*rows));
	struct writer *w = writer_new(a->args.fd, a->args.max_bytes);
	struct buf text = { 0 };
	struct fold fold = { 0 };
	int err = -ENOMEM, write_err;

	if (rows && w)
		err = fold_init(&fold, a->stacks, a->config.detail);
	if (err)
		goto out;
	for (i = 0; i < cnt; i++)
		rows[i] = (struct row){ stacks_get(a->stacks, i), i };
	qsort(rows, cnt, sizeof(*rows), compare_rows);
	writer_text(w, "process,comm,container,thread,status,unit,weight,stack\n");
	for (i = 0; !err && i < cnt; i++)
		err = put_row(w, a, &fold, &rows[i].stack, &text);
	write_err = writer_flush(w);
	if (!err)
		err = write_err;
out:
	fold_free(&fold);
	buf_free(&text);
	free(w);
	free(rows);
	return err;
}

static const struct aggregate_format csv_format = {
	.ops = &sink_csv,
	.apart = DETAIL_LINE,
	.lines = true,
	.by_thread = true,
	.by_status = true,
	.spelled = true,
	.frame_bytes = 4,
	.write = csv_write,
};

static struct sink *csv_open(const struct sink_args *args)
{
	return aggregate_open(&csv_format, args);
}

const struct sink_ops sink_csv = {
	.name = "csv",
	.help = "a table: process, thread, status, weight, stack",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.open = csv_open,
	AGGREGATE_CALLS,
	.suffix = ".csv",
};
