// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_memory_stack.c - the stacks of memory: each gets a number, and is the same as a sample's
 * would be. See process_parts.h.
 */
#include <errno.h>
#include <string.h>

#include "model/thread_names.h"
#include "resolve/observer.h"
#include "resolve/process_memory.h"

/* The number of a stack, also of a new one. */
static int number_of(struct process_memory *m, const uint32_t *frames, uint32_t n, uint32_t *stack)
{
	uint32_t before = intern_tables(m->stacks)->string_cnt;
	int err = intern_string(m->stacks, (const char *)frames, n * sizeof(*frames), stack);

	if (!err && intern_tables(m->stacks)->string_cnt != before)
		m->stack_bytes += n * sizeof(*frames);
	return err;
}

static int keep(struct process *p, const uint32_t *frames, uint32_t n, uint32_t *stack)
{
	struct process_memory *m = p->memory;
	size_t bytes = n * sizeof(*frames);
	uint32_t not_kept;
	int err;

	if ((intern_tables(m->stacks)->string_cnt < STACKS_MAX &&
	     m->stack_bytes + bytes <= STACK_BYTES_MAX) ||
	    intern_find_string(m->stacks, (const char *)frames, bytes, stack))
		return number_of(m, frames, n, stack);
	p->stats.stacks_not_kept++;
	err = other_frame(&p->others, FRAME_OF_NOT_KEPT, &not_kept);
	return err ? err : number_of(m, &not_kept, 1, stack);
}

/* Threads without a Python stack have a struct thread only for their name, which is read once. */
static int frames_without_stack(struct process *p, const struct raw_head *head,
				struct native_stack *out, uint32_t *n)
{
	uint64_t *counter;
	const char *name;
	int err;

	if (head->tid != (uint32_t)p->args.tgid && !process_thread(p, head->tid, head->interp_id))
		return -ENOMEM;
	name = thread_names_find(p->names, head->tid);
	err = process_take_no_stack(p, head, head->h.sysno, name && *name ? name : p->comm, out, n,
				    &counter);
	if (!err)
		++*counter;
	return err;
}

static int take_with_stack(struct process *p, const struct raw_sample *raw, size_t len,
			   uint32_t *stack)
{
	struct event ev = { .weight = 1, .status = raw->status };
	uint32_t frames[EVENT_ROOM];
	struct raw_head head;
	struct thread *t;
	int err = process_take_stack(p, raw, len, &t);

	if (err)
		return err;
	memcpy(&head, raw, sizeof(head));
	ev.status &= (uint8_t)~STATUS_UNKNOWN;	/* this stack is the record's own */
	err = process_lay_out(p, t, &head, NULL, &ev, frames);
	return err ? err : keep(p, ev.frames, ev.nframes, stack);
}

int process_memory_stack(struct process *p, const struct raw_sample *raw, size_t len,
			 uint32_t *stack)
{
	struct native_stack native;
	struct raw_head head;
	uint32_t n = 1;
	int err;

	if (len < sizeof(head) || raw->nframes > ABI_MAX_FRAMES ||
	    len < raw_sample_bytes(raw->nframes, raw->flags))
		return -EBADMSG;
	if (raw->nframes)
		return take_with_stack(p, raw, len, stack);
	memcpy(&head, raw, sizeof(head));
	if (raw->flags & RAW_NOT_WALKED)
		err = other_frame(&p->others, FRAME_OF_NOT_WALKED, native.ids);
	else
		err = frames_without_stack(p, &head, &native, &n);
	return err ? err : keep(p, native.ids, n, stack);
}

static void count(struct process *p, const struct memory_event *ev)
{
	if (ev->change == MEMORY_ALLOC) {
		p->stats.allocs++;
		p->stats.alloc_bytes += ev->bytes;
		p->stats.held_bytes += ev->bytes;
	} else if (ev->change == MEMORY_FREE) {
		p->stats.held_bytes -= ev->bytes < p->stats.held_bytes ? ev->bytes :
							       p->stats.held_bytes;
	}
}

int process_memory_emit(struct process *p, struct memory_event *ev)
{
	const struct observer *o = p->args.observer;
	uint32_t frames[EVENT_MAX_FRAMES];
	struct process_memory *m = p->memory;
	int err;

	if (ev->change == MEMORY_ALLOC || ev->change == MEMORY_FREE) {
		struct string_ref stack = intern_tables(m->stacks)->strings[ev->stack];

		memcpy(frames, stack.data, stack.len);
		ev->frames = frames;
		ev->nframes = (uint32_t)(stack.len / sizeof(*frames));
	}
	if (ev->time_us < m->last_us)
		ev->time_us = m->last_us;
	m->last_us = ev->time_us;
	count(p, ev);
	err = o->ops->memory ? o->ops->memory(p->args.observer, p, ev) : 0;
	p->ended |= err != 0;
	if (err)
		process_add_lost(p, (uint32_t)ev->thread_id, LOSS_WRITE, 1);
	return err;
}
