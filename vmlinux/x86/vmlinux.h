/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel types for CO-RE; see vmlinux/README.md. */
#ifndef TACHBPF_VMLINUX_H
#define TACHBPF_VMLINUX_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __s32 s32;
typedef __s64 s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;
enum { false = 0, true = 1 };

/* include/uapi/linux/bpf.h */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};
enum {
	BPF_F_NO_PREALLOC = 1,
};
enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};
enum {
	BPF_RB_AVAIL_DATA = 0,
};
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175,
};

struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

typedef struct {
	int counter;
} atomic_t;

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode;		/* see kcompat.bpf.h */

struct file {
	struct inode *f_inode;
};

struct linux_binprm {
	struct file *file;
	char buf[256];
};

struct mm_struct {
	void *pgd;
	unsigned long arg_start;
	unsigned long arg_end;
	unsigned long saved_auxv[24];	/* as many as a kernel has; at least so many words */
	unsigned long exec_vm;
	struct file *exe_file;
	unsigned long start_code;
	unsigned long start_stack;
};

struct signal_struct {
	atomic_t live;
	int nr_threads;
};

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	u64 id;			/* 5.5+ */
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

/* kernel/cgroup/cgroup-internal.h */
struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
};

struct css_set {
	struct list_head cgrp_links;
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct thread_struct {
	unsigned long fsbase;
};

/* include/linux/mm.h */
struct vm_unmapped_area_info {
	unsigned long flags;
	unsigned long length;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];	/* level + 1 of them */
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
};

struct sched_info {
	unsigned long long last_arrival;	/* with CONFIG_SCHED_INFO, as everywhere */
};

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	char comm[16];
	pid_t pid;
	pid_t tgid;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned long jobctl;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_boottime;	/* 5.5+ */
	u64 self_exec_id;	/* 5.7+ */
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	const struct cred *cred;
	struct css_set *cgroups;
	void *stack;
	unsigned int on_cpu;	/* int; 7.2: u8, to which libbpf makes only unsigned loads fit */
	struct thread_struct thread;
};

struct pt_regs {
	unsigned long bp;
	unsigned long r10;
	unsigned long dx;
	unsigned long di;
	unsigned long si;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned short cs;	/* up to 6.8 unsigned long */
	unsigned long sp;
};

struct seq_file;
struct bpf_perf_event_data;

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif

#endif
