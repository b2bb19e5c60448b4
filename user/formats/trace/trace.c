// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace.c - the sink that both formats of traces are. See trace.h. */
#include "formats/trace/trace.h"

#include <errno.h>
#include <stdlib.h>

static struct trace *to_trace(struct sink *s)
{
	return (struct trace *)s;
}

void trace_fail(struct trace *t, int err)
{
	if (!t->err)
		t->err = err;
}

struct sink *trace_open(const struct sink_args *args, const struct trace_ops *ops, void *own)
{
	const struct stacks_config config = { .detail = DETAIL_FUNCTION };
	struct trace *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sink.ops = ops->sink;
	t->args = *args;
	t->ops = ops;
	t->stacks = stacks_new(&config);
	t->w = writer_new(args->fd, args->max_bytes);
	if (!t->stacks || !t->w) {
		stacks_free(t->stacks);
		free(t->w);
		free(t);
		errno = ENOMEM;
		return NULL;
	}
	t->own = own;
	return &t->sink;
}

static int note_errors(struct trace *t)
{
	trace_fail(t, t->w->err);
	return t->err;
}

int trace_begin(struct sink *s, const struct profile_meta *meta,
		const struct profile_tables *tables)
{
	struct trace *t = to_trace(s);

	if (t->err)
		return t->err;
	if (t->process || (t->begun && !t->args.many))
		return -EINVAL;
	trace_fail(t, sink_check_unit(t->sink.ops, meta->unit));
	if (t->err)
		return t->err;
	if (!t->begun)
		t->ops->head(t);
	t->begun = true;
	trace_fail(t, stacks_begin(t->stacks, meta, tables));
	if (t->err)
		return t->err;
	t->process = trace_process_new(t, meta);
	if (!t->process)
		trace_fail(t, -ENOMEM);
	t->process_cnt++;
	return note_errors(t);
}

/* Checks the size, too. */
static int note_more(struct trace *t)
{
	if (!t->err)
		trace_fail(t, sink_check_size(t->sink.ops, t->args.max_bytes, t->bytes));
	return note_errors(t);
}

int trace_region(struct sink *s, const struct profile_region *region)
{
	struct trace *t = to_trace(s);

	if (t->err)
		return t->err;
	if (!t->process)
		return -EINVAL;
	trace_fail(t, trace_process_region(t, region));
	return note_more(t);
}

int trace_event(struct sink *s, const struct event *ev)
{
	struct trace *t = to_trace(s);
	uint32_t id;

	if (t->err)
		return t->err;
	if (!t->process)
		return -EINVAL;
	trace_fail(t, stacks_add(t->stacks, ev, &id));
	if (!t->err)
		trace_fail(t, trace_process_event(t, ev, id));
	return note_more(t);
}

int trace_end(struct sink *s, const struct profile_stats *stats)
{
	struct trace *t = to_trace(s);

	if (t->err)
		return t->err;
	if (!t->process)
		return -EINVAL;
	trace_fail(t, trace_process_end(t, stats));
	stacks_end(t->stacks);
	trace_process_free(t->process);
	t->process = NULL;
	return note_errors(t);
}

int trace_close(struct sink *s)
{
	struct trace *t = to_trace(s);
	int err;

	if (!t->err && !t->process) {
		if (!t->begun)
			t->ops->head(t);
		t->ops->tail(t);
		note_errors(t);
		trace_fail(t, writer_flush(t->w));
	}
	err = t->err;
	trace_process_free(t->process);
	t->ops->free(t);
	gc_stacks_free(&t->gc);
	stacks_free(t->stacks);
	free(t->w);
	free(t);
	return err;
}
