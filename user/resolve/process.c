// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process.c - a process from start to end, and its records. See process.h.
 *
 * The other files: process_stack.c takes a record's stack and keeps it with its thread
 * (process_threads.c), process_async.c takes the awaiters of its task, process_event.c turns it
 * into an event and passes it on; process_memory.c and process_gc.c take records of --mode mem.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared_text.h"
#include "base/util.h"
#include "memory/remote_mem.h"
#include "model/thread_names.h"
#include "resolve/process_internal.h"

/* Where threads have waits, their exit is reported. If that was lost, they are kept this long. */
#define KEEP_ENDED_NS 60000000000ull

/*
 * Reads the process' memory. If it has ended, or has not touched the page yet, reads the file of
 * the interpreter, which has the names and line tables of frozen modules. (A page that the process
 * has changed can be read in its memory.)
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

/* thread_gone_fn. The thread's waits go with its stack. */
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

/* ---- from start to end ---- */

/* Without memory p->in is NULL. */
static void begin_names(struct process *p)
{
	if (p->args.share_names)
		p->shared = shared_names_join(p->args.image, p->args.identity.uid);
	p->in = p->shared ? shared_names_table(p->shared) : intern_new();
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
	p->command = args->command ? shared_text_get(args->command) : NULL;
	p->args.command = p->command;
	begin_names(p);
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

/* Frees what only records need. Their statistics are in p->stats afterwards. */
static void end_records(struct process *p)
{
	struct process_stats last;

	process_stats(p, &last);
	threads_free(&p->threads);
	waits_free(p->waits);
	python_names_free(&p->python);
	thread_names_drop(p->given);
	free(p->gc);
	if (p->shared && p->sym)
		shared_names_take(p->shared, symbolizer_leave_names(p->sym));
	symbolizer_free(p->sym);
	native_records_free(&p->native_records);
	native_frames_free(p->native);
	process_memory_free(p);
	p->stats = last;
	p->over = true;
}

static void free_rest(struct process *p)
{
	thread_names_drop(p->names);
	free(p->losses);
	if (p->shared)
		shared_names_leave(p->shared);
	else
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

/* ---- records ---- */

static int take_sample(struct process *p, const void *record, size_t len)
{
	const struct raw_sample *raw = record;
	struct raw_head head;
	struct thread *t;
	int err = 0;

	if (p->waits)			/* a wait that ends here needs the old stack */
		err = waits_tick(p->waits, record);
	if (!err)
		err = process_take_stack(p, raw, len, &t);
	if (err)
		return err;
	memcpy(&head, raw, sizeof(head));
	return process_emit(p, t, &head, 1, NULL);
}

static int take_switch_out(struct process *p, const void *record, size_t len)
{
	const struct raw_sample *raw = record;
	struct thread *t;
	int err;

	if (!p->waits)
		return -EBADMSG;
	err = waits_switch_out(p->waits, record);
	if (!err && !(raw->flags & RAW_NOT_WALKED))
		err = process_take_stack(p, raw, len, &t);
	return err;
}

static int take_switch_same(struct process *p, const void *record, size_t len)
{
	const struct raw_head *raw = record;
	struct thread *t = threads_find(&p->threads, raw->tid, raw->interp_id);
	bool known = t && t->stack_ns && t->stack_ns == raw->stack_ns;
	struct raw_head head = *raw;
	int err;

	if (!p->waits || raw->nframes)
		return -EBADMSG;
	if (known)
		head.nframes = (uint16_t)t->nframes;
	else
		head.flags |= RAW_NOT_WALKED;
	err = waits_switch_out(p->waits, &head);
	if (!err && known)
		err = process_repeat_stack(p, t, &head, raw + 1, len - sizeof(*raw));
	return err;
}

static int take_switch_in(struct process *p, const void *record, size_t len)
{
	return p->waits ? waits_switch_in(p->waits, record) : -EBADMSG;
}

static int take_thread_exit(struct process *p, const void *record, size_t len)
{
	const struct raw_switch_in *run = record;
	uint32_t interp_id;

	if (p->waits && waits_exit(p->waits, run->tid, &interp_id))
		threads_remove(&p->threads, run->tid, interp_id);
	return 0;
}

/* Renames arrive in order: the last name stays. */
static int take_rename(struct process *p, const void *record, size_t len)
{
	const struct raw_rename *raw = record;
	char comm[RAW_COMM + 1] = "";

	memcpy(comm, raw->comm, RAW_COMM);
	process_rename(p, raw->tid, comm);
	return 0;
}

static int take_code(struct process *p, const void *record, size_t len)
{
	int err = symbolizer_learn(p->sym, record, len);

	/* Without memory, its frames are read from the process later, or <unresolved>. */
	return err == -ENOMEM ? 0 : err;
}

/* The function for each kind of record, and the record's minimum size in bytes. */
static const struct record_kind {
	int (*take)(struct process *p, const void *record, size_t len);
	size_t least;
} kinds[] = {
	[RAW_SAMPLE] = { take_sample, sizeof(struct raw_head) },
	[RAW_SWITCH_OUT] = { take_switch_out, sizeof(struct raw_head) },
	[RAW_SWITCH_SAME] = { take_switch_same, sizeof(struct raw_head) },
	[RAW_SWITCH_IN] = { take_switch_in, sizeof(struct raw_switch_in) },
	[RAW_THREAD_EXIT] = { take_thread_exit, sizeof(struct raw_switch_in) },
	[RAW_NO_STACK] = { process_take_no_stack, sizeof(struct raw_no_stack) },
	[RAW_EXTRA] = { process_keep_extra, offsetof(struct raw_extra, kernel) },
	[RAW_NATIVE] = { process_keep_native, offsetof(struct raw_native, slots) },
	[RAW_ASYNC] = { process_keep_async, offsetof(struct raw_async, frames) },
	[RAW_CODE] = { take_code, offsetof(struct raw_code, table) },
	[RAW_RENAME] = { take_rename, sizeof(struct raw_rename) },
	[RAW_ALLOC] = { process_take_alloc, sizeof(struct raw_head) },
	[RAW_FREE] = { process_take_free, sizeof(struct raw_free) },
	[RAW_MOVED] = { process_take_moved, sizeof(struct raw_moved) },
	[RAW_GC_DONE] = { process_take_gc, sizeof(struct raw_gc) },
};

/* All of these except RAW_CODE, which never lacks memory, have their thread after the header. */
static uint32_t tid_of(const void *record)
{
	return ((const struct raw_free *)record)->tid;
}
#define HAS_TID_THERE(type) \
	_Static_assert(offsetof(struct type, tid) == offsetof(struct raw_free, tid), #type)
HAS_TID_THERE(raw_head);
HAS_TID_THERE(raw_switch_in);
HAS_TID_THERE(raw_no_stack);
HAS_TID_THERE(raw_extra);
HAS_TID_THERE(raw_native);
HAS_TID_THERE(raw_async);
HAS_TID_THERE(raw_moved);
HAS_TID_THERE(raw_gc);

int process_take(struct process *p, const void *record, size_t len)
{
	const struct raw_header *h = record;
	const struct record_kind *kind;

	if (len < sizeof(*h) || h->kind >= ARRAY_SIZE(kinds))
		return -EBADMSG;
	kind = &kinds[h->kind];
	if (!kind->take || len < kind->least)
		return -EBADMSG;
	return process_without_memory(p, tid_of(record), kind->take(p, record, len));
}

int process_emit_open_waits(struct process *p, uint64_t now_ns)
{
	return p->waits ? process_without_memory(p, 0, waits_emit_open(p->waits, now_ns)) : 0;
}

/* ---- once a second ---- */

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
	return p->python.again_cnt || process_frames_wait(p) ||
	       jit_watch_begins(&p->jit, p->args.image, &p->threads);
}

bool process_waits_for_names(const struct process *p)
{
	return p->native && native_frames_pending(p->native);
}

/* ---- getters ---- */

pid_t process_tgid(const struct process *p)
{
	return p->args.tgid;
}

uint64_t process_start_ns(const struct process *p)
{
	return p->args.start_ns;
}

uint64_t process_program(const struct process *p)
{
	return p->args.program;
}

pid_t process_forked_by(const struct process *p)
{
	return p->args.forked_by;
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
	if (p->over || !p->sym)
		return;
	sym = symbolizer_stats(p->sym);
	out->jit = p->jit.found;
	out->unresolved = sym->unresolved;
	out->async.unfound += sym->late_coroutines;
	out->code_cnt = sym->code_cnt;
	out->code_without_lines = sym->without_lines;
	out->code_repeated = sym->repeated;
	out->process_reads = sym->process_reads;
	out->native_unnamed = p->native ? native_frames_unnamed(p->native) : 0;
	if (p->waits)
		waits_stats(p->waits, &out->waits);
	out->lost[LOSS_WAITS_FORGOTTEN] = out->waits.forgotten;
}
