// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process.c - a process from its beginning to its end, and the records that it gets. See process.h.
 *
 * What the other files do: process_stack.c takes a record's stack, process_event.c makes an event
 * of it, process_account.c passes it on.
 */
#include "resolve/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared_text.h"
#include "memory/remote_mem.h"
#include "model/thread_names.h"
#include "resolve/process_parts.h"

/* Where threads have waits, their exit is reported. If that was lost, they are kept for so long. */
#define KEEP_ENDED_NS 60000000000ull

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

/* The same without the file. */
static int read_living(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct process *p = ctx;

	return remote_mem_read((void *)(intptr_t)p->args.tgid, addr, buf, len);
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

/* wait_fn */
static int take_stretch(void *ctx, const struct wait_stretch *stretch)
{
	struct process *p = ctx;
	struct thread *t = threads_find(&p->threads, stretch->head->tid, stretch->head->interp_id);

	/* There was no memory for the stack: that record counts as lost. */
	return t ? process_emit(p, t, stretch->head, stretch->cnt, stretch) : 0;
}

/* A record has waited until its names were certain. process_confirm.c calls this. */
static int take_record(struct process *p, const void *record, size_t len)
{
	const struct raw_header *h = record;

	switch (h->kind) {
	case RAW_SAMPLE:
		return process_sample(p, record, len);
	case RAW_SWITCH_OUT:
	case RAW_SWITCH_SAME:	/* of process_repeat_stack() */
		return process_switch_out(p, record, len);
	case RAW_SWITCH_IN:
		return process_switch_in(p, record);
	case RAW_THREAD_EXIT:
		process_thread_exit(p, ((const struct raw_switch_in *)record)->tid);
		return 0;
	case RAW_EXTRA:
		return process_extra(p, record, len);
	case RAW_NATIVE:
		return process_native(p, record, len);
	case RAW_ASYNC:
		return process_async(p, record, len);
	case RAW_NO_STACK:
		return process_no_stack(p, record);
	default:
		return -EBADMSG;
	}
}

struct process *process_new(const struct process_args *args)
{
	struct process *p = calloc(1, sizeof(*p));
	struct target_mem mem = { read_target, p };

	if (!p)
		return NULL;
	p->args = *args;
	p->take = take_record;
	if (args->image_hold)
		args->image_hold(args->image);
	threads_init(&p->threads, args->tgid, args->waits.interval_ns ? KEEP_ENDED_NS : 0,
		     thread_gone, p);
	snprintf(p->comm, sizeof(p->comm), "%s", args->comm);
	p->args.comm = p->comm;
	p->command = args->command ? shared_text_get(args->command) : NULL;
	p->args.command = p->command;
	p->in = intern_new();
	other_frames_init(&p->others, p->in, args->kernel);
	if (p->in && (p->command || !args->command))
		p->sym = symbolizer_new(args->image, mem, p->in, args->opcodes);
	if (p->sym)
		symbolizer_set_owner(p->sym, args->identity.uid);
	process_names_init(p);
	if (p->sym && args->waits.interval_ns)
		p->waits = waits_new(&args->waits, take_stretch, p);
	if (p->in && args->native)
		p->native = native_frames_new(args->native, p->in, args->tgid, args->identity.uid);
	if (!p->sym || (args->waits.interval_ns && !p->waits) || (args->native && !p->native) ||
	    process_memory_init(p)) {
		process_free(p);
		errno = ENOMEM;
		return NULL;
	}
	return p;
}

/* What only its records need. Their statistics are in p->stats afterwards. */
static void end_records(struct process *p)
{
	struct process_stats last;

	process_stats(p, &last);
	process_confirm_free(p);
	threads_free(&p->threads);
	waits_free(p->waits);
	python_names_free(&p->python);
	thread_names_drop(p->given);
	free(p->gc);
	symbolizer_free(p->sym);
	native_records_free(&p->native_records);
	native_frames_free(p->native);
	process_blocks_free(p);
	process_memory_free(p);
	p->stats = last;
	p->over = true;
}

static void free_rest(struct process *p)
{
	thread_names_drop(p->names);
	free(p->losses);
	intern_free(p->in);
	if (p->args.image_release)
		p->args.image_release(p->args.image);
	shared_text_drop(p->command);
	free(p);
}

void process_free(struct process *p)
{
	if (!p)
		return;
	end_records(p);
	if (!p->holds)
		free_rest(p);
}

void process_hold(struct process *p)
{
	p->holds++;
}

void process_release(struct process *p)
{
	if (!--p->holds && p->over)
		free_rest(p);
}

size_t process_held_bytes(const struct process *p)
{
	size_t names;

	thread_names_list(p->names, &names);
	return sizeof(*p) + intern_bytes(p->in) + names * sizeof(struct thread_name) +
	       (p->losses ? sizeof(*p->losses) : 0);
}

void process_set_observed(struct process *p, void *observed)
{
	p->observed = observed;
}

void *process_observed(const struct process *p)
{
	return p->observed;
}

static int take_sample(struct process *p, const struct raw_sample *raw, size_t len)
{
	struct raw_head head;
	struct thread *t;
	int err = 0;

	if (p->waits && len >= sizeof(head))	/* a wait that ends here needs the old stack */
		err = waits_tick(p->waits, raw);
	if (!err)
		err = process_take_stack(p, raw, len, &t);
	if (err)
		return err;
	memcpy(&head, raw, sizeof(head));
	return process_emit(p, t, &head, 1, NULL);
}

int process_sample(struct process *p, const struct raw_sample *raw, size_t len)
{
	if (process_must_confirm(p, raw, len))
		return process_confirm(p, raw, len);
	return process_without_memory(p, raw->tid, take_sample(p, raw, len));
}

int process_switch_out(struct process *p, const struct raw_sample *raw, size_t len)
{
	struct thread *t;
	int err;

	if (!p->waits || len < sizeof(struct raw_head))
		return -EBADMSG;
	if (process_must_confirm(p, raw, len))
		return process_confirm(p, raw, len);
	err = waits_switch_out(p->waits, raw);
	if (!err && !(raw->flags & RAW_NOT_WALKED))
		err = process_take_stack(p, raw, len, &t);
	return process_without_memory(p, raw->tid, err);
}

int process_switch_same(struct process *p, const struct raw_head *raw, size_t len)
{
	struct raw_sample whole;

	if (len < sizeof(*raw) || raw->nframes)
		return -EBADMSG;
	len = process_repeat_stack(p, raw, len, &whole);
	return process_switch_out(p, &whole, len);
}

int process_switch_in(struct process *p, const struct raw_switch_in *run)
{
	if (!p->waits)
		return -EBADMSG;
	if (process_must_confirm(p, run, sizeof(*run)))
		return process_confirm(p, run, sizeof(*run));
	return process_without_memory(p, run->tid, waits_switch_in(p->waits, run));
}

void process_thread_exit(struct process *p, uint32_t tid)
{
	const struct raw_switch_in run = { .h.kind = RAW_THREAD_EXIT, .tid = tid };
	uint32_t interp_id;

	if (process_must_confirm(p, &run, sizeof(run)))
		process_confirm(p, &run, sizeof(run));
	else if (p->waits && waits_exit(p->waits, tid, &interp_id))
		threads_remove(&p->threads, tid, interp_id);
}

int process_emit_open_waits(struct process *p, uint64_t now_ns)
{
	int err = process_settle(p), waits_err;

	waits_err = p->waits ? process_without_memory(p, 0, waits_emit_open(p->waits, now_ns)) : 0;
	return err ? err : waits_err;
}

int process_code(struct process *p, const struct raw_code *raw, size_t len)
{
	int err = symbolizer_learn(p->sym, raw, len);

	/* Without memory, its frames are read from the process later, or <unresolved>. */
	return err == -ENOMEM ? 0 : err;
}

void process_watch_jit(struct process *p)
{
	const struct target_mem mem = { read_living, p };

	jit_watch_look(&p->jit, &mem, p->args.image, &p->threads);
}

void process_retry_names(struct process *p)
{
	python_names_retry(&p->python);
	symbolizer_refill(p->sym);
	symbolizer_retry(p->sym);	/* without memory, frames stay <unresolved> */
	if (p->native)
		native_frames_retry(p->native);
}

bool process_frames_wait(const struct process *p)
{
	return symbolizer_pending(p->sym) || process_waits_for_names(p);
}

bool process_has_rest(const struct process *p)
{
	return (p->confirm && confirm_holds(p->confirm)) || p->python.again_cnt ||
	       process_frames_wait(p) ||
	       jit_watch_begins(&p->jit, p->args.image, &p->threads);
}

bool process_waits_for_names(const struct process *p)
{
	return p->native && native_frames_pending(p->native);
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

const struct py_proc *process_py(const struct process *p)
{
	return &p->args.py;
}

void process_stats(const struct process *p, struct process_stats *out)
{
	const struct symbolizer_stats *sym;

	*out = p->stats;
	out->unconfirmed += p->confirm ? confirm_unconfirmed(p->confirm) : 0;
	if (p->over || !p->sym)
		return;
	sym = symbolizer_stats(p->sym);
	out->jit = p->jit.found;
	out->unresolved = sym->unresolved;
	out->code_cnt = sym->code_cnt;
	out->code_without_lines = sym->without_lines;
	out->code_repeated = sym->repeated;
	out->process_reads = sym->process_reads;
	out->native_unnamed = p->native ? native_frames_unnamed(p->native) : 0;
	if (p->waits)
		waits_stats(p->waits, &out->waits);
	out->lost[LOSS_WAITS_FORGOTTEN] = out->waits.forgotten;
}
