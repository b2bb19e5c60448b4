// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_filter.c - processes that do not meet the conditions are left alone: between what
 * proc_filter_eval.c says of a process and its entry in the kernel's table.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/util.h"
#include "capture/capture_impl.h"
#include "capture/proc_table.h"
#include "host/proc.h"
#include "tachbpf.skel.h"
#include "target/proc_filter_eval.h"

#define ANCESTORS_MAX 64

int capture_choose_config(struct capture *s)
{
	struct select_config cfg;

	if (!s->args.selection)
		return bpf_map__set_max_entries(s->skel->maps.marks, 1);
	s->filter_eval = proc_filter_eval_new(s->args.selection);
	if (!s->filter_eval)
		return -errno;
	proc_filter_eval_config(s->filter_eval, &cfg);
	s->skel->rodata->cfg_select = cfg;
	if (cfg.cgroups && cfg.cgroup_ask)
		bpf_program__set_autoload(s->skel->progs.on_cgroup_mkdir, true);
	bpf_program__set_autoload(s->skel->progs.on_cgroup_rmdir, cfg.cgroups);
	bpf_program__set_autoload(s->skel->progs.on_cgroup_attach, cfg.cgroups);
	return bpf_map__set_max_entries(s->skel->maps.marks,
					proc_filter_eval_marks_max(s->filter_eval));
}

/* What nobody is to look at: an entry of its own, or in that of a process that was recorded. */
static void leave_out(struct capture *s, pid_t tgid, uint64_t start_ns, int why)
{
	struct py_proc py;

	if (!capture_kernel_knows(s, tgid, &py) || !u64map_get(&s->processes, tgid) ||
	    (start_ns && py.start_ns != start_ns))
		py = (struct py_proc){
			.start_ns = start_ns,
			.ident = capture_new_ident(tgid),
			.state = PY_PROC_UNSEEN,
		};
	py.unselected = (uint8_t)why;
	py.euid = EUID_NEVER;
	proc_table_put(s->skel->maps.py_procs, tgid, &py);
}

/* Nothing is in the way of looking at it, or of the kernel's walking it already. */
static void let_in(struct capture *s, pid_t tgid)
{
	struct py_proc py;

	if (!capture_kernel_knows(s, tgid, &py))
		return;
	if (py.state == PY_PROC_UNSEEN) {
		proc_table_remove(s->skel->maps.py_procs, tgid);
	} else if (py.unselected) {
		py.unselected = 0;
		proc_table_put(s->skel->maps.py_procs, tgid, &py);
	}
}

bool capture_is_chosen(struct capture *s, struct candidate *cand)
{
	uint64_t wait;
	int why;

	if (!s->filter_eval || cand->chosen)
		return true;
	wait = proc_filter_eval_wait_ns(s->filter_eval, cand->tgid, cand->start_ns);
	if (wait) {
		cand->next_ns = now_ns() + wait;
		return false;
	}
	why = proc_filter_eval_judge(s->filter_eval, cand->tgid);
	if (why > 0) {
		leave_out(s, cand->tgid, cand->start_ns, why);
		candidates_forget(&s->candidates, cand->tgid);
		return false;
	}
	cand->chosen = true;
	cand->tries = 0;
	if (!why)
		let_in(s, cand->tgid);
	return true;
}

bool capture_chooses(struct capture *s, pid_t tgid)
{
	return !s->filter_eval || (!proc_filter_eval_wait_ns(s->filter_eval, tgid, 0) &&
				   proc_filter_eval_judge(s->filter_eval, tgid) <= 0);
}

bool capture_exec_is_chosen(struct capture *s, const struct raw_exec *ev)
{
	struct py_proc py;
	int why;

	if (!ev->unselected)
		return true;
	if (ev->unselected & UNSELECTED_FOR_SURE)
		return false;
	proc_filter_eval_take_comm(s->filter_eval, ev->comm);
	why = proc_filter_eval_judge(s->filter_eval, ev->h.tgid);
	if (why < 0)
		return false;
	/* If it has executed something else since, that has a record of its own. (Not ours: odd.) */
	if (capture_kernel_knows(s, ev->h.tgid, &py) && ev->ident && py.ident & 1 &&
	    py.ident != ev->ident)
		return false;
	if (why)
		leave_out(s, ev->h.tgid, ev->h.start_ns, why);
	else
		let_in(s, ev->h.tgid);
	return !why;
}

/* ---- children of processes that were asked for ---- */

static bool descends_from(pid_t tgid, pid_t ancestor)
{
	struct proc_stat st;
	int i;

	for (i = 0; i < ANCESTORS_MAX && !proc_stat(tgid, &st); i++) {
		if (st.ppid == ancestor)
			return true;
		tgid = st.ppid;
	}
	return false;
}

struct brood {
	struct capture *s;
	pid_t ancestor;
};

static int add_child(void *ctx, pid_t tgid)
{
	struct brood *b = ctx;
	struct candidate *cand;
	int err;

	if (tgid == b->ancestor || !descends_from(tgid, b->ancestor))
		return 0;
	err = capture_watch(b->s, tgid, WATCH_CHILDREN);
	if (err || u64map_get(&b->s->processes, tgid))
		return err;
	cand = candidates_note(&b->s->candidates, tgid, 0);
	if (!cand)
		return -ENOMEM;
	capture_look(b->s, cand);
	return 0;
}

int capture_add_children(struct capture *s, pid_t tgid)
{
	struct brood brood = { s, tgid };
	int err = capture_watch(s, tgid, WATCH_CHILDREN);

	/* Twice: a child may fork one with a lower id while we look, before we watch it. */
	if (!err)
		err = proc_each(add_child, &brood);
	return err ? err : proc_each(add_child, &brood);
}
