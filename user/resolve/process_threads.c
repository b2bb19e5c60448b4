// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_threads.c - the threads of a process and their names. See process_internal.h. */
#include <stdio.h>
#include <string.h>

#include "host/proc.h"
#include "model/thread_names.h"
#include "resolve/process_internal.h"

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

void process_say_comm(struct process *p, uint32_t tid, const char *comm)
{
	p->said_tid = tid;
	memcpy(p->said_comm, comm, sizeof(p->said_comm) - 1);
}

/*
 * Reads a new thread's name from /proc, unless it was said; later changes come as RAW_RENAME. The
 * first thread has the name of the process. Only the first THREAD_NAMES_MAX threads of a process
 * are read.
 */
static void read_thread_name(struct process *p, uint32_t tid)
{
	char path[32], comm[PROC_COMM_MAX];
	ssize_t len;

	if (tid == (uint32_t)p->args.tgid || p->stats.threads > THREAD_NAMES_MAX ||
	    thread_names_find(p->names, tid))
		return;
	if (tid == p->said_tid) {
		p->said_tid = 0;
		process_rename(p, tid, p->said_comm);
		return;
	}
	snprintf(path, sizeof(path), "task/%u/comm", tid);
	len = proc_read(p->args.tgid, path, comm, sizeof(comm));
	if (len <= 1)
		return;
	comm[len - 1] = '\0';	/* a line feed */
	process_rename(p, tid, comm);
}

/* python_named_fn. A name set by the program is the best one, a numbered one the worst. */
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

/* If the BPF side has admitted the process, it has found the address. */
uint64_t process_interps(const struct process *p)
{
	struct py_proc py;

	if (!p->args.py.runtime && p->args.entry &&
	    !p->args.entry(p->args.entry_ctx, p->args.tgid, &py) && py.state == PY_PROC_PYTHON)
		return py.interps;
	return p->args.py.runtime ? p->args.py.interps : 0;
}

/* python_interps_fn */
static uint64_t interps_of(void *ctx)
{
	return process_interps(ctx);
}

bool process_has_musl(const struct process *p)
{
	const struct cpython_image *image = p->args.image;

	return image->needs_musl || image->tstate_how == PY_TSTATE_TSS_MUSL;
}

void process_names_init(struct process *p)
{
	const struct cpython_image *image = p->args.image;
	const struct python_threads_at at = {
		.interp_next = image->layout.interp_next, .objects = image->objects,
		.musl = process_has_musl(p),
	};

	python_names_init(&p->python, p->args.tgid, &at, python_named, interps_of, p);
}

/* Reads the names of a new thread. */
static void read_names(struct process *p, uint32_t tid)
{
	read_thread_name(p, tid);
	if (p->stats.threads <= THREAD_NAMES_MAX)
		python_names_thread(&p->python, tid);
}

const struct thread_names *process_thread_names(const struct process *p)
{
	return p->names;
}

struct thread *process_thread(struct process *p, uint32_t tid, uint32_t interp_id)
{
	struct thread *t = threads_find(&p->threads, tid, interp_id);

	if (t)
		return t;
	t = threads_add(&p->threads, tid, interp_id);
	if (t) {
		p->stats.threads++;
		read_names(p, tid);
	}
	return t;
}
