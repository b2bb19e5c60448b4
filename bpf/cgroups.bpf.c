// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cgroups.bpf.c - cgroups are made and removed, and processes move between them.
 *
 * All programs but the first are only loaded if there are conditions on cgroups. A
 * container's cgroup is made some milliseconds before anything runs in it. User space gets
 * the record at once, and has mostly judged the cgroup before the first process is in it.
 * All programs run in process context.
 */
#include "proc_filter.bpf.h"

/*
 * Not tp_btf: before 5.16 (bb6728d75611) such a program cannot take a pointer to char.
 * Where cgroups only serve to name containers, the hierarchies in cfg_hierarchies suffice.
 */
SEC("?raw_tp/cgroup_mkdir")
int BPF_PROG(on_cgroup_mkdir, struct cgroup *cg, const char *path)
{
	u32 hierarchy = cgroup_hierarchy(cg);
	struct raw_cgroup *ev;
	long len;

	if (!cfg_filter.cgroups && (hierarchy > 63 || !(cfg_hierarchies >> hierarchy & 1)))
		return 0;
	ev = bpf_ringbuf_reserve(&events, sizeof(*ev), 0);
	if (!ev)
		return 0;	/* user space is asked when a process runs there */
	__builtin_memset(ev, 0, offsetof(struct raw_cgroup, path));
	ev->h.kind = RAW_CGROUP;
	ev->h.tgid = bpf_get_current_pid_tgid() >> 32;
	ev->h.time_ns = bpf_ktime_get_ns();
	ev->id = cgroup_id(cg);
	ev->hierarchy = hierarchy;
	len = bpf_probe_read_kernel_str(ev->path, sizeof(ev->path), path);
	if (len <= 0 || len == sizeof(ev->path))
		bpf_ringbuf_discard(ev, 0);
	else
		bpf_ringbuf_submit(ev, cfg_filter.cgroups ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(on_cgroup_rmdir, struct cgroup *cg, const char *path)
{
	u64 key = cgroup_key(cgroup_hierarchy(cg), cgroup_id(cg));

	bpf_map_delete_elem(&marks, &key);
	return 0;
}

/* Called for each thread that moves; the verdict follows the first thread of the process. */
SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *cg, const char *path, struct task_struct *task)
{
	u32 tgid = task->tgid;
	struct py_proc *p;

	if (task->pid != task->tgid)
		return 0;
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (p)
		p->unselected = (p->unselected & ~(UNSELECTED_CGROUP | UNDECIDED)) |
				judge_cgroups(task);
	return 0;
}
