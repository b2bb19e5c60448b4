// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_filter.c - applies the verdicts of proc_filter_eval.c to processes and to the map
 * py_procs. See capture_filter.h.
 */
#include "capture/capture_filter.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/proc_table.h"
#include "tachbpf.skel.h"
#include "target/proc_filter_eval.h"

int capture_filter_configure(struct capture *s)
{
	struct filter_config cfg;

	if (!s->args.proc_filter)
		return bpf_map__set_max_entries(s->skel->maps.marks, 1);
	s->filter_eval = proc_filter_eval_new(s->args.proc_filter);
	if (!s->filter_eval)
		return -errno;
	proc_filter_eval_config(s->filter_eval, &cfg);
	s->skel->rodata->cfg_filter = cfg;
	if (cfg.cgroups && cfg.cgroup_ask)
		bpf_program__set_autoload(s->skel->progs.on_cgroup_mkdir, true);
	bpf_program__set_autoload(s->skel->progs.on_cgroup_rmdir, cfg.cgroups);
	bpf_program__set_autoload(s->skel->progs.on_cgroup_attach, cfg.cgroups);
	return bpf_map__set_max_entries(s->skel->maps.marks,
					proc_filter_eval_marks_max(s->filter_eval));
}

/* Remove the exclusion from the map py_procs: the process meets the conditions. */
static void let_in(struct capture *s, pid_t tgid)
{
	struct py_proc py;

	if (!proc_table_get(s->life.table, tgid, &py))
		return;
	if (py.state == PY_PROC_UNSEEN) {
		proc_table_remove(s->life.table, tgid);
	} else if (py.unselected) {
		py.unselected = 0;
		proc_table_put(s->life.table, tgid, &py);
	}
}

bool capture_filter_admits(struct capture *s, struct tracked *t)
{
	uint64_t wait;
	int why;

	if (!s->filter_eval || t->selected)
		return true;
	wait = proc_filter_eval_wait_ns(s->filter_eval, t->tgid, t->start_ns);
	if (wait) {
		t->schedule.next_ns = now_ns() + wait;
		return false;
	}
	why = proc_filter_eval_judge(s->filter_eval, t->tgid);
	if (why > 0) {
		inspect_no_more(&t->schedule);
		lifecycle_step(&s->life, t, PROC_EV_EXCLUDED,
			       &(struct step){ .unselected = (uint8_t)why });
		return false;
	}
	t->selected = true;
	t->schedule.tries = 0;
	if (!why)
		let_in(s, t->tgid);
	return true;
}

bool capture_filter_meets(struct capture *s, pid_t tgid)
{
	return !s->filter_eval || (!proc_filter_eval_wait_ns(s->filter_eval, tgid, 0) &&
				   proc_filter_eval_judge(s->filter_eval, tgid) <= 0);
}

/* Was the process admitted again by the BPF side (odd ident), at a later exec than ev's? */
static bool has_executed_since(struct capture *s, const struct raw_exec *ev)
{
	struct py_proc py;

	return proc_table_get(s->life.table, ev->h.tgid, &py) && ev->ident && py.ident & 1 &&
	       py.ident != ev->ident;
}

bool capture_filter_admits_exec(struct capture *s, const struct raw_exec *ev)
{
	struct tracked *t;
	int why;

	if (!ev->unselected)
		return true;
	if (ev->unselected & UNSELECTED_FOR_SURE)
		return false;
	proc_filter_eval_take_comm(s->filter_eval, ev->comm);
	why = proc_filter_eval_judge(s->filter_eval, ev->h.tgid);
	if (why < 0 || has_executed_since(s, ev))
		return false;
	if (!why) {
		let_in(s, ev->h.tgid);
		return true;
	}
	t = lifecycle_ask(&s->life, ev->h.tgid, ev->h.start_ns);
	if (t)
		lifecycle_step(&s->life, t, PROC_EV_EXCLUDED,
			       &(struct step){ .unselected = (uint8_t)why });
	return false;
}
