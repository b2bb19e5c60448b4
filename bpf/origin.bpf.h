/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * origin.bpf.h - the cgroups, pid namespace and user of a process.
 *
 * RAW_EXEC contains them and samples do not, so a sample in a container costs no more than any
 * other. User space knows what the numbers mean.
 */
#ifndef TACHBPF_ORIGIN_H
#define TACHBPF_ORIGIN_H

#include "common.bpf.h"

/* Set out's keys to those of the task's cgroups, one in each hierarchy. */
static __always_inline void fill_cgroups(struct raw_origin *out, const struct task_struct *task)
{
	const struct list_head *head = cgroup_list(cgroups_of(task)), *pos = head;
	const struct cgroup *cg;
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < RAW_CGROUPS; i++) {
		pos = cgroup_list_next(pos);
		if (!pos || pos == head)
			break;
		cg = cgroup_at(pos);
		out->cgroups[i] = cgroup_key(cgroup_hierarchy(cg), cgroup_id(cg));
	}
	out->cgroup_cnt = i;
}

/* leader: the first thread of the process. out must be zeroed. */
static __always_inline void fill_origin(struct raw_origin *out, const struct task_struct *leader)
{
	fill_cgroups(out, leader);
	out->uid = task_euid(leader);
	out->ns_tgid = task_ns_pid(leader);
}

#endif
