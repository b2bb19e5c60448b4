// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_no_stack.c - ticks in threads that have no Python stack. See process.h. */
#include <string.h>

#include "resolve/process_parts.h"

/* A main thread that runs Python has no state before the interpreter begins and after it ends. */
static bool runs_python(struct process *p, uint32_t tid)
{
	return tid == (uint32_t)p->args.tgid && (threads_find(&p->threads, tid, 0) ||
						 (p->args.py.exe && !p->stats.threads));
}

int process_take_no_stack(struct process *p, const struct raw_head *head, uint32_t end,
			  const char *comm, struct native_stack *out, uint32_t *nframes,
			  uint64_t **counter)
{
	bool is_native = end == CNT_NATIVE_THREAD && !runs_python(p, head->tid);
	int err = process_take_native(p, head, true, out);
	uint32_t *root;

	if (err)
		return err;
	*nframes = out->cnt < EVENT_MAX_FRAMES ? out->cnt + 1 : EVENT_MAX_FRAMES;
	root = &out->ids[*nframes - 1];
	err = is_native ? other_frame_of_native_thread(&p->others, comm, root) :
			  other_frame(&p->others, FRAME_OF_NO_PYTHON, root);
	if (err)
		return err;
	p->stats.frames += *nframes;
	p->stats.native_frames += out->frames;
	*counter = is_native ? &p->stats.native_thread : &p->stats.no_frames;
	return 0;
}

static int take_no_stack(struct process *p, const struct raw_no_stack *raw)
{
	char comm[COMM_BYTES + 1] = "";
	const struct raw_head head = { .h = raw->h, .tid = raw->tid, .cpu = raw->cpu };
	struct native_stack native;
	uint64_t *counter = NULL;
	struct event ev = {
		.time_us = raw->h.time_ns / US_NS,
		.thread_id = raw->tid,
		.interp_id = raw->interp_id,
		.frames = native.ids,
		.weight = 1,
		.tick_ns = raw_tick_ns(&raw->h),
		.status = raw->status,
	};
	int err = p->waits ? waits_no_stack(p->waits, raw->tid, raw->h.time_ns) : 0;

	memcpy(comm, raw->comm, COMM_BYTES);
	/* The process' comm is no name of a thread's own: Python may have given it one. */
	if (raw->tid != (uint32_t)p->args.tgid && strcmp(comm, p->comm))
		process_rename(p, raw->tid, comm);
	if (!err)
		err = process_take_no_stack(p, &head, raw->end, comm, &native, &ev.nframes,
					    &counter);
	if (!err)
		err = process_deliver(p, &ev);
	if (!err)
		++*counter;
	return err;
}

int process_no_stack(struct process *p, const struct raw_no_stack *raw)
{
	if (process_must_confirm(p, raw, sizeof(*raw)))
		return process_confirm(p, raw, sizeof(*raw));
	return process_without_memory(p, raw->tid, take_no_stack(p, raw));
}
