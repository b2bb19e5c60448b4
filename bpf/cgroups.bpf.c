// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cgroups.bpf.c - cgroups come and go, and processes move between them. But for the first
 * program loaded only if cgroups decide what is recorded.
 *
 * A container's cgroup is made some milliseconds before anything runs in it: user space
 * is told at once, and most often has judged it when it matters. All of these run in
 * process context.
 */
#include "proc_filter.bpf.h"

/*
 * Not tp_btf: before 5.16 (bb6728d75611) such a program cannot take a pointer to char. Where
 * cgroups only say which container a process is in, a few hierarchies tell as much as all.
 */
SEC("?raw_tp/cgroup_mkdir")
int BPF_PROG(on_cgroup_mkdir, struct cgroup *cg, const char *path)
{
	u32 hierarchy = cgroup_hierarchy(cg);
	struct raw_cgroup *ev;
	long len;

	if (!cfg_select.cgroups && (hierarchy > 63 || !(cfg_hierarchies >> hierarchy & 1)))
		return 0;
	ev = bpf_ringbuf_reserve(&events, sizeof(*ev), 0);
	if (!ev)
		return 0;	/* asked about when a process runs there */
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
		bpf_ringbuf_submit(ev, cfg_select.cgroups ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("?tp_btf/cgroup_rmdir")
int BPF_PROG(on_cgroup_rmdir, struct cgroup *cg, const char *path)
{
	u64 key = mark_of_cgroup(cgroup_hierarchy(cg), cgroup_id(cg));

	bpf_map_delete_elem(&marks, &key);
	return 0;
}

/* task: a process' first thread has moved, and perhaps all others with it. */
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
