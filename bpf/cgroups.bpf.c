// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cgroups.bpf.c - cgroups are created and removed, and processes move between them.
 *
 * If there are no conditions on cgroups, only on_cgroup_mkdir() is loaded. A container's cgroup is
 * created some milliseconds before its first process runs. User space gets the record immediately,
 * so it has usually judged the cgroup by then. All programs run in process context.
 */
#include "proc_filter.bpf.h"

/*
 * Send a RAW_CGROUP. If cgroups are only used to name containers, those in cfg_hierarchies
 * suffice. Not tp_btf: before 5.16 (bb6728d75611) a tp_btf program cannot take a pointer to char.
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
		return 0;	/* user space judges processes in it one by one */
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

/* Delete the mark of a cgroup that is removed. */
SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(on_cgroup_rmdir, struct cgroup *cg, const char *path)
{
	u64 key = cgroup_key(cgroup_hierarchy(cg), cgroup_id(cg));

	bpf_map_delete_elem(&marks, &key);
	return 0;
}

/*
 * Judge again a process that moves to another cgroup. The kernel calls this for each thread that
 * moves; the process is judged when its first thread does.
 */
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
