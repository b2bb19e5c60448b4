// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_async.c - replaces the event loop's frames by the tasks that await a thread's asyncio
 * task (--async). See process_internal.h.
 *
 * The stack of a thread that runs a task has the task's coroutines and, outside them, the event
 * loop's frames, which are the same for all tasks. The BPF side has found the task's outermost
 * frame by its address, so the cut is exact for any loop. If the awaiters could not be walked to
 * their end, the stack is left unchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/record.h"
#include "base/util.h"
#include "cpython/code.h"
#include "resolve/process_internal.h"

/* ---- the record ---- */

int process_keep_async(struct process *p, const void *record, size_t len)
{
	const struct raw_async *raw = record;
	struct thread *t;

	if (!async_record_is_whole(raw, len))
		return -EBADMSG;
	t = process_thread(p, raw->tid, raw->interp_id);
	if (t && !t->async)
		t->async = calloc(1, sizeof(*t->async));
	if (!t || !t->async)
		return -ENOMEM;
	memcpy(&t->async->raw, raw,
	       offsetof(struct raw_async, frames) + raw->nframes * sizeof(raw->frames[0]));
	return 0;
}

/* ---- a task that nobody awaits ---- */

struct loop_function {
	const char *file, *func;	/* the end of the file's path; NULL: any function in it */
};

/* Returns true if the frame is of this function; func NULL: of any one in such a file. */
static bool is_frame(const struct process *p, uint32_t id, const char *file_end, const char *func)
{
	const struct profile_tables *tables = intern_tables(p->in);
	const struct frame *f = &tables->frames[id];
	const struct string_ref *file = &tables->strings[f->file];
	const struct string_ref *name = &tables->strings[f->func];
	size_t end = strlen(file_end);

	return file->len >= end && !memcmp(file->data + file->len - end, file_end, end) &&
	       (!func || (name->len == strlen(func) && !memcmp(name->data, func, name->len)));
}

/*
 * Returns true if the frame with this id runs tasks, judging by its place in the standard library.
 */
static bool is_loop(const struct process *p, uint32_t id)
{
	static const struct loop_function loop[] = {
		{ "/asyncio/events.py", "Handle._run" },
		{ "/asyncio/base_events.py", "BaseEventLoop._run_once" },
		{ "/asyncio/base_events.py", "BaseEventLoop.run_forever" },
		{ "/asyncio/base_events.py", "BaseEventLoop.run_until_complete" },
		{ "/asyncio/runners.py", NULL },
		{ "/asyncio/tasks.py", "Task.__step" },		/* without _asyncio */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(loop); i++)
		if (is_frame(p, id, loop[i].file, loop[i].func))
			return true;
	return false;
}

static bool is_of_asyncio(const struct process *p, uint32_t id)
{
	static const char dir[] = "/asyncio/";
	const struct profile_tables *tables = intern_tables(p->in);
	const struct string_ref *file = &tables->strings[tables->frames[id].file];

	return memmem(file->data, file->len, dir, sizeof(dir) - 1) != NULL;
}

/*
 * Nobody awaits the task. Returns true if the loop started its coroutine. An eager task (3.12+)
 * runs inside the function that created it, and nobody can await it meanwhile. That function was
 * called by a task, which has a coroutine further out, or by asyncio. So if there is neither, the
 * loop is machine code (uvloop), and the function outside of the task is the one that runs the
 * loop.
 */
static bool is_run_by_loop(const struct process *p, const struct thread *t,
			   const struct raw_head *raw)
{
	const uint32_t *ids = t->ids_end - raw->nframes;
	uint32_t outside = t->async->raw.at + 1, i;

	/* Without _asyncio the loop calls Task.__step(), and that this; so does an eager start. */
	if (outside < raw->nframes && is_frame(p, ids[outside], "/asyncio/tasks.py",
					       "Task.__step_run_and_handle_result"))
		outside++;
	if (outside == raw->nframes || p->args.image->minor < 12 || is_loop(p, ids[outside]))
		return true;
	for (i = outside; i < raw->nframes; i++)
		if (is_of_asyncio(p, ids[i]))
			return false;
	return !(t->async->raw.flags & ASYNC_INSIDE);
}

/* ---- the task's name ---- */

static int read_piece(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct raw_async *raw = ctx;
	uint64_t off = addr - raw->name_at.addr;

	if (off > raw->name_at.len || len > raw->name_at.len - off)
		return -ENODATA;
	memcpy(buf, raw->name + off, len);
	return 0;
}

/* asyncio names a task "Task-" and a number if the program does not name it. */
static bool is_default(const char *name, size_t len)
{
	return len > 5 && !memcmp(name, "Task-", 5) && strspn(name + 5, "0123456789") == len - 5;
}

/* Adds "<task NAME>" after the frames so far, if the program has named the task. 0 or -ENOMEM. */
static int put_name(struct process *p, struct async_stack *a)
{
	const struct target_mem mem = { read_piece, &a->raw };
	uint32_t len;
	char *name;
	int err;

	if (!p->args.task_names || !a->raw.name_at.len ||
	    code_read_string(&mem, &p->args.image->objects, a->raw.name_at.addr, &name, &len))
		return 0;
	err = !len || is_default(name, len) ? 0 :
	      other_frame_of_task(&p->others, name, len, &a->ids[a->cnt]);
	a->cnt += !err && len && !is_default(name, len);
	free(name);
	return err;
}

/* ---- the awaiting tasks ---- */

/* The record has each task's frames from the outermost to the innermost. 0 or -errno. */
static int put_frames(struct process *p, struct async_stack *a)
{
	const struct raw_async *raw = &a->raw;
	uint32_t task, i, end;
	int err = 0;

	for (task = 0; task < raw->ntasks; task++) {
		end = task + 1u < raw->ntasks ? raw->starts[task + 1] : raw->nframes;
		for (i = end; !err && i > raw->starts[task]; i--) {
			err = symbolizer_frame(p->sym, &raw->frames[i - 1], &a->ids[a->cnt],
					       NULL);
			a->cnt += !err;
		}
	}
	return err;
}

/* Returns true if the chain is whole and belongs in this stack; otherwise the reason is counted. */
static bool is_shown(struct process *p, const struct thread *t, const struct raw_head *raw)
{
	const struct raw_async *async = &t->async->raw;
	struct async_stats *stats = &p->stats.async;

	if (raw->flags & RAW_CUT)
		stats->no_end++;
	else if (async->end != ASYNC_WHOLE)
		stats->ends[async->end]++;
	else if (!async->ntasks && !is_run_by_loop(p, t, raw))
		stats->eager++;
	else
		return true;
	return false;
}

/* The stack came without a task. Counts it if it has a coroutine. */
static void count_unfound(struct process *p, const struct thread *t)
{
	if (!process_needs_task(p, t))
		return;
	if (t->coroutine)
		p->stats.async.unfound++;
	else
		symbolizer_judge_later(p->sym, t->raw_end - t->nframes, t->nframes);
}

int process_take_async(struct process *p, struct thread *t, const struct raw_head *raw)
{
	struct async_stack *a = t->async;
	int err;

	if (a) {
		a->shown = false;
		a->cnt = 0;
	}
	if (!a || a->raw.h.time_ns != raw->h.time_ns || a->raw.at >= raw->nframes) {
		count_unfound(p, t);
		return 0;
	}
	if (!is_shown(p, t, raw))
		return 0;
	a->at = a->raw.at;
	err = put_name(p, a);
	if (!err)
		err = put_frames(p, a);
	if (err)
		return err;
	a->shown = true;
	p->stats.async.shown++;
	p->stats.async.several += !!(a->raw.flags & ASYNC_SEVERAL);
	return 0;
}

const struct async_stack *process_async_of(const struct thread *t, uint32_t nframes)
{
	return t->async && t->async->shown && t->async->at < nframes ? t->async : NULL;
}
