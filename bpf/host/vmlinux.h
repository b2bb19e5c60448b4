/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vmlinux.h - the kernel's types, as far as bpf/ uses them, for bpf/ compiled for user space.
 *
 * Replaces vmlinux/<arch>/vmlinux.h when bpf/ is compiled for tests/hostbpf and for
 * user/capture/offcpu_scan_walk.c.
 */
#ifndef HOSTBPF_VMLINUX_H
#define HOSTBPF_VMLINUX_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define CO_RE

#ifndef __TARGET_ARCH_x86
#define __TARGET_ARCH_x86
#endif

struct thread_struct {
	unsigned long fsbase;
	struct {
		unsigned long tp_value;
	} uw;
};

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode {	/* as kcompat.bpf.h's struct inode___any begins */
	unsigned long i_ino;
	s64 i_size;
	struct super_block *i_sb;
	s64 i_ctime_sec;
	u32 i_ctime_nsec;
};

struct file {
	struct inode *f_inode;
};

struct linux_binprm {
	struct file *file;
	char buf[256];
};

struct mm_struct {
	void *pgd;
	unsigned long arg_start, arg_end;
	unsigned long exec_vm;
	struct file *exe_file;
	unsigned long start_code;
	unsigned long start_stack;
	unsigned long saved_auxv[24];
};

struct signal_struct {
	struct {
		int counter;
	} live;
	int nr_threads;
};

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

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

struct upid {
	int nr;
	void *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[4];
};

struct sched_entity {
	u64 sum_exec_runtime, prev_sum_exec_runtime;
};

struct sched_info {
	unsigned long long last_arrival;
};

struct task_struct {
	/* First, as in kcompat.bpf.h's struct task_struct___any. */
	unsigned int __state;
	long state;
	unsigned int in_iowait : 1, in_user_fault : 1;
	unsigned int flags;
	unsigned long jobctl;
	int on_cpu;
	struct mm_struct *mm;
	int pid, tgid;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned long nvcsw, nivcsw;
	u64 start_boottime;
	u64 self_exec_id;
	char comm[16];
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	const struct cred *cred;
	struct css_set *cgroups;
	void *stack;
	struct thread_struct thread;
};

/* The kernel's headers for user space have another struct pt_regs. */
#define pt_regs host_pt_regs
struct pt_regs {
	unsigned long bp, r10, dx, di, si, orig_ax, ip, cs, sp;	/* x86 */
	u64 regs[31], pc, pstate, orig_x0;		/* arm64 */
	s32 syscallno;
};

struct vm_unmapped_area_info {
	unsigned long flags, length;
};

struct seq_file;

#endif
