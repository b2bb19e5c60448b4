/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_filter.bpf.h - checks whether a process meets the user's conditions.
 *
 * A process is judged at its exec and fork, and when its cgroup or its uid changes. Its entry in
 * py_procs has the verdict (unselected), so a tick needs no further look-up. Only user space
 * understands names and paths; the BPF side judges by the marks on cgroups, uids and comms. Without
 * conditions none of this is loaded.
 */
#ifndef TACHBPF_PROC_FILTER_BPF_H
#define TACHBPF_PROC_FILTER_BPF_H

#include "common.bpf.h"

/* ---- at exec, fork and cgroup changes ---- */

#define MARK_UNKNOWN (1u << 31)	/* a cgroup of the task has no mark so far */

/*
 * Limit on steps in all hierarchies together (v1 has up to a dozen). If it is reached, user space
 * must judge the process.
 */
#define CGROUP_STEPS 96

/*
 * The MARK_* bits of a css_set's cgroups and of all cgroups above them; also MARK_UNKNOWN if one of
 * its own cgroups has no mark or the limit was reached. The function is static: without conditions
 * on cgroups it has no caller, and the verifier skips it.
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
			unjudged |= MARK_UNKNOWN;	/* not for those above it: they are
							 * older, and have been judged */
		}
		key = cgroup_key(cgroup_hierarchy(cg), cgroup_id(cg));
		mark = bpf_map_lookup_elem(&marks, &key);
		found |= mark ? *mark : unjudged;
		cg = cgroup_parent(cg);
	}
	return found | MARK_UNKNOWN;
}

/* Returns 0, UNSELECTED_CGROUP or UNDECIDED. */
static __always_inline u8 judge_cgroups(const struct task_struct *task)
{
	u32 found;

	if (!cfg_filter.cgroups)
		return 0;
	found = marks_on_cgroups((u64)cgroups_of(task));
	if (!cfg_filter.cgroup_ask)
		found &= ~MARK_UNKNOWN;
	if (found & MARK_EXCLUDED)
		return UNSELECTED_CGROUP;
	/*
	 * A later mark can only exclude a process that is selected now, or select one that is not.
	 */
	if ((found & cfg_filter.cgroup_kinds) == cfg_filter.cgroup_kinds)
		return found & MARK_UNKNOWN && cfg_filter.cgroup_excludes ? UNDECIDED : 0;
	return found & MARK_UNKNOWN ? UNDECIDED : UNSELECTED_CGROUP;
}

/* Returns 0 or UNSELECTED_UID. */
static __always_inline u8 judge_uid(u32 uid)
{
	u64 key = uid_key(uid);
	const u32 *mark = bpf_map_lookup_elem(&marks, &key);

	if (mark)
		return *mark & MARK_EXCLUDED ? UNSELECTED_UID : 0;
	return cfg_filter.uid_needed ? UNSELECTED_UID : 0;
}

/* comm: the name after the exec. Returns 0, UNSELECTED_NAME or UNDECIDED. */
static __always_inline u8 judge_names(const u8 comm[COMM_BYTES])
{
	const u32 *mark;
	u64 key;

	if (!cfg_filter.comms)
		return cfg_filter.exes ? UNDECIDED : 0;
	key = comm_key(comm);
	mark = bpf_map_lookup_elem(&marks, &key);
	if (mark && !(*mark & MARK_INCLUDED))
		return UNSELECTED_NAME;
	return mark && !cfg_filter.exes ? 0 : UNDECIDED;
}

/*
 * Judge a process that executes a file. known: its entry from before the exec, or NULL. Returns
 * UNSELECTED_* bits, or UNDECIDED alone.
 */
static __always_inline u8 judge_exec(const struct task_struct *task, const u8 comm[COMM_BYTES],
				     const struct py_proc *known)
{
	u8 not = known ? known->unselected & UNSELECTED_PID : 0;

	not |= judge_cgroups(task) | judge_names(comm);
	if (cfg_filter.uids)
		not |= judge_uid(task_euid(task));
	return not & UNSELECTED_FOR_SURE ? not & ~UNDECIDED : not;
}

/*
 * Returns true if a child may get a copy of its parent's entry, known, without UNSELECTED_PID if
 * children of those are not excluded: unless the parent was not judged or the child is in another
 * cgroup, the verdict is the same for both. If false, the child is judged at its first tick.
 */
static __always_inline bool fork_inherits(const struct py_proc *known,
					  const struct task_struct *parent,
					  const struct task_struct *child)
{
	u8 not = cfg_filter.children ? known->unselected : known->unselected & ~UNSELECTED_PID;

	if (not & UNDECIDED || (known->state == PY_PROC_UNSEEN && !not))
		return false;
	return !cfg_filter.cgroups || cgroups_of(parent) == cgroups_of(child);
}

/* ---- at each tick ---- */

/* Returns true if the process is younger than --min-age. start_ns: its start_boottime. */
static __always_inline bool is_young(u64 start_ns)
{
	return cfg_filter.min_age_ns && bpf_ktime_get_boot_ns() - start_ns < cfg_filter.min_age_ns;
}

/*
 * Returns true if the current process is excluded, or too young. Judges its uid again if that has
 * changed: servers give up root after they have started.
 */
static __always_inline bool is_unselected(struct py_proc *p, u64 start_ns)
{
	u32 uid;

	if (cfg_filter.uids) {
		uid = current_euid();
		if (p->euid != uid) {
			p->euid = uid;
			p->unselected = (p->unselected & ~UNSELECTED_UID) | judge_uid(uid);
		}
	}
	return p->unselected & UNSELECTED_FOR_SURE || is_young(start_ns);
}

#endif
