// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace_lanes.c - the open slices of each lane, and the texts of functions. See trace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/trace/trace.h"
#include "model/native_frame.h"

/* Takes ownership of name; what is its end. */
static int start(struct trace *t, struct trace_lane *lane, char *name, size_t what_bytes)
{
	lane->id = ++t->lane_cnt;
	lane->name = name;
	if (!name)
		return -ENOMEM;
	lane->what = name + strlen(name) - what_bytes;
	t->ops->lane(t, lane);
	return 0;
}

int trace_lane_start(struct trace *t, struct trace_lane *lane, const char *name)
{
	char *copy = strdup(name);

	return start(t, lane, copy, copy ? strlen(copy) : 0);
}

int trace_lane_below(struct trace *t, struct trace_lane *lane, enum trace_lane_kind kind,
		     const struct trace_lane *thread, const char *what)
{
	char *name;

	lane->kind = kind;
	lane->parent = thread->id;
	lane->pid = thread->pid;
	lane->tid = TRACE_MADE_UP_TID + (int64_t)t->lane_cnt + 1;
	if (kind == LANE_TASK)
		return trace_lane_start(t, lane, what);
	if (asprintf(&name, "%s: %s", thread->name, what) < 0)
		return -ENOMEM;
	return start(t, lane, name, strlen(what));
}

static bool same_name(const struct trace_name *a, const struct trace_name *b)
{
	return a->label == b->label && a->text == b->text;
}

static int begin_slice(struct trace *t, struct trace_lane *lane, uint64_t now_ns,
		       const struct trace_name *name)
{
	int err = array_add(lane->open, lane->cnt, lane->cap,
			    (struct trace_slice){ .begin_ns = now_ns, .name = *name });

	if (err)
		return err;
	t->bytes += TRACE_SLICE_BYTES;
	t->ops->begin(t, lane);
	return 0;
}

int trace_lane_show(struct trace *t, struct trace_lane *lane, uint64_t now_ns,
		    const struct trace_name *names, size_t cnt)
{
	size_t same = 0;
	int err = 0;

	while (same < cnt && same < lane->cnt && same_name(&lane->open[same].name, &names[same]))
		same++;
	while (lane->cnt > same) {
		t->ops->end(t, lane, now_ns);
		lane->cnt--;
	}
	while (!err && same < cnt)
		err = begin_slice(t, lane, now_ns, &names[same++]);
	return err;
}

void trace_lane_free(struct trace_lane *lane)
{
	free(lane->name);
	free(lane->open);
}

/* ---- functions ---- */

char *trace_function(const struct trace *t, uint32_t label)
{
	const struct profile_tables *tables = stacks_tables(t->stacks);
	const struct string_ref *func = &tables->strings[tables->frames[label].func];

	return text_escape(func->data, func->len);
}

char *trace_file(const struct trace *t, uint32_t label)
{
	const struct profile_tables *tables = stacks_tables(t->stacks);
	const struct frame *f = &tables->frames[label];
	const struct string_ref *file = &tables->strings[f->file];

	return frame_has_file(f->kind, file) ? text_escape(file->data, file->len) : strdup("");
}
