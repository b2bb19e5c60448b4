/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host.h - a machine for bpf/ to run on: one current task, its memory, the maps
 * and the ring buffer. Included by tests only.
 */
#ifndef HOSTBPF_HOST_H
#define HOSTBPF_HOST_H

#include "bpf/common.bpf.h"

#include <sys/types.h>

#define HOST_CPUS 2
#define HOST_RECORDS_MAX 512

/* What the next tick finds. */
struct host {
	struct task_struct task, leader;
	struct signal_struct signal;
	struct mm_struct mm;
	struct cred cred;
	struct inode inode;	/* of what is executed */
	struct file file;
	struct linux_binprm bprm;
	struct css_set cgroups;	/* of the task */
	struct cgroup cgroup, cgroup_v1;
	struct cgroup_root cgroup_root, cgroup_root_v1;
	struct cgrp_cset_link cgroup_links[2];
	struct kernfs_node kn, kn_v1;
	struct pid pid;
	struct {
		u64 r[17], cs, flags, sp, ss;
	} regs;			/* of the interrupted thread, as on x86-64 */
	u64 kernel_stack[8];	/* kernel_frames of them */
	u32 kernel_frames;
	struct pt_regs user_regs;	/* of the thread that leaves its CPU */
	u64 now_ns;
	u64 clock_step_ns;	/* what each look at the clock takes */
	u64 stall_ns;		/* and one, once stall_after more have been made */
	u32 stall_after;
	u32 cpu;
	/* The read (from 1) that fails, and all behind it if fail_on; 0: none. */
	u64 fail_read;
	bool fail_on;
	u64 reads;		/* since host_tick() began */
	u64 mem_version;	/* counts changes of the target's memory map */
	/* So many records fit into the ring buffer; the rest is refused. */
	int ring_room;
	struct {
		u8 *data;
		size_t len;
	} records[HOST_RECORDS_MAX];
	int record_cnt;
};
extern struct host host;

/* Everything empty and at its beginning. */
void host_reset(void);
/* Frees all; after the last test. */
void host_free(void);
int host_done(void **state);	/* the same, as a group's teardown */

/* The target's memory: pages that are there or are not. */
void host_mem_map(u64 addr, u64 len);
void host_mem_unmap(u64 addr, u64 len);
/* Where it is mapped only, else the test ends. */
void host_mem_write(u64 addr, const void *data, size_t len);
void host_mem_put64(u64 addr, u64 v);
void host_mem_put32(u64 addr, u32 v);
void host_mem_put8(u64 addr, u8 v);
/* As process_vm_readv() would: 0 or -EFAULT. The signature is struct target_mem's. */
int host_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);

/* Forget the records there are, then let the clock tick on host.cpu. */
void host_tick(void);
void host_drop_records(void);
/* A setting (cfg_*) of bpf/, which is a constant: the loader's to change, and a test's. */
void host_set(const volatile void *setting, const void *value, size_t size);
/* Of all CPUs. */
u64 host_counter(enum counter which);
/* The first record of this kind behind record *i; NULL: none. Start with *i = 0. */
const void *host_record(u8 kind, int *i, size_t *len);

int on_cpu_tick(struct bpf_perf_event_data *ctx);
int host_on_exec(struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm);
int host_on_fork(struct task_struct *parent, struct task_struct *child);
int host_on_exit(struct task_struct *p);
int host_on_rename(struct task_struct *task, const char *comm);
int host_on_cgroup_mkdir(struct cgroup *cg, const char *path);
int host_on_cgroup_rmdir(struct cgroup *cg, const char *path);
int host_on_cgroup_attach(struct cgroup *cg, const char *path, struct task_struct *task);
int host_on_switch(bool preempt, struct task_struct *prev, struct task_struct *next);
int host_on_wakeup(struct task_struct *p);
int on_task(struct bpf_iter__task *ctx);

#endif
