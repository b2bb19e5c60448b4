// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_records.c - passes records to their process; begins and ends processes at exec, fork and
 * exit. See capture_records.h.
 */
#include "capture/capture_records.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "bpf/abi_await.h"
#include "bpf/abi_native.h"
#include "capture/capture_filter.h"
#include "capture/capture_inspect.h"
#include "capture/capture_state.h"
#include "capture/proc_table.h"
#include "host/identity.h"
#include "host/proc.h"
#include "target/exe_cache.h"
#include "target/proc_filter_eval.h"

#define CMDLINE_MAX 4096

/* The process of a record, if it has a struct process; NULL: it is not profiled. */
static struct tracked *profiled(struct capture *s, const struct raw_header *h)
{
	struct tracked *t = lifecycle_find(&s->life, h->tgid);

	return t && t->process && lifecycle_confirm_start(t, h->start_ns) ? t : NULL;
}

/* ---- processes that the BPF side does not know ---- */

/*
 * A tick in a process that has no entry in py_procs. Meanwhile user space may have admitted the
 * process: then the tick counts as discovered late. Or the BPF side has admitted it at an exec:
 * then the tick is ignored, because RAW_EXEC will come. (If that was lost, an orphan comes.)
 */
static void take_unknown(struct capture *s, const struct raw_tick *tick)
{
	struct tracked *t = profiled(s, &tick->h);

	if (t && tick->h.time_ns < t->admitted_ns) {
		process_add_lost(t->process, 0, LOSS_LATE_DISCOVERY,
				 tick->h.time_ns >= t->plain_ns);
		return;
	}
	if (lifecycle_bpf_admitted(&s->life, tick->h.tgid, tick->h.start_ns))
		return;
	t = lifecycle_ask(&s->life, tick->h.tgid, tick->h.start_ns);
	if (!t)
		return;
	t->asked += tick->h.time_ns >= t->plain_ns;
	t->selected = false;
	t->other = exe_cache_is_other(s->exes, &tick->file);
	t->exec_pages = tick->exec_pages;
	capture_inspect_if_due(s, t);
}

/* The process of a record, tracked from now on if it was not. NULL: no memory. */
static struct tracked *known(struct capture *s, const struct raw_header *h)
{
	struct tracked *t = lifecycle_find(&s->life, h->tgid);

	if (t && lifecycle_confirm_start(t, h->start_ns))
		return t;
	return lifecycle_ask(&s->life, h->tgid, h->start_ns);
}

static void take_changed(struct capture *s, const struct raw_tick *tick)
{
	struct tracked *t = known(s, &tick->h);

	if (!t)
		return;
	if (tick->h.why == CHANGED_ASYNC) {
		capture_async_changed(s, t);
		return;
	}
	if (t->plain && tick->h.time_ns >= t->plain_ns) {
		t->plain_ticks = tick->ticks;
		t->plain = false;
	}
	native_life_stale(&s->life.machine, t->process);
	inspect_changed(&t->schedule);
	capture_inspect_if_due(s, t);
}

/* The BPF side walks a process that user space does not profile: an earlier record was lost. */
static void take_orphan(struct capture *s, const struct raw_header *h)
{
	struct tracked *t = known(s, h);

	s->orphans++;
	if (!t)
		return;
	t->orphan = true;
	capture_inspect_if_due(s, t);
}

/* ---- records of a process that is profiled ---- */

/* Is the record a sample, or the begin of a wait or an allocation? */
static bool is_event(uint32_t kind)
{
	return kind == RAW_SAMPLE || kind == RAW_NO_STACK || kind == RAW_SWITCH_OUT ||
	       kind == RAW_SWITCH_SAME || kind == RAW_ALLOC;
}

/*
 * If the process is not profiled, nothing is lost of records that are no events: the begin of a
 * wait that ends is not known either, an orphan follows, or a later record says the same.
 */
static void take_of_process(struct capture *s, const struct raw_header *h, size_t len)
{
	struct tracked *t = profiled(s, h);
	int err = 0;

	if (t)
		err = h->kind == RAW_TASK ? capture_chains_take(s, t, (const void *)h, len) :
					    process_take(t->process, h, len);

	s->received += is_event(h->kind);
	if (err == -EBADMSG)
		log_error("a record of the BPF programs (kind %u, %zu bytes) is malformed, so the "
			  "recording ends; please report this", h->kind, len);
	if (t)
		lifecycle_fail(&s->life, err);
	else if (is_event(h->kind))
		take_orphan(s, h);
}

/* ---- processes begin, change and end ---- */

/* The identity of a child. It is its parent's, unless ev says that the child is elsewhere. */
static void child_identity(struct capture *s, const struct raw_lifecycle *ev,
			   const struct process *parent, struct identity *out)
{
	struct proc_info who;

	*out = *process_identity(parent);
	if (ev->other_cgroups) {
		*out = (struct identity){ .uid = IDENTITY_NO_UID };
		if (!proc_info_read(ev->h.tgid, &who))
			identity_of_process(s->args.identities, &who, out);
	}
	out->ns_tgid = (pid_t)ev->ns_tgid;
}

static void take_fork(struct capture *s, const struct raw_lifecycle *ev)
{
	struct process *parent = lifecycle_process(&s->life, ev->parent_tgid);
	struct process_args args;
	struct tracked *t;

	if (!ev->admitted)
		return;
	if (!parent) {
		/* The BPF side knows the parent, user space does not: a record was lost. */
		proc_table_remove(s->life.table, ev->h.tgid);
		t = known(s, &ev->h);
		if (t)
			capture_inspect_if_due(s, t);
		return;
	}
	args = (struct process_args){
		.tgid = ev->h.tgid,
		.start_ns = ev->h.start_ns,
		.program = process_program(parent),
		.forked_by = ev->parent_tgid,
		.comm = process_comm(parent),
		.command = process_command(parent),
		.image = process_image(parent),
		.py = *process_py(parent),
	};
	child_identity(s, ev, parent, &args.identity);
	capture_process_args(s, &args);
	t = lifecycle_admit(&s->life, &(struct step){ .args = &args, .parent = ev->parent_tgid });
	if (t)
		capture_filter_judge_admitted(s, t, ev->h.time_ns);
}

/*
 * The arguments, separated by spaces as in proc_cmdline(). If they are longer than the record,
 * they are read from /proc, provided that the process still lives.
 */
static void command_of(const struct raw_exec *ev, char out[CMDLINE_MAX])
{
	uint32_t len = ev->command_len < RAW_COMMAND ? ev->command_len : RAW_COMMAND, i;

	if (ev->command_len > RAW_COMMAND &&
	    !proc_cmdline(proc_living_task(ev->h.tgid), out, CMDLINE_MAX))
		return;
	memcpy(out, ev->command, len);
	while (len && !out[len - 1])
		len--;
	for (i = 0; i < len; i++)
		if (!out[i])
			out[i] = ' ';
	out[len] = '\0';
}

/* The entry of py_procs that the BPF side wrote (admit_exec.bpf.h, admit_exec()). */
static struct py_proc entry_of_exec(const struct raw_exec *ev, const struct py_exe *exe)
{
	struct py_proc py = exe->proc;

	py.start_ns = ev->h.start_ns;
	py.ident = ev->ident;
	py.euid = EUID_NEVER;
	py.exe = ev->exe;
	py.exe_bias = ev->bias;
	py.state = exe->slot ? PY_PROC_LINKING : PY_PROC_PYTHON;
	if (!exe->slot)
		py_proc_relocate(&py, &exe->proc, ev->bias);
	return py;
}

/*
 * User space may have inspected the process before that exec and written its entry after it, over
 * the one of the BPF side; or it has changed the entry (capture_filter.c, let_in()) and so written
 * a copy of what the BPF side had not completed yet. Write the entry of the BPF side again.
 */
static void reinstate(struct capture *s, const struct raw_exec *ev, const struct py_exe *exe)
{
	struct py_proc py;

	if (!proc_table_get(s->life.table, ev->h.tgid, &py))
		return;
	if (py.ident & 1 && (py.ident != ev->ident || py.state != PY_PROC_OTHER))
		return;		/* whole, or of a later exec */
	py = entry_of_exec(ev, exe);
	proc_table_put(s->life.table, ev->h.tgid, &py);
}

/* Returns false if the BPF side did not admit the process at this exec. */
static bool take_admitted(struct capture *s, const struct raw_exec *ev)
{
	const struct py_exe *exe;
	const struct cpython_image *image = exe_cache_find(s->exes, ev->exe, &exe);
	char comm[RAW_COMM + 1] = "", command[CMDLINE_MAX];
	struct process_args args = {
		.tgid = ev->h.tgid,
		.start_ns = ev->h.start_ns,
		.program = ev->program,
		.comm = comm,
		.command = command,
		.image = image,
		.executed_here = true,
	};
	struct tracked *t;

	if (!ev->ident || !image)
		return false;
	memcpy(comm, ev->comm, RAW_COMM);
	command_of(ev, command);
	reinstate(s, ev, exe);
	args.py = entry_of_exec(ev, exe);
	if (exe->slot)	/* the BPF side resolves its libpython; user space has no address */
		args.py.runtime = 0;
	args.py.state = PY_PROC_PYTHON;
	identity_of_origin(s->args.identities, ev->h.tgid, &ev->origin, &args.identity);
	capture_process_args(s, &args);
	t = lifecycle_admit(&s->life, &(struct step){ .args = &args, .end_ns = ev->h.time_ns });
	if (t)
		t->program = ev->program;
	if (t && ev->unselected)	/* it was excluded until now: its ticks were not walked */
		lifecycle_set_admitted(t, ev->h.time_ns);
	return true;
}

/*
 * An inspection that an earlier record asked for saw the program of this exec; maybe before
 * on_exec() ran, which has removed the entry then.
 */
static void keep_program(struct capture *s, struct tracked *t)
{
	struct process_args args = { .py = *process_py(t->process) };

	t->program_seen = false;
	lifecycle_step(&s->life, t, PROC_EV_EXEC_SEEN, &(struct step){ .args = &args });
}

/*
 * The process has executed a program (proc_stat.program; 0: unknown), so the one before has ended.
 * False: nothing to do, for the process was inspected when it executed this program or a later one.
 */
static bool end_program(struct capture *s, const struct raw_header *h, uint64_t program)
{
	struct tracked *t = profiled(s, h);

	if (t && t->program_seen && program == t->program) {
		keep_program(s, t);
		return false;
	}
	if (t && h->time_ns < t->inspected_ns)
		return false;
	t = lifecycle_find(&s->life, h->tgid);
	if (t)
		capture_end_program(s, t, h->time_ns);
	return true;
}

/* The process is not tracked from now on. */
static void stop_tracking(struct capture *s, pid_t tgid)
{
	struct tracked *t = lifecycle_find(&s->life, tgid);

	if (t)
		lifecycle_step(&s->life, t, PROC_EV_ENDED, NULL);
}

/* Its new program is no Python: if it becomes one, its ticks ask. */
static void take_exec_other(struct capture *s, const struct raw_lifecycle *ev)
{
	if (end_program(s, &ev->h, ev->ident))
		stop_tracking(s, ev->h.tgid);
}

static void take_exec(struct capture *s, const struct raw_exec *ev)
{
	struct tracked *t;

	/* What is perhaps excluded is judged, and begins again. */
	if (!end_program(s, &ev->h, ev->unselected ? 0 : ev->program))
		return;
	if (!capture_filter_admits_exec(s, ev)) {
		stop_tracking(s, ev->h.tgid);
		return;
	}
	exe_cache_learn_process(s->exes, ev->h.tgid, ev->origin.uid, ev->exe, &ev->file);
	if (take_admitted(s, ev))
		return;
	t = known(s, &ev->h);
	if (!t)
		return;
	t->program = ev->program;
	t->executed = true;
	capture_inspect_if_due(s, t);
}

static void take_exit(struct capture *s, const struct raw_header *h)
{
	struct tracked *t = lifecycle_find(&s->life, h->tgid);

	if (!t || !lifecycle_confirm_start(t, h->start_ns))
		return;
	s->unidentified += t->schedule.tries ? 0 : lifecycle_unidentified(t);
	capture_take_losses(s);
	lifecycle_step(&s->life, t, PROC_EV_ENDED, &(struct step){ .end_ns = h->time_ns });
}

static void take_cgroup(struct capture *s, const struct raw_cgroup *ev)
{
	if (s->filter_eval)
		proc_filter_eval_take_cgroup(s->filter_eval, ev);
	identities_cgroup(s->args.identities, ev);
}

/* Is a process or a code object new, or will user space look for something? */
static bool says_new(uint32_t kind)
{
	return kind == RAW_CODE || kind == RAW_UNKNOWN || kind == RAW_CHANGED || kind == RAW_EXEC ||
	       kind == RAW_FORK || kind == RAW_RENAME;
}

/* Take the record, which begins with h. */
static void take_record(struct capture *s, const struct raw_header *h, size_t len)
{
	const void *data = h;

	switch (h->kind) {
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
	case RAW_EXEC_OTHER:
		if (len >= sizeof(struct raw_lifecycle))
			take_exec_other(s, data);
		break;
	case RAW_FORK:
		if (len >= sizeof(struct raw_lifecycle))
			take_fork(s, data);
		break;
	case RAW_EXIT:
		take_exit(s, h);
		break;
	case RAW_CGROUP:
		if (len >= sizeof(struct raw_cgroup))
			take_cgroup(s, data);
		break;
	default:
		take_of_process(s, h, len);
	}
}

void capture_take(struct capture *s, const void *data, size_t len)
{
	const struct raw_header *h = data;
	const struct raw_switch_in *in = data;

	if (len < sizeof(*h))
		return;
	/* The same entry may have a record of the thread that had the CPU before. */
	if (h->kind == RAW_SWITCH_IN && len >= sizeof(*in) + sizeof(*h)) {
		take_record(s, h, sizeof(*in));
		h = (const struct raw_header *)(in + 1);
		len -= sizeof(*in);
	}
	s->some_new |= says_new(h->kind);
	take_record(s, h, len);
}
