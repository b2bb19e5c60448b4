// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_records.c - what each record of the ring buffer means for the processes: samples and
 * waits find their owner; exec, fork and exit change who is there.
 */
#include "capture/capture_impl.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/proc_table.h"
#include "tachbpf.skel.h"
#include "target/proc_filter_eval.h"

static struct candidate *note_candidate(struct capture *s, const struct raw_header *h)
{
	struct candidate *cand = candidates_note(&s->candidates, h->tgid, h->start_ns);

	if (!cand)
		capture_fail(s, -ENOMEM);
	return cand;
}

static void look_if_due(struct capture *s, struct candidate *cand)
{
	if (cand->next_ns <= now_ns())
		capture_look(s, cand);
}

/*
 * When we are behind, the ring buffer holds records of a process that has been looked at
 * and admitted since. Later ones mean that the kernel has forgotten it.
 */
static bool is_older(struct capture *s, const struct raw_header *h)
{
	struct process *p = u64map_get(&s->processes, h->tgid);

	return p && process_knows_start(p, h->start_ns) && h->time_ns < process_admitted(p);
}

/*
 * A tick before an exec that let the process in meanwhile says nothing any more: the
 * exec's record is on its way. (If it was lost, samples will tell.)
 */
static void take_unknown(struct capture *s, const struct raw_tick *t)
{
	struct candidate *cand;

	if (is_older(s, &t->h)) {
		process_add_late(u64map_get(&s->processes, t->h.tgid), 1);
		return;
	}
	if (capture_is_arrival(s, t->h.tgid, t->h.start_ns))
		return;
	cand = note_candidate(s, &t->h);
	if (!cand)
		return;
	cand->ticks++;
	cand->chosen = false;
	cand->exec_pages = t->exec_pages;
	look_if_due(s, cand);
}

static void take_changed(struct capture *s, const struct raw_tick *t)
{
	struct candidate *cand = note_candidate(s, &t->h);

	if (!cand)
		return;
	candidate_changed(cand);
	look_if_due(s, cand);
}

/* Whose record it is, ready to take it. NULL: nobody's whom we know. */
static struct process *owner_of(struct capture *s, const struct raw_header *h)
{
	struct process *p = u64map_get(&s->processes, h->tgid);

	if (p && !process_knows_start(p, h->start_ns)) {
		capture_drop_process(s, p);	/* the pid came back and we missed the exit */
		p = NULL;
	}
	return p;
}

static void take_orphan(struct capture *s, const struct raw_header *h)
{
	struct candidate *cand = note_candidate(s, h);

	s->orphans++;
	if (!cand)
		return;
	cand->orphan = true;
	cand->ticks++;
	look_if_due(s, cand);
}

static void take_sample(struct capture *s, const struct raw_sample *raw, size_t len)
{
	struct process *p = owner_of(s, &raw->h);

	s->received++;
	if (!p) {
		take_orphan(s, &raw->h);
		return;
	}
	capture_fail(s, raw->h.kind == RAW_WAIT ? process_wait(p, raw, len) :
						  process_sample(p, raw, len));
}

/* Of an unknown process nobody knows what it did before: no loss. */
static void take_run(struct capture *s, const struct raw_run *run)
{
	struct process *p = u64map_get(&s->processes, run->h.tgid);

	if (!p || !process_knows_start(p, run->h.start_ns))
		return;
	if (run->h.kind == RAW_THREAD_EXIT)
		process_thread_exit(p, run->tid);
	else
		capture_fail(s, process_run(p, run));
}

static void take_extra(struct capture *s, const struct raw_extra *x, size_t len)
{
	struct process *p = owner_of(s, &x->h);

	if (p)	/* else its sample will be an orphan, too */
		capture_fail(s, process_extra(p, x, len));
}

/* In the order in which the kernel was asked: the last one counts. */
static void take_rename(struct capture *s, const struct raw_rename *ev)
{
	struct process *p = u64map_get(&s->processes, ev->h.tgid);
	char comm[RAW_COMM + 1] = "";

	if (!p || !process_knows_start(p, ev->h.start_ns))
		return;
	memcpy(comm, ev->comm, RAW_COMM);
	process_rename(p, ev->tid, comm);
}

static void take_code(struct capture *s, const struct raw_code *raw, size_t len)
{
	struct process *p = u64map_get(&s->processes, raw->h.tgid);

	if (p && process_knows_start(p, raw->h.start_ns))	/* else the next sample sorts it out */
		capture_fail(s, process_code(p, raw, len));
}

static void take_fork(struct capture *s, const struct raw_lifecycle *ev)
{
	struct process *parent = u64map_get(&s->processes, ev->parent_tgid);
	struct process_args args;
	struct candidate *cand;

	if (!ev->known)
		return;
	if (!parent) {
		/* The kernel knew the parent and we do not: an event was lost. */
		proc_table_remove(s->skel->maps.py_procs, ev->h.tgid);
		cand = note_candidate(s, &ev->h);
		if (cand)
			look_if_due(s, cand);
		return;
	}
	args = (struct process_args){
		.tgid = ev->h.tgid,
		.start_ns = ev->h.start_ns,
		.comm = process_comm(parent),
		.command = process_command(parent),
		.image = process_image(parent),
		.py = *process_py(parent),
	};
	if (ev->elsewhere)
		identity_of_pid(s->args.identities, ev->h.tgid, &args.identity);
	else
		args.identity = *process_identity(parent);
	args.identity.ns_tgid = (pid_t)ev->ns_tgid;
	capture_process_args(s, &args);
	capture_add_process(s, &args);
}

/* The arguments with spaces between them, as proc_cmdline() has them. */
static void raw_command(const struct raw_exec *ev, char out[RAW_COMMAND + 1])
{
	uint32_t len = ev->command_len < RAW_COMMAND ? ev->command_len : RAW_COMMAND, i;

	memcpy(out, ev->command, len);
	while (len && !out[len - 1])
		len--;
	for (i = 0; i < len; i++)
		if (!out[i])
			out[i] = ' ';
	out[len] = '\0';
}

/* As the kernel has it (admit_exec.bpf.h, admit_exec()). */
static struct py_proc arrival(const struct raw_exec *ev, const struct py_exe *exe)
{
	struct py_proc py = exe->proc;

	py.start_ns = ev->h.start_ns;
	py.ident = ev->ident;
	py.euid = EUID_NEVER;
	py.exe = ev->exe;
	py.exe_bias = ev->bias;
	py.state = exe->slot ? PY_PROC_ARRIVING : PY_PROC_PYTHON;
	if (!exe->slot)
		py_proc_relocate(&py, &exe->proc, ev->bias);
	return py;
}

/*
 * We may have looked at it before that exec, and told the kernel afterwards what it had been:
 * that is taken back.
 */
static void reinstate(struct capture *s, const struct raw_exec *ev, const struct py_exe *exe)
{
	struct py_proc py;

	if (!capture_kernel_knows(s, ev->h.tgid, &py) || py.ident & 1)
		return;
	py = arrival(ev, exe);
	proc_table_put(s->skel->maps.py_procs, ev->h.tgid, &py);
}

/* The kernel walks it already, from what we told it of the executable. */
static bool take_arrival(struct capture *s, const struct raw_exec *ev)
{
	struct process_args args = {
		.tgid = ev->h.tgid,
		.start_ns = ev->h.start_ns,
	};
	const struct py_exe *exe;
	char comm[RAW_COMM + 1], command[RAW_COMMAND + 1];

	args.image = exe_cache_find(s->exes, ev->exe, &exe);
	if (!ev->ident || !args.image)
		return false;
	memcpy(comm, ev->comm, RAW_COMM);
	comm[RAW_COMM] = '\0';
	args.comm = comm;
	args.command = command;
	raw_command(ev, command);
	reinstate(s, ev, exe);
	args.py = arrival(ev, exe);
	if (exe->slot)	/* where its library is, the kernel finds out */
		args.py.runtime = 0;
	args.py.state = PY_PROC_PYTHON;
	identity_of_origin(s->args.identities, ev->h.tgid, &ev->origin, &args.identity);
	capture_process_args(s, &args);
	candidates_forget(&s->candidates, ev->h.tgid);
	return capture_add_process(s, &args);
}

static void take_exec(struct capture *s, const struct raw_exec *ev)
{
	struct process *p = u64map_get(&s->processes, ev->h.tgid);
	struct candidate *cand;

	if (p && process_knows_start(p, ev->h.start_ns) && ev->h.time_ns < process_looked(p))
		return;
	if (p)
		capture_end_process(s, p, ev->h.time_ns);
	if (!capture_exec_is_chosen(s, ev)) {
		candidates_forget(&s->candidates, ev->h.tgid);
		return;
	}
	exe_cache_learn_process(s->exes, ev->h.tgid, ev->exe);
	if (take_arrival(s, ev)) {
		p = u64map_get(&s->processes, ev->h.tgid);
		if (p && ev->unselected)	/* ticks until now were not walked */
			process_set_admitted(p, ev->h.time_ns, now_ns());
		return;
	}
	cand = note_candidate(s, &ev->h);
	if (!cand)
		return;
	candidate_restart(cand);
	look_if_due(s, cand);
}

static void take_exit(struct capture *s, const struct raw_header *h)
{
	struct process *p = u64map_get(&s->processes, h->tgid);
	struct candidate *cand = candidates_find(&s->candidates, h->tgid);

	if (p && process_knows_start(p, h->start_ns))
		capture_end_process(s, p, h->time_ns);
	if (cand) {
		s->unidentified += cand->tries ? 0 : cand->ticks;
		candidates_forget(&s->candidates, h->tgid);
	}
}

static void take_cgroup(struct capture *s, const struct raw_cgroup *ev)
{
	if (s->filter_eval)
		proc_filter_eval_take_cgroup(s->filter_eval, ev);
	identities_cgroup(s->args.identities, ev);
}

void capture_take(struct capture *s, void *data, size_t len)
{
	const struct raw_header *h = data;

	if (len < sizeof(*h))
		return;
	switch (h->kind) {
	case RAW_SAMPLE:
	case RAW_WAIT:
		take_sample(s, data, len);
		break;
	case RAW_RUN:
	case RAW_THREAD_EXIT:
		if (len >= sizeof(struct raw_run))
			take_run(s, data);
		break;
	case RAW_CODE:
		take_code(s, data, len);
		break;
	case RAW_UNKNOWN:
		if (len >= sizeof(struct raw_tick))
			take_unknown(s, data);
		break;
	case RAW_CHANGED:
		if (len >= sizeof(struct raw_tick))
			take_changed(s, data);
		break;
	case RAW_EXEC:
		if (len >= sizeof(struct raw_exec))
			take_exec(s, data);
		break;
	case RAW_FORK:
		if (len >= sizeof(struct raw_lifecycle))
			take_fork(s, data);
		break;
	case RAW_EXIT:
		take_exit(s, h);
		break;
	case RAW_EXTRA:
		if (len >= offsetof(struct raw_extra, kernel))
			take_extra(s, data, len);
		break;
	case RAW_RENAME:
		if (len >= sizeof(struct raw_rename))
			take_rename(s, data);
		break;
	case RAW_CGROUP:
		if (len >= sizeof(struct raw_cgroup))
			take_cgroup(s, data);
		break;
	}
}
