/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_filter.bpf.h - is a process one of those that are to be recorded?
 *
 * Judged when it comes (fork, exec) or changes its cgroup, and kept in its entry of
 * py_procs: a tick looks there and nowhere else. What names and paths mean is user
 * space's to say; here are marks on cgroups, uids and names. Without conditions
 * none of this is loaded.
 */
#ifndef TACHBPF_PROC_FILTER_BPF_H
#define TACHBPF_PROC_FILTER_BPF_H

#include "common.bpf.h"

/* ---- when a process comes ---- */

#define MARK_UNKNOWN (1u << 31)	/* user space has not judged a cgroup that the task is in */

/* Of all hierarchies together: v1 has up to a dozen. What does not fit, user space decides. */
#define CGROUP_STEPS 96

/* Zero, which the verifier takes for any number: it need not tell states apart by it. */
static __always_inline u32 opaque_zero(u64 v)
{
	u64 same = v;

	barrier_var(v);
	barrier_var(same);
	return v - same;
}

/*
 * What is marked on the cgroups of a css_set and on all above them. Static: without conditions
 * on cgroups nothing calls it, and the verifier does not look at it.
 */
static __noinline u32 marks_on_cgroups(u64 css_set)
{
	const struct list_head *head = cgroup_list((const void *)css_set), *pos = head;
	const u32 zero = opaque_zero(css_set);
	const struct cgroup *cg = 0;
	u32 found = zero, unjudged, i;
	const u32 *mark;
	u64 key;

#pragma clang loop unroll(disable)
	for (i = 0; i < CGROUP_STEPS; i++) {
		unjudged = zero;
		if (!cg) {
			pos = cgroup_list_next(pos);
			if (!pos || pos == head)
				return found;
			cg = cgroup_at(pos);
			unjudged |= MARK_UNKNOWN;	/* of those above, it is no news */
		}
		key = mark_of_cgroup(cgroup_hierarchy(cg), cgroup_id(cg));
		mark = bpf_map_lookup_elem(&marks, &key);
		found |= mark ? *mark : unjudged;
		cg = cgroup_parent(cg);
	}
	return found | MARK_UNKNOWN;
}

static __always_inline u8 judge_cgroups(const struct task_struct *task)
{
	u32 found;

	if (!cfg_select.cgroups)
		return 0;
	found = marks_on_cgroups((u64)cgroups_of(task));
	if (!cfg_select.cgroup_ask)
		found &= ~MARK_UNKNOWN;
	if (found & MARK_EXCLUDED)
		return UNSELECTED_CGROUP;
	/* More marks can only take away what was let in, or let in what was not. */
	if ((found & cfg_select.cgroup_kinds) == cfg_select.cgroup_kinds)
		return found & MARK_UNKNOWN && cfg_select.cgroup_excludes ? UNDECIDED : 0;
	return found & MARK_UNKNOWN ? UNDECIDED : UNSELECTED_CGROUP;
}

static __always_inline u8 judge_uid(u32 uid)
{
	u64 key = mark_of_uid(uid);
	const u32 *mark = bpf_map_lookup_elem(&marks, &key);

	if (mark)
		return *mark & MARK_EXCLUDED ? UNSELECTED_UID : 0;
	return cfg_select.uid_needed ? UNSELECTED_UID : 0;
}

/* comm: what it is called from now on. */
static __always_inline u8 judge_names(const u8 comm[COMM_BYTES])
{
	const u32 *mark;
	u64 key;

	if (!cfg_select.comms)
		return cfg_select.exes ? UNDECIDED : 0;
	key = mark_of_comm(comm);
	mark = bpf_map_lookup_elem(&marks, &key);
	if (mark && !(*mark & MARK_INCLUDED))
		return UNSELECTED_NAME;
	return mark && !cfg_select.exes ? 0 : UNDECIDED;
}

/* Of a process that executes a file; known: what it was before, or NULL. */
static __always_inline u8 judge_exec(const struct task_struct *task, const u8 comm[COMM_BYTES],
				     const struct py_proc *known)
{
	u8 not = known ? known->unselected & UNSELECTED_PID : 0;

	not |= judge_cgroups(task) | judge_names(comm);
	if (cfg_select.uids)
		not |= judge_uid(task_euid(task));
	return not & UNSELECTED_FOR_SURE ? not & ~UNDECIDED : not;
}

/* An entry for a process that nobody is to look at. No loss if there is no room: it is asked about. */
static __always_inline void put_unseen(struct task_struct *task, u64 start_ns, u8 unselected)
{
	struct py_proc p = {
		.start_ns = start_ns,
		.ident = start_ns | 1,
		.state = PY_PROC_UNSEEN,
		.unselected = unselected,
		.euid = task_euid(task),
	};
	u32 tgid = task->tgid;

	bpf_map_update_elem(&py_procs, &tgid, &p, BPF_ANY);
}

/*
 * Does a fork get its parent's entry? What is judged by is the same for both, unless it was
 * forked into another cgroup. false: it is judged when it runs.
 */
static __always_inline bool fork_inherits(struct py_proc *copy, const struct task_struct *parent,
					  const struct task_struct *child)
{
	if (!cfg_select.children)
		copy->unselected &= ~UNSELECTED_PID;
	if (copy->unselected & UNDECIDED || (copy->state == PY_PROC_UNSEEN && !copy->unselected))
		return false;
	return !cfg_select.cgroups || cgroups_of(parent) == cgroups_of(child);
}

/* ---- when it runs ---- */

static __always_inline bool is_young(u64 start_ns)
{
	return cfg_select.min_age_ns && bpf_ktime_get_boot_ns() - start_ns < cfg_select.min_age_ns;
}

/* Of the current process. Servers give up root after they have started. */
static __always_inline bool is_unselected(struct py_proc *p, u64 start_ns)
{
	u32 uid;

	if (cfg_select.uids) {
		uid = current_euid();
		if (p->euid != uid) {
			p->euid = uid;
			p->unselected = (p->unselected & ~UNSELECTED_UID) | judge_uid(uid);
		}
	}
	return p->unselected & UNSELECTED_FOR_SURE || is_young(start_ns);
}

#endif
