/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host.h - a simulated machine on which bpf/ runs: one current task, its memory, the maps and the
 * ring buffer. Only tests include it.
 */
#ifndef HOSTBPF_HOST_H
#define HOSTBPF_HOST_H

#include "bpf/common.bpf.h"

#include <sys/types.h>

#define HOST_CPUS 2
#define HOST_RECORDS_MAX 512

/* State of the machine at the next tick. */
struct host {
	struct task_struct task, leader;
	struct signal_struct signal;
	struct mm_struct mm;
	struct cred cred;
	struct super_block super_block;
	struct inode inode;	/* of the file that is executed */
	struct file file;
	struct linux_binprm bprm;
	struct css_set cgroups;	/* of the task */
	struct cgroup cgroup, cgroup_v1;
	struct cgroup_root cgroup_root, cgroup_root_v1;
	struct cgrp_cset_link cgroup_links[2];
	struct kernfs_node kn, kn_v1;
	struct pid pid;
	struct {
		u64 r[17], cs, flags, sp, ss, period, addr;
	} regs;			/* of the interrupted thread, as on x86-64; and what an event has */
	u64 event_count;	/* what the kernel has counted of the event */
	u64 kernel_stack[8];	/* kernel_frames of them */
	u32 kernel_frames;
	struct pt_regs user_regs;	/* of the thread that leaves its CPU */
	u64 now_ns;
	u64 clock_step_ns;	/* time that passes at each reading of the clock */
	u64 stall_ns;		/* time that passes in addition at one of them ... */
	u32 stall_after;	/* ... after so many others */
	u32 cpu;
	u64 attach_cookie;	/* of the probe that runs */
	u64 fail_read;		/* the number (from 1) of the read that fails; 0: none */
	u32 random;		/* the next random number */
	bool fail_on;		/* all later reads fail, too */
	u64 reads;		/* since host_tick() began */
	u64 mem_version;	/* counts changes of the target's memory map */
	u32 inner_maps;		/* the first elements of an array of maps that have a map */
	int ring_room;		/* so many entries fit into the ring buffer */
	u64 ring_waits;		/* bytes that wait in it; 0: as many as there are records */
	bool woken;		/* bpf_ringbuf_output() has woken user space */
	struct {
		u8 *data;
		size_t len;
		int entry;	/* the entry of the ring buffer that has it */
	} records[HOST_RECORDS_MAX];
	int record_cnt, entry_cnt;	/* an entry may have two records */
};
extern struct host host;

/* Sets the machine to its initial state: no memory, empty maps, an empty ring buffer. */
void host_reset(void);
/* Frees everything. To be called after the last test. */
void host_free(void);
/* host_free() as a group's teardown. Returns 0. */
int host_done(void **state);

/* Maps or unmaps all pages of the target that have a byte of this range. A new page is zero. */
void host_mem_map(u64 addr, u64 len);
void host_mem_unmap(u64 addr, u64 len);
/* Write to the target's memory. Ends the test if a page is not mapped. */
void host_mem_write(u64 addr, const void *data, size_t len);
void host_mem_put64(u64 addr, u64 v);
void host_mem_put32(u64 addr, u32 v);
void host_mem_put8(u64 addr, u8 v);
/* Read the target's memory. Returns 0 or -EFAULT. The signature is that of struct target_mem. */
int host_mem_read(void *ctx, uint64_t addr, void *buf, size_t len);
/* The byte of the target at addr, and its page's others; NULL: it is not mapped. */
const u8 *host_mem_at(u64 addr);
/* Calls each() with the address of every page that is mapped. */
void host_mem_each(void (*each)(u64 addr));

/* The map has this size, not that of its declaration, until host_reset(). Before its first use. */
void host_map_size(const void *map, u32 max_entries);

/* Drops all records, then runs a tick on host.cpu. */
void host_tick(void);
void host_drop_records(void);
/* Sets a setting of bpf/ (cfg_*), which is a constant for the compiler. */
void host_set(const volatile void *setting, const void *value, size_t size);
/* The sum over all CPUs. */
u64 host_counter(enum counter which);
/*
 * The first record of this kind from index *i on; NULL: none. Sets *i to the index after it, and
 * *len (unless NULL) to its size. The record is valid until the next host_tick() or
 * host_drop_records().
 */
const void *host_record(u8 kind, int *i, size_t *len);

/* The programs of bpf/. Each returns 0. */
int on_cpu_tick(struct bpf_perf_event_data *ctx);
int on_page_fault(struct bpf_perf_event_data *ctx);
int on_event_counted(struct bpf_perf_event_data *ctx);
int on_event_tracepoint(void *ctx);
int on_event_probe(void *ctx);
int host_on_unmapped_area(unsigned long addr, struct vm_unmapped_area_info *info);
int host_on_exec(struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm);
int host_on_fork(struct task_struct *parent, struct task_struct *child);
int host_on_exit(struct task_struct *p);
int host_on_rename(struct task_struct *task, const char *comm);
int host_on_cgroup_mkdir(struct cgroup *cg, const char *path);
int host_on_cgroup_rmdir(struct cgroup *cg, const char *path);
int host_on_cgroup_attach(struct cgroup *cg, const char *path, struct task_struct *task);
int host_on_switch(bool preempt, struct task_struct *prev, struct task_struct *next);
int host_on_wakeup(struct task_struct *p);
int on_task(struct task_iter *ctx);
int find_direct_map(const struct direct_trial *t);

#endif
