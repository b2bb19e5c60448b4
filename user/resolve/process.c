// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process.c - turns raw samples into events. See process.h.
 *
 * Most frames of a stack are those of the thread's last sample. So the last stack is kept
 * right-aligned (the root at the array's end), a new one is compared with it from the root, and
 * only frames that differ are resolved.
 */
#include "resolve/process.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/remote_mem.h"
#include "model/intern.h"
#include "model/trace_context.h"
#include "resolve/jit_watch.h"
#include "resolve/observer.h"
#include "resolve/other_frames.h"
#include "resolve/python_names.h"
#include "resolve/symbolize.h"
#include "resolve/threads.h"

#define US_NS 1000
/* Where threads have waits, their exit is reported. If that was lost, they are kept for so long. */
#define KEEP_ENDED_NS 60000000000ull
/* Flags that add a synthetic frame. */
#define RAW_SYNTHETIC_FLAGS \
	(RAW_TRUNCATED | RAW_UNREADABLE | RAW_GC | RAW_BROKEN_END | RAW_SWITCHING)

struct process {
	struct process_args args;
	char comm[PROC_COMM_MAX];
	char *command;
	struct intern *in;
	struct symbolizer *sym;
	void *observed;		/* the observer's */
	uint64_t admitted_ns, inspected_ns;
	struct threads threads;
	struct process_stats stats;
	struct losses_of_threads *losses;	/* NULL: none yet */
	struct other_frames others;
	struct waits *waits;	/* NULL: the mode has no waits */
	struct thread_names *names;	/* NULL: none yet */
	struct thread_names *given;	/* those that the Python program gave; NULL: none yet */
	struct python_names python;
	struct jit_watch jit;
	bool ended;		/* the observer has returned an error: the capture ends */
};

static int take_stretch(void *ctx, const struct wait_stretch *stretch);
static void thread_gone(void *ctx, const struct thread *t, bool lives);
static void init_python_names(struct process *p);

/*
 * Read the process' memory. If it has ended, or has not touched the page yet, read the file of
 * the interpreter, which has the names and line tables of frozen modules. (A page that the
 * process has changed can be read in its memory.)
 */
static int read_target(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct process *p = ctx;
	const struct cpython_image *image = p->args.image;
	int err = remote_mem_read((void *)(intptr_t)p->args.tgid, addr, buf, len);

	if (err && err != -EBUSY && p->args.py.runtime && p->args.image_mem)
		err = p->args.image_mem(image, p->args.tgid,
					addr - (p->args.py.runtime - image->runtime_vaddr), buf,
					len);
	return err;
}

struct process *process_new(const struct process_args *args)
{
	struct process *p = calloc(1, sizeof(*p));
	struct target_mem mem = { read_target, p };

	if (!p)
		return NULL;
	p->args = *args;
	if (args->image_hold)
		args->image_hold(args->image);
	threads_init(&p->threads, args->tgid, args->waits.interval_ns ? KEEP_ENDED_NS : 0,
		     thread_gone, p);
	snprintf(p->comm, sizeof(p->comm), "%s", args->comm);
	p->args.comm = p->comm;
	p->command = args->command ? strdup(args->command) : NULL;
	p->args.command = p->command;
	p->in = intern_new();
	other_frames_init(&p->others, p->in, args->kernel);
	if (p->in && (p->command || !args->command))
		p->sym = symbolizer_new(args->image, mem, p->in, args->opcodes);
	if (p->sym)
		symbolizer_set_owner(p->sym, args->identity.uid);
	init_python_names(p);
	if (p->sym && args->waits.interval_ns)
		p->waits = waits_new(&args->waits, take_stretch, p);
	if (!p->sym || (args->waits.interval_ns && !p->waits)) {
		process_free(p);
		errno = ENOMEM;
		return NULL;
	}
	return p;
}

void process_free(struct process *p)
{
	if (!p)
		return;
	threads_free(&p->threads);
	waits_free(p->waits);
	thread_names_drop(p->names);
	thread_names_drop(p->given);
	python_names_free(&p->python);
	free(p->losses);
	symbolizer_free(p->sym);
	intern_free(p->in);
	if (p->args.image_release)
		p->args.image_release(p->args.image);
	free(p->command);
	free(p);
}

void process_set_observed(struct process *p, void *observed)
{
	p->observed = observed;
}

void *process_observed(const struct process *p)
{
	return p->observed;
}

uint64_t process_samples_in(const struct process *p, const struct event *ev)
{
	return p->args.unit == UNIT_SAMPLES ? ev->weight : 1;
}

/* Pass an event to the observer, and count whether it was taken. */
static int deliver(struct process *p, const struct event *ev)
{
	int err = p->args.observer->ops->event(p->args.observer, p, ev);

	p->ended |= err != 0;
	if (err)
		process_add_lost(p, (uint32_t)ev->thread_id, LOSS_WRITE, process_samples_in(p, ev));
	else
		p->stats.samples += process_samples_in(p, ev);
	return err;
}

/*
 * A record for which there is no memory is lost; the other processes' recording goes on. tid: whose
 * it is; 0: of several threads.
 */
static int without_memory(struct process *p, uint32_t tid, int err)
{
	if (err != -ENOMEM || p->ended)
		return err;
	process_add_lost(p, tid, LOSS_MEMORY, 1);
	return 0;
}

/* If there is no memory, the name is missing. */
void process_rename(struct process *p, uint32_t tid, const char *comm)
{
	bool own = strcmp(comm, p->comm);

	if (thread_names_find(p->given, tid))
		return;
	if (!p->names && own)
		p->names = thread_names_new();
	if (p->names)
		thread_names_set(p->names, tid, own ? comm : "");
}

/*
 * Read a new thread's name from /proc; later changes come as RAW_RENAME. The first thread has the
 * name of the process. Only the first THREAD_NAMES_MAX threads of a process are read.
 */
static void read_thread_name(struct process *p, uint32_t tid)
{
	char path[32], comm[PROC_COMM_MAX];
	ssize_t len;

	if (tid == (uint32_t)p->args.tgid || p->stats.threads > THREAD_NAMES_MAX ||
	    thread_names_find(p->names, tid))
		return;
	snprintf(path, sizeof(path), "task/%u/comm", tid);
	len = proc_read(p->args.tgid, path, comm, sizeof(comm));
	if (len <= 1)
		return;
	comm[len - 1] = '\0';	/* a line feed */
	process_rename(p, tid, comm);
}

/* python_named_fn. What the program calls its thread is the best name, a number the worst. */
static void python_named(void *ctx, uint32_t tid, const char *name, bool given)
{
	struct process *p = ctx;

	if (!strcmp(name, p->comm) || (!given && thread_names_find(p->names, tid)))
		return;
	process_rename(p, tid, name);
	if (given && !p->given)
		p->given = thread_names_new();
	if (given && p->given)
		thread_names_set(p->given, tid, name);
}

/* python_interps_fn. If the BPF side has admitted the process, it has found out where it is. */
static uint64_t interps_of(void *ctx)
{
	struct process *p = ctx;
	struct py_proc py;

	if (!p->args.py.runtime && p->args.entry &&
	    !p->args.entry(p->args.entry_ctx, p->args.tgid, &py) && py.state == PY_PROC_PYTHON)
		return py.interps;
	return p->args.py.runtime ? p->args.py.interps : 0;
}

static void init_python_names(struct process *p)
{
	const struct cpython_image *image = p->args.image;
	const struct python_threads_at at = {
		.interp_next = image->layout.interp_next, .objects = image->objects,
		.musl = image->needs_musl || image->tstate_how == PY_TSTATE_TSS_MUSL,
	};

	python_names_init(&p->python, p->args.tgid, &at, python_named, interps_of, p);
}

/* thread_gone_fn. What waits.c knows of the thread goes with its stack. */
static void thread_gone(void *ctx, const struct thread *t, bool lives)
{
	struct process *p = ctx;

	if (lives)
		p->stats.threads--;	/* it counts again if it comes back */
	if (p->waits)
		waits_forget(p->waits, thread_tid(t), thread_interp(t), lives);
}

/* The thread's last stack, made if it has none. NULL: no memory. */
static struct thread *find_thread(struct process *p, uint32_t tid, uint32_t interp_id)
{
	struct thread *t = threads_find(&p->threads, tid, interp_id);

	if (t)
		return t;
	t = threads_add(&p->threads, tid, interp_id);
	if (t) {
		p->stats.threads++;
		read_thread_name(p, tid);
		if (p->stats.threads <= THREAD_NAMES_MAX)
			python_names_thread(&p->python, tid);
	}
	return t;
}

/* How many frames at the root are the same as in the last stack. */
static uint32_t shared_frames(const struct thread *t, const struct raw_frame *frames, uint32_t n)
{
	const struct raw_frame *a = t->raw + ABI_MAX_FRAMES, *b = frames + n;
	uint32_t most = t->known < n ? t->known : n, i = 0;

	while (i + 8 <= most && !memcmp(a - i - 8, b - i - 8, 8 * sizeof(*a)))
		i += 8;
	while (i < most && !memcmp(a - i - 1, b - i - 1, sizeof(*a)))
		i++;
	return i;
}

/* 0, -ENOMEM, or -EBADMSG: the BPF side sends no frame of this kind. */
static int resolve_frame(struct process *p, const struct raw_frame *raw, uint32_t *id)
{
	switch (raw_frame_kind(raw)) {
	case FRAME_PYTHON:
		return symbolizer_frame(p->sym, raw, id);
	case FRAME_NATIVE:
		p->stats.native++;
		return other_frame(&p->others, FRAME_OF_NATIVE, id);
	case FRAME_KERNEL:
		return other_frame_of_kernel(&p->others, raw->code, id);
	default:
		return -EBADMSG;
	}
}

/*
 * Fill t with the sample's stack. t->known ends before a frame that could not be resolved, so
 * that this frame is counted in each sample; and before a frame without a fingerprint, because
 * its address may have another code object in the next sample.
 */
static int resolve_stack(struct process *p, struct thread *t, const struct raw_sample *raw)
{
	uint32_t n = raw->nframes, i, fresh = n - shared_frames(t, raw->frames, n);
	const struct symbolizer_stats *stats = symbolizer_stats(p->sym);
	struct raw_frame *frames = t->raw + ABI_MAX_FRAMES - n;
	uint32_t *ids = t->ids + ABI_MAX_FRAMES - n;
	int err;

	memcpy(frames, raw->frames, fresh * sizeof(*frames));
	t->known = n;
	for (i = 0; i < fresh; i++) {
		uint64_t unresolved = stats->unresolved;

		err = resolve_frame(p, &raw->frames[i], &ids[i]);
		if (err) {
			t->known = 0;
			return err;
		}
		if (stats->unresolved != unresolved || !raw->frames[i].id)
			t->known = n - i - 1;
	}
	return 0;
}

/*
 * Add the frames that raw->flags ask for: <GC> where collection began, and as the root
 * <unreadable frame>, <switching> or <truncated>, which replaces the outermost frame if there is
 * no room. The stack is copied to out.
 */
static int add_synthetic(struct process *p, const struct raw_head *raw, struct event *ev,
			 uint32_t *out)
{
	uint32_t root = UINT32_MAX, gc = UINT32_MAX, n = 0, i;
	int err = 0;

	if (raw->flags & RAW_UNREADABLE) {
		p->stats.unreadable += process_samples_in(p, ev);
		err = other_frame(&p->others, FRAME_OF_UNREADABLE, &root);
	} else if (raw->flags & RAW_SWITCHING) {
		p->stats.switching += process_samples_in(p, ev);
		err = other_frame(&p->others, FRAME_OF_SWITCHING, &root);
	}
	if (!err && raw->flags & RAW_GC)
		err = other_frame(&p->others, FRAME_OF_GC, &gc);
	for (i = 0; i < ev->nframes && n < EVENT_MAX_FRAMES + 1; i++) {
		if (raw->flags & RAW_GC && i == raw->gc_at)
			out[n++] = gc;
		out[n++] = ev->frames[i];
	}
	if (raw->flags & (RAW_TRUNCATED | RAW_BROKEN_END) ||
	    n + (root != UINT32_MAX) > EVENT_MAX_FRAMES) {
		p->stats.truncated += process_samples_in(p, ev);
		if (!err && root == UINT32_MAX)
			err = other_frame(&p->others, FRAME_OF_TRUNCATED, &root);
	}
	if (root != UINT32_MAX) {
		if (n >= EVENT_MAX_FRAMES)
			n = EVENT_MAX_FRAMES - 1;
		out[n++] = root;
	}
	ev->frames = out;
	ev->nframes = n;
	return err;
}

/* The frame that says what a thread waits for, its innermost one. *leaf UINT32_MAX: none. */
static int wait_leaf(struct process *p, const struct wait_stretch *w, uint32_t *leaf)
{
	*leaf = UINT32_MAX;
	if (w->kind == WAIT_CPU && p->args.runnable_frames)
		return other_frame(&p->others, FRAME_OF_WAIT_FOR_CPU, leaf);
	if (w->kind == WAIT_GIL && p->args.wait_frames)
		return other_frame(&p->others, FRAME_OF_WAIT_FOR_GIL, leaf);
	if (w->kind == WAIT_BLOCKED && p->args.wait_frames)
		return other_frame_of_call(&p->others, w->head->h.sysno, leaf);
	return 0;
}

/*
 * Add the frames that are further inside than all Python frames: the kernel's functions, what
 * the thread waits for, the exception. If there is no room, frames at the root are dropped.
 */
static int add_inner(struct process *p, const struct thread *t, const struct wait_stretch *wait,
		     struct event *ev, uint32_t *out)
{
	/* If this wait was not walked, kernel stack and exception in t are of an earlier record. */
	bool known = !(ev->status & STATUS_UNKNOWN);
	uint32_t inner[RAW_KERNEL_FRAMES + 2], n = 0, outer, leaf = UINT32_MAX;
	int err = wait ? wait_leaf(p, wait, &leaf) : 0;

	if (err)
		return err;
	if (known && wait && wait->kind != WAIT_CPU) {
		memcpy(inner, t->kernel, t->nkernel * sizeof(*inner));
		n = t->nkernel;
	}
	if (leaf != UINT32_MAX)
		inner[n++] = leaf;
	if (known && t->exception != UINT32_MAX)
		inner[n++] = t->exception;
	if (!n)
		return 0;
	outer = ev->nframes < EVENT_MAX_FRAMES - n ? ev->nframes : EVENT_MAX_FRAMES - n;
	memmove(out + n, ev->frames, outer * sizeof(*out));
	memcpy(out, inner, n * sizeof(*out));
	ev->frames = out;
	ev->nframes = outer + n;
	return 0;
}

/* Copy the stack without trampolines to out, which may be the stack itself. */
static void drop_trampolines(const struct process *p, struct event *ev, uint32_t *out)
{
	uint32_t trampoline = symbolizer_trampoline(p->sym), n = 0, i;

	if (trampoline == UINT32_MAX)
		return;
	for (i = 0; i < ev->nframes; i++)
		if (ev->frames[i] != trampoline)
			out[n++] = ev->frames[i];
	ev->frames = out;
	ev->nframes = n;
}

/*
 * The context of t's last record, in *out; NULL: it has none. A wait that was not walked is of
 * another time than that record.
 */
static const struct trace_context *trace_of(const struct thread *t, const struct event *ev,
					    struct trace_context *out)
{
	bool known = t->trace_len && !(ev->status & STATUS_UNKNOWN);

	return known && trace_context_parse(t->trace, t->trace_len, out) ? out : NULL;
}

/* Make an event of t's stack. weight: in the profile's unit. wait: NULL for a sample. */
static int emit(struct process *p, const struct thread *t, const struct raw_head *raw,
		uint64_t weight, const struct wait_stretch *wait)
{
	uint32_t with_synthetic[EVENT_MAX_FRAMES + 2];
	struct event ev = {
		.time_us = (wait ? wait->time_ns : raw->h.time_ns) / US_NS,
		.thread_id = raw->tid,
		.interp_id = raw->interp_id,
		.nframes = raw->nframes,
		.frames = t->ids + ABI_MAX_FRAMES - raw->nframes,
		.weight = weight,
		.tick_ns = wait || raw->h.kind != RAW_SAMPLE ? 0 : raw_tick_ns(&raw->h),
		.status = raw->status,
	};
	struct trace_context trace;
	int err = 0;

	if (raw->flags & RAW_SYNTHETIC_FLAGS)
		err = add_synthetic(p, raw, &ev, with_synthetic);
	if (!err && (wait || t->exception != UINT32_MAX))
		err = add_inner(p, t, wait, &ev, with_synthetic);
	if (err)
		return err;
	drop_trampolines(p, &ev, with_synthetic);
	ev.trace = trace_of(t, &ev, &trace);
	p->stats.frames += ev.nframes * process_samples_in(p, &ev);
	return deliver(p, &ev);
}

/* wait_fn */
static int take_stretch(void *ctx, const struct wait_stretch *stretch)
{
	struct process *p = ctx;
	struct thread *t = threads_find(&p->threads, stretch->head->tid, stretch->head->interp_id);

	/* There was no memory for the stack: that record counts as lost. */
	return t ? emit(p, t, stretch->head, stretch->cnt, stretch) : 0;
}

int process_extra(struct process *p, const struct raw_extra *x, size_t len)
{
	struct thread *t;

	if (len < offsetof(struct raw_extra, kernel) || x->nkernel > RAW_KERNEL_FRAMES ||
	    len < offsetof(struct raw_extra, kernel) + x->nkernel * sizeof(x->kernel[0]))
		return -EBADMSG;
	t = find_thread(p, x->tid, x->interp_id);
	if (!t)
		return without_memory(p, x->tid, -ENOMEM);
	memcpy(&t->extra, x,
	       offsetof(struct raw_extra, kernel) + x->nkernel * sizeof(x->kernel[0]));
	return 0;
}

/* Set t's exception and kernel stack to those of its RAW_EXTRA with this time, or to none. */
static int take_extra(struct process *p, struct thread *t, uint64_t time_ns)
{
	const struct raw_extra *x = &t->extra;
	uint32_t i;
	int err = 0;

	t->nkernel = 0;
	t->exception = UINT32_MAX;
	if (x->h.time_ns != time_ns)
		return 0;
	if (x->exception[0])
		err = other_frame_of_exception(&p->others, x->exception, &t->exception);
	i = p->args.kernel ? other_frames_first_of_kernel(&p->others, x) : x->nkernel;
	for (; !err && i < x->nkernel; i++) {
		err = other_frame_of_kernel(&p->others, x->kernel[i], &t->kernel[t->nkernel]);
		t->nkernel += !err;
	}
	return err;
}

/* Keep the context behind the record's stack for the thread's events, or that it has none. */
static int take_trace(struct thread *t, const struct raw_sample *raw, size_t len)
{
	size_t at = raw_sample_bytes(raw->nframes, raw->flags);

	return thread_set_trace(t, (const uint8_t *)raw + at,
				raw->flags & RAW_TRACED ? len - at : 0);
}

/* Take the stack of a record; *t is its thread. 0 or -errno. */
static int take_stack(struct process *p, const struct raw_sample *raw, size_t len,
		      struct thread **t)
{
	int err;

	if (len < offsetof(struct raw_sample, frames) || raw->nframes > ABI_MAX_FRAMES ||
	    len < raw_sample_bytes(raw->nframes, raw->flags) || !raw_sample_weight(raw))
		return -EBADMSG;
	*t = find_thread(p, raw->tid, raw->interp_id);
	if (!*t)
		return -ENOMEM;
	err = resolve_stack(p, *t, raw);
	if (!err)
		err = take_trace(*t, raw, len);
	return err ? err : take_extra(p, *t, raw->h.time_ns);
}

static int take_sample(struct process *p, const struct raw_sample *raw, size_t len)
{
	struct raw_head head;
	struct thread *t;
	int err = 0;

	if (p->waits && len >= sizeof(head))	/* a wait that ends here needs the old stack */
		err = waits_tick(p->waits, raw);
	if (!err)
		err = take_stack(p, raw, len, &t);
	if (err)
		return err;
	memcpy(&head, raw, sizeof(head));
	return emit(p, t, &head, raw_sample_weight(raw), NULL);
}

int process_sample(struct process *p, const struct raw_sample *raw, size_t len)
{
	return without_memory(p, raw->tid, take_sample(p, raw, len));
}

/* A main thread that runs Python has no state before the interpreter begins and after it ends. */
static bool runs_python(struct process *p, uint32_t tid)
{
	return tid == (uint32_t)p->args.tgid && (threads_find(&p->threads, tid, 0) ||
						 (p->args.py.exe && !p->stats.threads));
}

static int take_no_stack(struct process *p, const struct raw_no_stack *raw)
{
	bool native = raw->end == CNT_NATIVE_THREAD && !runs_python(p, raw->tid);
	uint64_t *cnt = native ? &p->stats.native_thread : &p->stats.no_frames;
	char comm[COMM_BYTES + 1] = "";
	uint32_t frame;
	struct event ev = {
		.time_us = raw->h.time_ns / US_NS,
		.thread_id = raw->tid,
		.interp_id = raw->interp_id,
		.nframes = 1,
		.frames = &frame,
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
		err = native ? other_frame_of_native_thread(&p->others, comm, &frame) :
			       other_frame(&p->others, FRAME_OF_NO_PYTHON, &frame);
	if (!err) {
		p->stats.frames++;
		err = deliver(p, &ev);
	}
	*cnt += !err;
	return err;
}

int process_no_stack(struct process *p, const struct raw_no_stack *raw)
{
	return without_memory(p, raw->tid, take_no_stack(p, raw));
}

int process_switch_out(struct process *p, const struct raw_sample *raw, size_t len)
{
	struct thread *t;
	int err;

	if (!p->waits || len < sizeof(struct raw_head))
		return -EBADMSG;
	err = waits_switch_out(p->waits, raw);
	if (!err && !(raw->flags & RAW_NOT_WALKED))
		err = take_stack(p, raw, len, &t);
	return without_memory(p, raw->tid, err);
}

int process_switch_in(struct process *p, const struct raw_switch_in *run)
{
	return p->waits ? without_memory(p, run->tid, waits_switch_in(p->waits, run)) : -EBADMSG;
}

void process_thread_exit(struct process *p, uint32_t tid)
{
	uint32_t interp_id;

	if (p->waits && waits_exit(p->waits, tid, &interp_id))
		threads_remove(&p->threads, tid, interp_id);
}

int process_emit_open_waits(struct process *p, uint64_t now_ns)
{
	return p->waits ? without_memory(p, 0, waits_emit_open(p->waits, now_ns)) : 0;
}

int process_code(struct process *p, const struct raw_code *raw, size_t len)
{
	int err = symbolizer_learn(p->sym, raw, len);

	/* Without memory, its frames are read from the process later, or <unresolved>. */
	return err == -ENOMEM ? 0 : err;
}

void process_retry_names(struct process *p)
{
	const struct target_mem mem = { read_target, p };

	python_names_retry(&p->python);
	symbolizer_refill(p->sym);
	jit_watch_look(&p->jit, &mem, p->args.image, &p->threads);
	symbolizer_retry(p->sym);	/* without memory, frames stay <unresolved> */
}

void process_set_admitted(struct process *p, uint64_t inspected_ns, uint64_t time_ns)
{
	p->inspected_ns = inspected_ns;
	p->admitted_ns = time_ns;
}

uint64_t process_inspected_ns(const struct process *p)
{
	return p->inspected_ns;
}

uint64_t process_admitted_ns(const struct process *p)
{
	return p->admitted_ns;
}

pid_t process_tgid(const struct process *p)
{
	return p->args.tgid;
}

uint64_t process_start_ns(const struct process *p)
{
	return p->args.start_ns;
}

const struct profile_tables *process_tables(const struct process *p)
{
	return intern_tables(p->in);
}

void process_set_trace(struct process *p, const struct thread_ctx_place *place)
{
	p->args.py.trace = *place;
}

void process_set_start(struct process *p, uint64_t start_ns)
{
	p->args.start_ns = start_ns;
}

const char *process_comm(const struct process *p)
{
	return p->comm;
}

const char *process_command(const struct process *p)
{
	return p->command;
}

const struct identity *process_identity(const struct process *p)
{
	return &p->args.identity;
}

const struct cpython_image *process_image(const struct process *p)
{
	return p->args.image;
}

const struct thread_names *process_thread_names(const struct process *p)
{
	return p->names;
}

const struct py_proc *process_py(const struct process *p)
{
	return &p->args.py;
}

void process_stats(const struct process *p, struct process_stats *out)
{
	const struct symbolizer_stats *sym = symbolizer_stats(p->sym);

	*out = p->stats;
	out->jit = p->jit.found;
	out->unresolved = sym->unresolved;
	out->code_cnt = sym->code_cnt;
	out->code_without_lines = sym->without_lines;
	out->code_repeated = sym->repeated;
	out->process_reads = sym->process_reads;
	if (p->waits)
		waits_stats(p->waits, &out->waits);
	out->lost[LOSS_WAITS_FORGOTTEN] = out->waits.forgotten;
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
