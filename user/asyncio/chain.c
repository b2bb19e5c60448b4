// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chain.c - see chain.h.
 *
 * A task that awaits another one stays suspended until that one is done. So if the sample's task is
 * the same before and after, with the same callbacks, the tasks that await it were suspended all
 * the time, and so were those that await these. Each of them is read until two reads agree, too:
 * the memory may lie, and a task can be cancelled, or begin to be awaited, meanwhile. A task of
 * trio is awaited by the one in whose nursery it is, which cannot end before it does.
 *
 * A task that C made is awaited by whom its callbacks lead to. So what is read from them on depends
 * on no other member of it: it is the chain of each task that has these callbacks while that memory
 * is the same. Whether it is, the BPF side finds out in the moment of a sample: so what was read
 * when this task was gone serves others. Of other tasks, what is read begins with the task itself.
 */
#include "asyncio/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/coroutine.h"
#include "asyncio/task_read.h"
#include "asyncio/trio.h"

/* How often a chain is read if a task of it has changed meanwhile. */
#define CHAIN_TRIES 3

struct chain {
	struct task_reader r;
	const struct raw_task *q;
	struct task_chain *out;
	const struct target_mem *mem;
	struct used_mem used;
	struct target_mem noting;	/* used_read() from mem */
	struct future_types types;
	struct trio_slots slots;
	struct raw_frame frames[TASK_FRAMES_MAX];	/* of the task that is read */
	struct task_row row;
	struct task_read t;
	uint64_t tasks[RAW_ASYNC_TASKS + 1];	/* q's, then those that are in *out */
	bool moved;
};

static const struct async_homes *homes_of(const struct chain *c)
{
	return &c->r.at->homes;
}

/* Of asyncio or trio. A nursery stands for what is called when the task is done. */
static int read_fields(struct chain *c, uint64_t task, struct future_fields *f)
{
	struct trio_task t;
	int err;

	if (!c->q->trio)
		return future_read(&c->r.walk, homes_of(c), &c->types, task, f);
	err = trio_task_read(&c->r, &c->slots, task, &t);
	*f = (struct future_fields){ .kind = FUTURE_TASK, .pure = 1 };
	if (err)
		return err;
	f->coro = t.coro;
	f->callback0 = t.nursery;
	return 0;
}

/* ---- the task of the sample ---- */

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t v;

	memcpy(&v, bytes + off, sizeof(v));
	return v;
}

/*
 * Where the bytes begin and end that tell a name from another one, of RAW_TASK_NAME bytes: the text
 * of a str, or the digits of an int, whose size is the word before them. What is behind the object
 * belongs to others.
 */
static void name_text(const struct chain *c, const uint8_t *obj, bool is_str, size_t *from,
		      size_t *end)
{
	const struct py_object_layout *o = &c->r.at->objects;
	uint64_t length = word_at(obj, o->str_length), bytes;
	uint32_t state, kind;

	memcpy(&state, obj + o->str_state, sizeof(state));
	kind = (state & o->str_kind_mask) >> o->str_kind_shift;
	*from = o->str_length + 8u;
	bytes = 8;		/* two digits: no program has made so many tasks that it has more */
	if (is_str) {
		*from = state & o->str_ascii_bit ? o->str_ascii_data : o->str_compact_data;
		bytes = length < RAW_TASK_NAME ? length * kind : RAW_TASK_NAME;
	}
	*end = bytes < RAW_TASK_NAME - *from ? *from + bytes : RAW_TASK_NAME;
}

/*
 * Compare what is left of a name, a str or int: not its reference count, nor what a str notes when
 * it is used: its hash, whether it is interned, its UTF-8.
 */
static bool is_same_name(const struct chain *c, const uint8_t *now, bool is_str)
{
	const struct py_object_layout *o = &c->r.at->objects;
	const uint8_t *then = c->q->name_bytes;
	uint16_t head = c->r.walk.head;
	size_t from, end;

	if (o->str_compact_data + 8u > RAW_TASK_NAME || o->str_state + 4u > RAW_TASK_NAME ||
	    o->str_ascii_data > o->str_compact_data || head < 8)
		return false;
	name_text(c, now, is_str, &from, &end);
	return !memcmp(then + head - 8, now + head - 8, 16) &&
	       !memcmp(then + from, now + from, end - from);
}

/*
 * Read the name again: as much of it as the BPF side reads from 3.14 on. Returns true if it is the
 * same. A name that could not be read then says nothing: the task may be another one.
 */
static bool read_name(struct chain *c)
{
	struct raw_async *raw = &c->out->raw;
	size_t len = object_first_read(c->q->name, RAW_TASK_NAME, RAW_ASYNC_NAME);
	bool is_str = !py_expect(&c->r.walk, c->q->name, PY_IS_STR);

	raw->name_at.len = 0;
	if (py_get(&c->r.walk, c->q->name, raw->name, len) ||
	    !is_same_name(c, raw->name, is_str))
		return false;
	if (is_str)
		raw->name_at = (struct raw_piece){ .addr = c->q->name, .len = (uint32_t)len };
	return true;
}

/* Returns true if a task of Python's has the sample's frame, with its code object. */
static bool has_frame(struct chain *c, const struct future_fields *f)
{
	uint64_t frame, code;

	return f->kind == FUTURE_TASK && f->pure && !f->done && f->coro &&
	       !coroutine_frame_read(&c->r.walk, c->r.at, f->coro, &frame, &code) &&
	       frame == c->q->frame && code == c->q->coro;
}

/*
 * Returns true if the task is the sample's, and *f what it is now. One made by asyncio's Python
 * classes has no name here: it is taken for the same if its coroutine's frame is at the same
 * address and has the same code.
 */
static bool is_same(struct chain *c, struct future_fields *f)
{
	const struct raw_task *q = c->q;

	if (read_fields(c, q->task, f))
		return false;
	if (q->pure)
		return has_frame(c, f);
	return f->kind == FUTURE_TASK && !f->pure && !f->done && f->coro == q->coro &&
	       f->callback0 == q->callback0 && f->callbacks == q->callbacks &&
	       f->name == q->name && read_name(c);
}

/* ---- a task that awaits ---- */

/* Append its frames. Returns ASYNC_WHOLE, or what prevents that. */
static enum async_end add_frames(struct chain *c, uint64_t coro)
{
	struct raw_async *raw = &c->out->raw;
	struct task_row *row = &c->row;

	row->flags = 0;
	row->frame_cnt = 0;
	c->t.coro_cnt = 0;
	task_coros_read(&c->r, &c->t, coro);
	if (row->flags & TASK_EXECUTING)
		return ASYNC_NOT_SUSPENDED;
	if (!row->frame_cnt)
		return ASYNC_FOREIGN;
	if (row->flags & TASK_CUT || raw->ntasks == RAW_ASYNC_TASKS ||
	    raw->nframes + row->frame_cnt > RAW_ASYNC_FRAMES)
		return ASYNC_DEPTH;
	raw->starts[raw->ntasks++] = raw->nframes;
	memcpy(raw->frames + raw->nframes, c->frames, row->frame_cnt * sizeof(c->frames[0]));
	raw->nframes += row->frame_cnt;
	return ASYNC_WHOLE;
}

static bool is_unchanged(struct chain *c, uint64_t task, const struct future_fields *before)
{
	struct future_fields now;

	return !read_fields(c, task, &now) &&
	       now.coro == before->coro && now.done == before->done &&
	       now.callback0 == before->callback0 && now.callbacks == before->callbacks &&
	       task_coros_still(&c->r, &c->t);
}

/* ---- from task to task ---- */

struct first {
	uint64_t task;
	uint32_t cnt;
};

/* The first task that was found, and whether there is a second one. */
static bool keep_first(void *ctx, uint64_t task)
{
	struct first *f = ctx;

	if (!f->cnt++)
		f->task = task;
	return f->cnt < 2;
}

/* The task of this nursery. */
static uint64_t parent_of(struct chain *c, uint64_t nursery, enum async_end *end)
{
	uint64_t parent;

	*end = ASYNC_UNREADABLE;
	if (trio_parent_read(&c->r, nursery, &parent))
		return 0;
	*end = ASYNC_WHOLE;
	return parent;
}

/* The first task that awaits the one with these fields; 0: none, and *end says why. */
static uint64_t awaiter_of(struct chain *c, const struct future_fields *f, enum async_end *end)
{
	const struct awaiters_callbacks callbacks = { f->callback0, f->callbacks };
	struct first first = { 0 };
	struct awaiters a;

	if (c->q->trio)
		return parent_of(c, f->callback0, end);
	awaiters_of(&c->r.walk, homes_of(c), &c->types, &callbacks, keep_first, &first, &a);
	if (first.cnt > 1)
		c->out->raw.flags |= ASYNC_SEVERAL;
	if (first.cnt)
		return first.task;
	*end = a.cut ? ASYNC_UNREADABLE : a.woken ? ASYNC_NOT_SUSPENDED :
	       a.others && !a.root ? ASYNC_SHAPE : ASYNC_WHOLE;
	if (*end == ASYNC_SHAPE)
		memcpy(c->out->other, a.other, sizeof(c->out->other));
	return 0;
}

static bool is_in_chain(const struct chain *c, uint64_t task)
{
	uint32_t i;

	for (i = 0; i <= c->out->raw.ntasks; i++)
		if (c->tasks[i] == task)
			return true;
	return false;
}

/* Add a task, and find the next one. Returns it; 0: *end says why there is none. */
static uint64_t add_task(struct chain *c, uint64_t task, enum async_end *end)
{
	struct future_fields f;
	uint64_t next;

	if (is_in_chain(c, task)) {
		*end = ASYNC_CYCLE;
		return 0;
	}
	*end = ASYNC_UNREADABLE;
	if (read_fields(c, task, &f))
		return 0;
	*end = f.done || !f.coro ? ASYNC_NOT_SUSPENDED : add_frames(c, f.coro);
	if (*end != ASYNC_WHOLE)
		return 0;
	c->tasks[c->out->raw.ntasks] = task;
	next = awaiter_of(c, &f, end);
	if (!is_unchanged(c, task, &f)) {
		c->moved = true;
		*end = ASYNC_NOT_SUSPENDED;
		return 0;
	}
	return next;
}

/* From now on what is read is noted, and does not depend on what was read before. */
static void begin_notes(struct chain *c)
{
	memset(&c->types, 0, sizeof(c->types));
	memset(&c->slots, 0, sizeof(c->slots));
	c->r.next_type = 0;
	memset(c->r.types, 0, sizeof(c->r.types));
	memset(c->r.codes, 0, sizeof(c->r.codes));
	py_walk_forget(&c->r.walk);
	used_begin(&c->used, c->mem);
	c->noting = (struct target_mem){ used_read, &c->used };
	c->r.walk.mem = &c->noting;
	c->r.walk.used = &c->used;
}

static void end_notes(struct chain *c)
{
	c->r.walk.mem = c->mem;
	c->r.walk.used = NULL;
}

/* The chain of the task with these fields; of a task of Python's, they are read again. */
static enum async_end read_once(struct chain *c, struct future_fields *f)
{
	struct raw_async *raw = &c->out->raw;
	enum async_end end = ASYNC_WHOLE;
	uint64_t task;

	c->moved = false;
	raw->nframes = raw->ntasks = raw->flags = 0;
	c->out->other[0] = '\0';
	c->tasks[0] = c->q->task;
	begin_notes(c);
	if (c->q->pure && (read_fields(c, c->q->task, f) || !has_frame(c, f)))
		end = ASYNC_GONE;
	task = end == ASYNC_WHOLE ? awaiter_of(c, f, &end) : 0;
	while (task)
		task = add_task(c, task, &end);
	end_notes(c);
	return end;
}

static bool is_still(struct chain *c, const struct future_fields *f)
{
	struct future_fields now;

	return is_same(c, &now) && now.callback0 == f->callback0 && now.callbacks == f->callbacks;
}

static enum async_end read_chain(struct chain *c)
{
	const struct raw_task *q = c->q;
	struct future_fields f = { 0 };
	enum async_end end = ASYNC_GONE;
	int tries;

	c->out->gone = !q->pure && !is_same(c, &f);
	f.callback0 = q->callback0;
	f.callbacks = q->callbacks;
	for (tries = 0; tries < CHAIN_TRIES; tries++) {
		end = read_once(c, &f);
		if (!c->moved)
			break;
	}
	c->out->gone = c->out->gone || !is_still(c, &f);
	return c->r.walk.reads_left ? end : ASYNC_TIME;
}

/* ---- for the BPF side ---- */

static bool is_kept(const struct chain *c, enum async_end end)
{
	return end == ASYNC_WHOLE || (end == ASYNC_SHAPE && !c->out->gone);
}

/* Without a chain, all of the record but its header is as if nothing had been read. */
static void finish(struct task_chain *out, enum async_end end)
{
	out->raw.end = end;
	if (end == ASYNC_WHOLE)
		return;
	out->raw.nframes = out->raw.ntasks = 0;
	if (end != ASYNC_SHAPE)
		out->other[0] = '\0';
}

void task_chain_read(const struct target_mem *mem, const struct tasks_at *at,
		     const struct raw_task *q, used_gather_fn gather, struct task_chain *out)
{
	struct chain *c = at->homes.cnt || q->trio ? calloc(1, sizeof(*c)) : NULL;
	enum async_end end = ASYNC_UNREADABLE;

	memset(out, 0, sizeof(*out));
	out->raw = (struct raw_async){
		.h = q->h, .tid = q->tid, .interp_id = q->interp_id, .cpu = q->cpu, .at = q->at,
	};
	out->raw.h.kind = RAW_ASYNC;
	out->ranges.cnt = USED_NOT_KNOWN;
	if (c) {
		c->r.at = at;
		c->q = q;
		c->out = out;
		c->mem = mem;
		c->t = (struct task_read){ .frames = c->frames, .row = &c->row };
		py_walk_init(&c->r.walk, mem, &at->objects, CHAIN_READS_MAX);
		end = read_chain(c);
		if (is_kept(c, end))
			used_ranges_find(&c->used, gather, &out->ranges);
		out->reads = CHAIN_READS_MAX - c->r.walk.reads_left;
	}
	finish(out, end);
	free(c);
}
