/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * whence.bpf.h - where a process is (cgroup, pid namespace) and whose it is.
 *
 * Sent with what is told of new processes, never with samples: containers cost nothing
 * where time matters. What the numbers mean, user space knows.
 */
#ifndef TACHBPF_WHENCE_H
#define TACHBPF_WHENCE_H

#include "common.bpf.h"

static __always_inline u64 cgroup_v1_id(const struct task_struct *task)
{
	switch (cfg_cgroup_v1) {
	case CGROUP_V1_MEMORY:
		return task_cgroup_id_at(task, SUBSYS(memory_cgrp_id));
	case CGROUP_V1_PIDS:
		return task_cgroup_id_at(task, SUBSYS(pids_cgrp_id));
	case CGROUP_V1_DEVICES:
		return task_cgroup_id_at(task, SUBSYS(devices_cgrp_id));
	case CGROUP_V1_CPU:
		return task_cgroup_id_at(task, SUBSYS(cpu_cgrp_id));
	case CGROUP_V1_FREEZER:
		return task_cgroup_id_at(task, SUBSYS(freezer_cgrp_id));
	default:
		return 0;
	}
}

/* leader: the process' first thread. */
static __always_inline void note_whence(struct raw_whence *out, const struct task_struct *leader)
{
	out->cgroup = task_cgroup_id(leader);
	out->cgroup_v1 = cgroup_v1_id(leader);
	out->uid = task_euid(leader);
	out->ns_tgid = task_ns_pid(leader);
}

#endif
