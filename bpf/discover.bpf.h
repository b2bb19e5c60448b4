/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * discover.bpf.h - what programs that interrupt a thread report in addition to its stack: that user
 * space must inspect its process, and that it has no Python stack.
 */
#ifndef TACHBPF_DISCOVER_H
#define TACHBPF_DISCOVER_H

#include "pysend.bpf.h"
#include "proc_filter.bpf.h"

int send_tick(u32 kind, u32 tgid, u64 exec_pages, u64 ticks);
/*
 * Send a struct raw_tick. kind: an enum raw_kind. Returns 0, or -1 if the ring buffer is full. With
 * external linkage, so that the verifier checks it once: it is seldom needed.
 */
__weak __noinline int send_tick(u32 kind, u32 tgid, u64 exec_pages, u64 ticks)
{
	const struct file *exe = kind == RAW_UNKNOWN ? current_exe() : 0;
	struct raw_tick *t = bpf_ringbuf_reserve(&events, sizeof(*t), 0);

	if (!t)
		return -1;
	t->h = (struct raw_header){
		.kind = kind,
		.tgid = tgid,
		.time_ns = bpf_ktime_get_ns(),
		.start_ns = current_start_ns(),
	};
	t->exec_pages = exec_pages;
	t->ticks = ticks;
	__builtin_memset(&t->file, 0, sizeof(t->file));
	if (exe)
		exe_file_of(exe, &t->file);
	bpf_ringbuf_submit(t, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Ask user space to judge and inspect this process. Returns how the tick ends. */
static __always_inline enum counter report_unknown(u32 tgid)
{
	if (current_flags() & PF_KTHREAD)
		return CNT_KERNEL_THREAD;
	if (!cfg_all && !bpf_map_lookup_elem(&watched, &tgid))
		return CNT_UNSELECTED;
	if (is_young(current_start_ns()))
		return CNT_UNSELECTED;
	return send_tick(RAW_UNKNOWN, tgid, current_exec_pages(), 0) ? CNT_RING_FULL : CNT_UNKNOWN;
}

/*
 * This thread has no Python stack. If the process has mapped other code since user space inspected
 * it, it may have become Python, or have loaded another CPython: send a RAW_CHANGED. If the ring
 * buffer is full, the next tick tries again. A process loses its mappings at its exit and in an
 * exec, each of which has a record of its own.
 */
static __always_inline void report_changed(struct py_proc *p, u32 tgid)
{
	u64 pages;

	if (current_flags() & PF_EXITING || current_is_in_exec())
		return;
	pages = current_exec_pages();
	if (p->exe && !p->exec_pages)	/* admitted at its exec, never inspected */
		p->exec_pages = pages;
	if (p->exec_pages != pages && !send_tick(RAW_CHANGED, tgid, pages, p->ticks - 1))
		p->exec_pages = pages;
}

int send_no_stack(u64 end);
/*
 * The walk found no Python stack, and ended with `end`: send that. The header in this CPU's struct
 * scratch must be filled in except its kind. During an exec the CPU belongs to neither program, so
 * nothing is sent. Returns 0, or -1 if the ring buffer is full. The function has external linkage,
 * so the verifier checks it only once, not for each way in which a walk can end.
 */
__weak __noinline int send_no_stack(u64 end)
{
	struct raw_no_stack raw = {};
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || (end == CNT_NOT_READY && current_is_in_exec()))
		return 0;
	raw.h = s->sample.h;
	raw.h.kind = RAW_NO_STACK;
	raw.tid = (u32)bpf_get_current_pid_tgid();
	raw.cpu = bpf_get_smp_processor_id();
	raw.end = end;
	raw.status = STATUS_ON_CPU;
	if (end == CNT_NO_FRAMES) {	/* the state is known, and so is what it contains */
		raw.status = s->sample.status;
		raw.interp_id = s->sample.interp_id;
	}
	bpf_get_current_comm(raw.comm, sizeof(raw.comm));
	if (bpf_ringbuf_output(&events, &raw, sizeof(raw), wakeup_flags()))
		return -1;
	count_one(CNT_NO_STACK);
	return 0;
}

#endif
