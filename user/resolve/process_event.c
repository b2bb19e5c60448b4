// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_event.c - makes events of a thread's stack, of a thread without one and of a waiting
 * task, passes them on and counts the results. See process_internal.h.
 */
#include <errno.h>
#include <string.h>

#include "asyncio/waits_for.h"
#include "base/util.h"
#include "model/thread_names.h"
#include "model/trace_context.h"
#include "resolve/observer.h"
#include "resolve/process_internal.h"

/* Flags that add a synthetic frame. */
#define RAW_SYNTHETIC_FLAGS (RAW_CUT | RAW_GC)

/* A tracer may stop a process thousands of times a second. */
#define ASK_AGAIN_NS 1000000000ull
/* Name of the pseudo-thread that has the events of a loop's waiting tasks. */
#define TASKS_THREAD_NAME "asyncio tasks"

/* ---- delivery and losses ---- */

uint64_t process_samples_in(const struct process *p, const struct event *ev)
{
	return p->args.unit == UNIT_SAMPLES ? ev->weight : 1;
}

void process_add_lost(struct process *p, uint32_t tid, enum loss_cause cause, uint64_t cnt)
{
	p->stats.lost[cause] += cnt;
	losses_add(&p->losses, tid, cause, cnt);
}

const struct losses_of_threads *process_thread_losses(const struct process *p)
{
	return p->losses;
}

/* Passes an event to the observer, and counts whether it was taken. 0 or the observer's -errno. */
static int process_deliver(struct process *p, const struct event *ev)
{
	int err = p->args.observer->ops->event(p->args.observer, p, ev);

	p->ended |= err != 0;
	if (err)
		process_add_lost(p, (uint32_t)ev->thread_id, LOSS_WRITE, process_samples_in(p, ev));
	else
		p->stats.samples += process_samples_in(p, ev);
	return err;
}

int process_without_memory(struct process *p, uint32_t tid, int err)
{
	if (err != -ENOMEM || p->ended)
		return err;
	process_add_lost(p, tid, LOSS_MEMORY, 1);
	return 0;
}

/* ---- an event of a stack ---- */

/* The frames inside all of the process' functions: the kernel's, a wait's, an exception. */
#define INNER_MAX (RAW_KERNEL_FRAMES + 2)
_Static_assert(EVENT_ROOM >= INNER_MAX + NATIVE_STACK_MAX + ABI_MAX_FRAMES + RAW_ASYNC_FRAMES + 4,
	       "all parts have room, with <GC>, the task's name, the gap and the root");

/* Frames that are missing in a stack, outside the first `at` of them. left_out 0: none. */
struct gap {
	uint32_t at, left_out;
};

/* The stack so far. python: frames of ev added; end: frames of ev to add. */
struct layout {
	const struct event *ev;
	uint32_t *out, n;
	uint32_t python, end, gc_at, gc;
	const struct async_stack *async;	/* NULL: none */
	struct gap gap;
};

/* Adds the next Python frame, after <GC> if a collection began there. */
static void put_python(struct layout *l)
{
	if (l->python == l->gc_at)
		l->out[l->n++] = l->gc;
	l->out[l->n++] = l->ev->frames[l->python++];
}

static void begin_gap(struct layout *l, const struct native_stack *native)
{
	l->gap = (struct gap){ l->n, native->left_out };
}

/* Adds all frames except the root. */
static void lay_out_frames(struct layout *l, const struct native_stack *native)
{
	uint32_t i;

	/* A task ends with its outermost Python frame: the event loop's are outside. */
	for (i = 0; native && i < native->cnt && !(l->async && l->python == l->end); i++)
		if (native->ids[i] == NATIVE_STACK_GAP)
			begin_gap(l, native);
		else if (native->ids[i] != NATIVE_STACK_PYTHON)
			l->out[l->n++] = native->ids[i];
		else if (l->python < l->end)
			put_python(l);
	while (l->python < l->end)
		put_python(l);
	for (i = 0; l->async && i < l->async->cnt; i++)
		l->out[l->n++] = l->async->ids[i];
}

/*
 * Adds native frames and awaiters of the task (both may be NULL), and the frames that raw->flags
 * request: <GC> where a collection began, and as the root <unreadable frame>, <switching> or
 * <truncated>, which replaces the outermost frames if there is no room. The stack is copied to out.
 */
static int add_synthetic(struct process *p, const struct raw_head *raw,
			 const struct native_stack *native, const struct async_stack *async,
			 struct event *ev, uint32_t *out, struct gap *gap)
{
	struct layout l = { .ev = ev, .out = out, .gc_at = UINT32_MAX, .async = async,
			    .end = async ? async->at + 1 : ev->nframes };	/* no gap */
	uint32_t root = UINT32_MAX;
	int err = 0;

	if (raw->flags & RAW_UNREADABLE) {
		p->stats.unreadable += process_samples_in(p, ev);
		err = other_frame(&p->others, FRAME_OF_UNREADABLE, &root);
	} else if (raw->flags & RAW_SWITCHING) {
		p->stats.switching += process_samples_in(p, ev);
		err = other_frame(&p->others, FRAME_OF_SWITCHING, &root);
	}
	if (!err && raw->flags & RAW_GC) {
		l.gc_at = raw->gc_at;
		err = other_frame(&p->others, FRAME_OF_GC, &l.gc);
	}
	lay_out_frames(&l, native);
	if (raw->flags & (RAW_TRUNCATED | RAW_BROKEN_END)) {
		p->stats.truncated += process_samples_in(p, ev);
		if (!err && root == UINT32_MAX)
			err = other_frame(&p->others, FRAME_OF_TRUNCATED, &root);
	}
	if (root != UINT32_MAX) {
		if (l.n >= EVENT_MAX_FRAMES)
			l.n = EVENT_MAX_FRAMES - 1;
		if (l.gap.at > l.n)
			l.gap.left_out = 0;
		out[l.n++] = root;
	}
	ev->frames = out;
	ev->nframes = l.n;
	*gap = l.gap;
	return err;
}

/*
 * Returns who holds the thread of a wait that is RAW_WAIT_TRACED or RAW_WAIT_FROZEN, as in
 * held_by.h; "": unknown. Checked at most once a second, and only once for one wait. Valid until
 * the next call.
 */
static const char *held_by(struct process *p, const struct raw_head *head)
{
	bool traced = head->h.sysno == RAW_WAIT_TRACED;
	struct held *h = &p->held[traced];

	if (!traced && head->h.sysno != RAW_WAIT_FROZEN)
		return "";
	if (h->asked_ns && head->h.time_ns < h->asked_ns + ASK_AGAIN_NS)
		return h->by;
	h->asked_ns = now_ns();
	h->by[0] = '\0';		/* there may be another holder now, which can no longer be
					 * found */
	if (traced)
		held_by_tracer(p->args.tgid, (pid_t)head->tid, h->by);
	else
		held_by_cgroup(p->args.tgid, h->by);
	return h->by;
}

/*
 * Returns the frame that says what a thread waits for, its innermost one. *leaf UINT32_MAX: none.
 */
static int wait_leaf(struct process *p, const struct wait_stretch *w, uint32_t *leaf)
{
	*leaf = UINT32_MAX;
	if (w->kind == WAIT_CPU && p->args.runnable_frames)
		return other_frame(&p->others, FRAME_OF_WAIT_FOR_CPU, leaf);
	if (w->kind == WAIT_GIL && p->args.wait_frames)
		return other_frame(&p->others, FRAME_OF_WAIT_FOR_GIL, leaf);
	if (w->kind == WAIT_BLOCKED && raw_wait_is_held(w->head->h.sysno) &&
	    (p->args.wait_frames || p->args.runnable_frames))
		return other_frame_of_held(&p->others, w->head->h.sysno,
					   held_by(p, w->head), leaf);
	if (w->kind == WAIT_BLOCKED && p->args.wait_frames)
		return other_frame_of_call(&p->others, w->head->h.sysno, leaf);
	return 0;
}

/*
 * Adds the frames inside all of the process' functions: the kernel's, what the thread waits for,
 * the exception.
 */
static int add_inner(struct process *p, const struct thread *t, const struct wait_stretch *wait,
		     struct event *ev, uint32_t *out, struct gap *gap)
{
	/*
	 * If this wait was not walked, kernel stack and exception in t belong to an earlier record.
	 */
	bool known = !(ev->status & STATUS_UNKNOWN);
	uint32_t inner[INNER_MAX], n = 0, leaf = UINT32_MAX;
	int err = wait ? wait_leaf(p, wait, &leaf) : 0;

	if (err)
		return err;
	if (known && t->nkernel && (!wait || wait->kind != WAIT_CPU)) {
		memcpy(inner, t->extra->kernel, t->nkernel * sizeof(*inner));
		n = t->nkernel;
	}
	if (leaf != UINT32_MAX)
		inner[n++] = leaf;
	if (known && t->exception != UINT32_MAX)
		inner[n++] = t->exception;
	if (!n)
		return 0;
	memmove(out + n, ev->frames, ev->nframes * sizeof(*out));
	memcpy(out, inner, n * sizeof(*out));
	ev->frames = out;
	ev->nframes += n;
	gap->at += n;
	return 0;
}

/* Copies the stack without trampolines to out, which may be the stack itself. */
static void drop_trampolines(const struct process *p, struct event *ev, uint32_t *out,
			     struct gap *gap)
{
	uint32_t trampoline = symbolizer_trampoline(p->sym), at = gap->at, n = 0, i;

	if (trampoline == UINT32_MAX)
		return;
	for (i = 0; i < ev->nframes; i++)
		if (ev->frames[i] != trampoline)
			out[n++] = ev->frames[i];
		else
			gap->at -= i < at;
	ev->frames = out;
	ev->nframes = n;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool fits_event(const struct event *ev, const struct gap *gap)
{
	return ev->nframes <= EVENT_MAX_FRAMES && !gap->left_out;
}

/*
 * Fits the stack, with its gap, into an event: a frame says how many were left out there. If there
 * are too many frames, the gap grows, so that half of the room is the innermost frames' and half
 * the outermost's, or more if the others need less. 0 or -ENOMEM.
 */
static int fit_event(struct process *p, struct event *ev, uint32_t *out, struct gap gap)
{
	uint32_t n = ev->nframes, room = EVENT_MAX_FRAMES - 1, inner, outer, id;
	int err;

	if (!gap.left_out)
		gap.at = n / 2;
	outer = min(n - gap.at, room / 2);
	inner = min(gap.at, room - outer);
	outer = min(n - gap.at, room - inner);
	gap.left_out += n - inner - outer;
	err = other_frame_of_gap(&p->others, gap.left_out, &id);
	if (err)
		return err;
	memmove(out, ev->frames, inner * sizeof(*out));
	memmove(out + inner + 1, ev->frames + n - outer, outer * sizeof(*out));
	out[inner] = id;
	ev->frames = out;
	ev->nframes = inner + 1 + outer;
	p->stats.shortened += process_samples_in(p, ev);
	p->stats.frames_left_out += gap.left_out * process_samples_in(p, ev);
	return 0;
}

/*
 * Returns the context of t's last record; NULL: it has none. A wait that was not walked has another
 * time than that record.
 */
static const struct trace_context *trace_of(const struct thread *t, const struct event *ev,
					    struct trace_context *out)
{
	bool known = t->trace_len && !(ev->status & STATUS_UNKNOWN);

	return known && trace_context_parse(t->trace, t->trace_len, out) ? out : NULL;
}

/* Returns the native frames of t's last record; NULL: none. As in trace_of(). */
static const struct native_stack *native_of(const struct thread *t, const struct event *ev)
{
	bool known = t->native && t->native->cnt && !(ev->status & STATUS_UNKNOWN);

	return known ? t->native : NULL;
}

int process_lay_out(struct process *p, const struct thread *t, const struct raw_head *raw,
		    const struct wait_stretch *wait, struct event *ev, uint32_t out[EVENT_ROOM])
{
	const struct async_stack *async = process_async_of(t, raw->nframes);
	const struct native_stack *native = native_of(t, ev);
	struct gap gap = { 0 };
	int err = 0;

	if (raw->nframes > t->nframes)
		return -ENOMEM;		/* there was none for this stack */
	ev->nframes = raw->nframes;
	ev->frames = t->ids_end - raw->nframes;
	if (native || async || raw->flags & RAW_SYNTHETIC_FLAGS)
		err = add_synthetic(p, raw, native, async, ev, out, &gap);
	if (!err && (wait || t->nkernel || t->exception != UINT32_MAX))
		err = add_inner(p, t, wait, ev, out, &gap);
	if (err)
		return err;
	drop_trampolines(p, ev, out, &gap);
	if (!fits_event(ev, &gap))
		err = fit_event(p, ev, out, gap);
	if (err)
		return err;
	p->stats.native_frames += native ? native->frames * process_samples_in(p, ev) : 0;
	p->stats.frames += ev->nframes * process_samples_in(p, ev);
	return 0;
}

int process_emit(struct process *p, const struct thread *t, const struct raw_head *raw,
		uint64_t weight, const struct wait_stretch *wait)
{
	uint32_t frames[EVENT_ROOM];
	struct event ev = {
		.time_us = (wait ? wait->time_ns : raw->h.time_ns) / US_NS,
		.thread_id = raw->tid,
		.interp_id = raw->interp_id,
		.weight = weight,
		.tick_ns = wait || raw->h.kind != RAW_SAMPLE ? 0 : raw_tick_ns(&raw->h),
		.status = raw->status,
	};
	struct trace_context trace;
	int err = process_lay_out(p, t, raw, wait, &ev, frames);

	if (err)
		return err;
	ev.trace = trace_of(t, &ev, &trace);
	return process_deliver(p, &ev);
}

/* ---- threads without a Python stack ---- */

/* A main thread that runs Python has no state before the interpreter starts and after it ends. */
static bool runs_python(struct process *p, uint32_t tid)
{
	return tid == (uint32_t)p->args.tgid && (threads_find(&p->threads, tid, 0) ||
						 (p->args.py.exe && !p->stats.threads));
}

int process_no_stack_frames(struct process *p, const struct raw_head *head, uint32_t end,
			    const char *comm, struct event *ev, uint32_t out[EVENT_ROOM],
			    uint64_t **counter)
{
	bool is_native = end == CNT_NATIVE_THREAD && !runs_python(p, head->tid);
	struct layout l = { .ev = ev, .out = out };
	struct native_stack native;
	int err = process_take_native(p, head, true, &native);

	if (err)
		return err;
	lay_out_frames(&l, &native);
	err = is_native ? other_frame_of_native_thread(&p->others, comm, &out[l.n++]) :
			  other_frame(&p->others, FRAME_OF_NO_PYTHON, &out[l.n++]);
	ev->frames = out;
	ev->nframes = l.n;
	if (!err && !fits_event(ev, &l.gap))
		err = fit_event(p, ev, out, l.gap);
	if (err)
		return err;
	p->stats.frames += ev->nframes;
	p->stats.native_frames += native.frames;
	*counter = is_native ? &p->stats.native_thread : &p->stats.no_frames;
	return 0;
}

int process_take_no_stack(struct process *p, const void *record, size_t len)
{
	const struct raw_no_stack *raw = record;
	char comm[COMM_BYTES + 1] = "";
	const struct raw_head head = { .h = raw->h, .tid = raw->tid, .cpu = raw->cpu };
	uint32_t frames[EVENT_ROOM];
	uint64_t *counter = NULL;
	struct event ev = {
		.time_us = raw->h.time_ns / US_NS,
		.thread_id = raw->tid,
		.interp_id = raw->interp_id,
		.weight = 1,
		.tick_ns = raw_tick_ns(&raw->h),
		.status = raw->status,
	};
	int err = p->waits ? waits_no_stack(p->waits, raw->tid, raw->h.time_ns) : 0;

	memcpy(comm, raw->comm, COMM_BYTES);
	/* The process' comm is not a thread's own name: Python may have set one. */
	if (raw->tid != (uint32_t)p->args.tgid && strcmp(comm, p->comm))
		process_rename(p, raw->tid, comm);
	if (!err)
		err = process_no_stack_frames(p, &head, raw->end, comm, &ev, frames, &counter);
	if (!err)
		err = process_deliver(p, &ev);
	if (!err)
		++*counter;
	return err;
}

/* ---- waiting tasks ---- */

int process_waiting_task(struct process *p, uint32_t tid, uint64_t interp_id,
			 const struct raw_frame *frames, uint32_t cnt, bool cut,
			 uint8_t waits, const char *name, uint64_t time_ns, uint64_t weight)
{
	uint32_t ids[EVENT_MAX_FRAMES], i, n = 0;
	struct event ev = {
		.time_us = time_ns / US_NS, .thread_id = process_tasks_tid(tid),
		.interp_id = (uint32_t)interp_id, .weight = weight, .frames = ids,
	};
	int err = 0;

	if (!weight)
		return 0;
	/* asyncio.sleep() has a frame of its own. */
	if (waits != WAITS_UNKNOWN && waits != WAITS_SLEEP)
		err = other_frame_of_task_wait(&p->others, waits_for_word(waits), name, &ids[n++]);
	for (i = 0; !err && i < cnt && n < EVENT_MAX_FRAMES; i++)
		err = symbolizer_frame(p->sym, &frames[i], &ids[n++], NULL);
	if (!err && cut && n < EVENT_MAX_FRAMES)
		err = other_frame(&p->others, FRAME_OF_TRUNCATED, &ids[n++]);
	if (err)
		return process_without_memory(p, (uint32_t)ev.thread_id, err);
	ev.nframes = n;
	if (!thread_names_find(p->names, (uint32_t)ev.thread_id))
		process_rename(p, (uint32_t)ev.thread_id, TASKS_THREAD_NAME);
	p->stats.frames += ev.nframes * process_samples_in(p, &ev);
	p->stats.task_waits += process_samples_in(p, &ev);
	return process_deliver(p, &ev);
}
