// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * offcpu_scan.bpf.c - lists the threads of admitted processes and which of them are off-CPU.
 *
 * A task iterator, which runs when tachbpf's user space reads it. It reports what only the kernel
 * knows of each thread. User space walks the stacks: here a read of another process' memory could
 * block on a page forever, and older kernels cannot do it.
 */
#include "wait_slots.bpf.h"

/* In an object of its own, user space tells the kernel what the program is. */
#ifndef SCAN_SECTION
#define SCAN_SECTION "?iter/task"
#endif

/* Write a struct raw_offcpu_scan for one thread; of an off-CPU one also its wait slot. */
SEC(SCAN_SECTION)
int on_task(struct task_iter *ctx)
{
	struct task_struct *task = ctx->task;
	struct raw_offcpu_scan a = {};
	struct wait_slot *slot;
	struct pt_regs *regs;
	struct user_regs user;
	struct user_call call;
	struct py_proc *p;
	u32 tgid, state;
	u64 blocked, ago;

	if (!task)
		return 0;
	tgid = task->tgid;
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (!p || p->state != PY_PROC_PYTHON || p->unselected ||
	    task->flags & (PF_KTHREAD | PF_EXITING))
		return 0;
	a.time_ns = bpf_ktime_get_ns();
	a.start_ns = task_start_ns(task);
	a.thread_pointer = thread_pointer_of(task);
	/* One that executes a program meanwhile has not stood still, even if it left no CPU. */
	a.switches = task->nvcsw + task->nivcsw + (task->self_exec_id << 32);
	a.tgid = tgid;
	a.tid = task->pid;
	a.nr_threads = BPF_CORE_READ(task, signal, nr_threads);
	bpf_probe_read_kernel(a.comm, sizeof(a.comm), task->comm);
	a.sysno = RAW_SYSNO_NONE;
	slot = slot_of(task->pid);
	if (task->on_cpu || !slot)
		goto out;
	state = state_of(task);
	/* 1 or 0. Without a branch, so that the verifier does not follow the rest for both. */
	blocked = -(u64)state >> 63;
	a.why = WHY_RUNNABLE + blocked;
	regs = entry_regs_of(task);
	user_call_from(regs, &call);
	user_regs_from(regs, &user);
	a.sp = call.sp;
	a.pc = user.pc;
	a.fp = user.fp;
	a.lr = user.lr;
	a.args[0] = call.args[0];
	a.args[1] = call.args[1];
	a.fourth = fourth_argument(regs);
	a.sysno = wait_of(task, state, call.nr);
	ago = left_ns_ago(task);
	if (ago < a.time_ns)
		a.left_ns = a.time_ns - ago;
	if (slot->tid == (u32)task->pid && slot->out_ns) {
		a.out_sent = 1;
		goto out;
	}
	/* If there is no space for the write, the iterator repeats the task at the next read. */
	if (!bpf_seq_write(ctx->meta->seq, &a, sizeof(a))) {
		slot->tid = task->pid;
		slot->wake_ns = a.time_ns & (blocked - 1);
		slot->out_lost = 0;
		forget_thread(slot);
		slot->out_ns = a.time_ns;
	}
	return 0;
out:
	bpf_seq_write(ctx->meta->seq, &a, sizeof(a));
	return 0;
}
