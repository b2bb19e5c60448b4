// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mode_wait.bpf.c - switch-outs and switch-ins: sends the Python stack of a thread that leaves its
 * CPU, and when the thread gets a CPU again.
 *
 * on_switch() runs in the scheduler with interrupts off and a run queue lock held, so it inserts
 * and deletes no entry of a hash map. The thread that leaves is still the current one, so its
 * memory can be read. A switch between threads of other processes costs two look-ups.
 */
#include "budget.bpf.h"
#include "losses.bpf.h"
#include "native_walk.bpf.h"
#include "pyextra.bpf.h"
#include "pysend.bpf.h"
#include "resolve_libpython.bpf.h"
#include "pyunwind.bpf.h"
#include "proc_filter.bpf.h"
#include "wait_slots.bpf.h"

/* on_switch()'s counter for the result of a walk, which is one of a tick's counters. */
static __always_inline enum counter wait_counter(enum counter end)
{
	switch (end) {
	case CNT_SAMPLE:
		return CNT_WAIT;
	case CNT_RING_FULL:
		return CNT_WAIT_LOST;
	case CNT_UNWANTED:
		return CNT_WAIT_UNWANTED;
	default:
		return CNT_WAIT_NOT_PYTHON;
	}
}

/* Walk the current thread prev and send its new code objects. Returns as unwind_python(). */
static __always_inline enum counter walk_leaving(struct scratch *s, struct py_proc *p,
						 struct task_struct *prev,
						 const struct user_call *call, u64 now)
{
	struct native_scratch *ns;
	enum counter end;

	start_clock(s, now, EVENT_MORE_NS);
	begin_direct(s, prev);
	end = unwind_python(s, p, prev, call->sp, call);
	end_direct(s);
	if (end != CNT_SAMPLE)
		return end;
	ns = cfg_native ? native_scratch() : NULL;
	if (ns) {
		entry_user_regs(prev, &ns->regs);
		native_walk(1);
	}
	if (cfg_async)
		async_walk();
	send_new_codes(s, p, &s->sample.h);
	return end;
}

/*
 * Fill in a record without a stack. The wait is certain; user space assumes the last known stack of
 * the thread.
 */
static __always_inline void leave_out_stack(struct raw_sample *out)
{
	out->nframes = 0;
	out->status = STATUS_UNKNOWN;
	out->flags = RAW_NOT_WALKED;
	out->gc_at = 0;
	out->interp_id = 0;
	out->stack_ns = 0;
}

/* Fill in a record that identifies the stack: that of the thread's record of slot->stack_ns. */
static __always_inline void repeat_stack(struct raw_sample *out, const struct wait_slot *slot)
{
	out->h.kind = RAW_SWITCH_SAME;
	out->nframes = 0;
	out->stack_ns = slot->stack_ns;
}

/* Set s->stamp for has_same_stack(), for the thread of the slot, which leaves its CPU at now. */
static __always_inline void recall_stamp(struct scratch *s, struct wait_slot *slot, u64 now)
{
	s->stamp.before = now - slot->stack_ns < STAMP_NS ? slot->stamp : 0;
	s->stamp.wanted = !slot->pause_left;
	if (slot->pause_left)
		slot->pause_left--;
}

/*
 * The thread's switch-out at now has ended with `end`. Keep the stamp of the stack that user space
 * has of the thread, which only changes if another one was sent.
 */
static __always_inline void keep_stamp(const struct scratch *s, struct wait_slot *slot,
				       enum counter end, u64 now)
{
	const struct stamp *stamp = &s->stamp;

	if (end == CNT_WAIT_LOST)
		slot->stamp = 0;
	if (end != CNT_WAIT || s->sample.flags & RAW_NOT_WALKED)
		return;
	if (stamp->same) {
		count_one(CNT_WAIT_SAME);
		slot->pause = 0;
		return;
	}
	/* In vain: it did not match, or the stack cannot be repeated. */
	if (stamp->tried && (stamp->before || (!stamp->now && !s->new_cnt))) {
		slot->pause = (2 * slot->pause + 1) & STAMP_PAUSE_MAX;
		slot->pause_left = slot->pause;
	}
	slot->stamp = stamp->now;
	slot->stack_ns = now;
}

/*
 * Send the record that was filled in, and s->switch_in with it if that waits: one entry of the ring
 * buffer costs less than two. Returns CNT_SAMPLE or CNT_RING_FULL.
 */
static __always_inline enum counter send_switch(struct scratch *s, const struct py_proc *p,
						u64 pid_tgid)
{
	u64 size = complete_sample(&s->sample, pid_tgid);
	enum counter end = output_sample(s, size, p, s->switch_in_waits, false);

	if (end == CNT_SAMPLE)
		s->switch_in_waits = 0;
	return end;
}

/*
 * Send a RAW_SWITCH_OUT for the current thread prev, with its stack if possible, or a
 * RAW_SWITCH_SAME; and s->switch_in if that waits. state: of state_of(); 0: prev is runnable.
 * Returns one of the CNT_WAIT counters.
 */
static __always_inline enum counter send_switch_out(void *ctx, struct scratch *s,
						    struct py_proc *p, struct task_struct *prev,
						    const struct wait_slot *slot, u32 state,
						    u64 now)
{
	struct raw_sample *out = &s->sample;
	enum counter end = CNT_WAIT_NOT_WALKED;
	struct user_call call;

	s->stamp.now = s->stamp.same = s->stamp.tried = 0;
	user_call_of(prev, &call);
	out->h = (struct raw_header){
		.kind = RAW_SWITCH_OUT,
		.why = state ? WHY_BLOCKED : WHY_RUNNABLE,
		.sysno = wait_of(prev, state, call.nr),
		.tgid = prev->tgid,
		.time_ns = now,
		.start_ns = p->start_ns,	/* see is_walked() */
	};
	if (has_budget(s, now))
		end = walk_leaving(s, p, prev, &call, now);
	if (end == CNT_TSTATE_UNREADABLE || end == CNT_TSTATE_UNCERTAIN)
		end = CNT_WAIT_UNREADABLE;
	if (end == CNT_WAIT_UNREADABLE || end == CNT_WAIT_NOT_WALKED) {
		count_end(end);
		if (cfg_need_status)
			return CNT_WAIT_UNWANTED;
		leave_out_stack(out);
	} else if (cfg_stamps && end == CNT_SAMPLE && s->stamp.same) {
		repeat_stack(out, slot);
	} else if (end != CNT_SAMPLE) {
		return wait_counter(end);
	} else if (cfg_async || cfg_native || cfg_exceptions || cfg_kernel_stacks) {
		if (cfg_async)
			async_send();
		if (cfg_native)
			send_native();
		send_extra(ctx, state != 0, s, p);
	}
	return wait_counter(send_switch(s, p, pid_tgid_of(prev)));
}

/*
 * Fill in a RAW_SWITCH_IN or RAW_THREAD_EXIT. start_ns: of the task's process. slot: the thread's
 * own, or NULL if another thread has overwritten it or no times are needed.
 */
static __always_inline void fill_switch_in(struct raw_switch_in *r, enum raw_kind kind,
					   const struct task_struct *task, u64 start_ns,
					   const struct wait_slot *slot, u64 time_ns)
{
	r->h = (struct raw_header){
		.kind = kind,
		.tgid = task->tgid,
		.time_ns = time_ns,
		.start_ns = start_ns,
	};
	r->tid = task->pid;
	r->out_lost = slot ? slot->out_lost : 0;
	r->out_ns = slot ? slot->out_ns : 0;
	r->wake_ns = slot ? slot->wake_ns : 0;
}

/* Fill it in and send it. */
static __always_inline void send_switch_in(enum raw_kind kind, const struct task_struct *task,
					   u64 start_ns, const struct wait_slot *slot,
					   u64 time_ns)
{
	struct raw_switch_in *r = bpf_ringbuf_reserve(&events, sizeof(*r), 0);

	if (!r) {
		count_loss(CNT_SWITCH_IN_LOST, task->tgid, task->pid, start_ns);
		return;
	}
	fill_switch_in(r, kind, task, start_ns, slot, time_ns);
	bpf_ringbuf_submit(r, wakeup_flags());
}

/* Returns true if p is the current process' entry, and the process is selected and walkable. */
static __always_inline bool is_walked(struct py_proc *p, const struct task_struct *prev)
{
	u64 start_ns = start_ns_of(prev);

	if (!p->start_ns)
		p->start_ns = start_ns;
	if (p->start_ns != start_ns)
		return false;
	if (cfg_filter.any && (is_unselected(p, start_ns) || p->unselected))
		return false;
	return p->state == PY_PROC_PYTHON ||
	       (p->state == PY_PROC_LINKING && find_libpython(prev->tgid) > 0);
}

/*
 * The thread leaves its CPU, but on_switch() was not called when it got that CPU: some kernels hide
 * some switches (seen on a Firecracker guest's 6.18). So send the RAW_SWITCH_IN now. Its time comes
 * from the fair scheduler: se.prev_sum_exec_runtime is the run time that the thread had when it got
 * the CPU.
 */
static __always_inline void send_missed_switch_in(const struct py_proc *p,
						  const struct task_struct *prev,
						  const struct wait_slot *slot, u64 now)
{
	u64 ran = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;

	send_switch_in(RAW_SWITCH_IN, prev, p->start_ns, slot,
		       ran < now - slot->out_ns ? now - ran : now);
}

/*
 * prev leaves its CPU at now: send a RAW_SWITCH_OUT, and write its slot. If prev exits, send a
 * RAW_THREAD_EXIT at its last switch-out instead.
 */
static __always_inline void switch_out(void *ctx, struct scratch *s, struct py_proc *p,
				       struct task_struct *prev, bool preempt, u64 now)
{
	u32 state = preempt ? 0 : state_of(prev);
	struct wait_slot *slot = slot_of(prev->pid);
	enum counter end;
	u64 sent_ns = 0;

	if (!slot)
		return;
	if (prev->flags & PF_EXITING) {
		if (state & TASK_DEAD)
			send_switch_in(RAW_THREAD_EXIT, prev, p->start_ns, NULL, now);
		if (slot->tid == (u32)prev->pid)
			slot->tid = 0;
		return;
	}
	if (slot->out_ns && slot->tid == (u32)prev->pid)
		send_missed_switch_in(p, prev, slot, now);
	else if (slot->out_ns)
		count_one(CNT_WAIT_SLOT_TAKEN);
	if (slot->tid != (u32)prev->pid)
		forget_thread(slot);
	slot->tid = prev->pid;
	slot->wake_ns = state ? 0 : now;
	count_one(CNT_SWITCH);
	if (capture_paused || (!state && !cfg_runnable)) {
		count_one(CNT_WAIT_UNWANTED);
	} else {
		if (cfg_stamps)
			recall_stamp(s, slot, now);
		end = send_switch_out(ctx, s, p, prev, slot, state, now);
		if (cfg_stamps)
			keep_stamp(s, slot, end, now);
		count_likely_end(end, CNT_WAIT);
		if (end == CNT_WAIT || end == CNT_WAIT_LOST)
			sent_ns = now;
		slot->out_lost = end == CNT_WAIT_LOST;
		if (cfg_stamps && s->stamp.same)
			spend_sampled(s, now);
		else
			spend_budget(s, bpf_ktime_get_ns() - now);
	}
	slot->out_ns = sent_ns;
}

/*
 * next gets a CPU at now: fill in its RAW_SWITCH_IN if its RAW_SWITCH_OUT was sent or lost, or if
 * that is unknown because another thread has overwritten its slot.
 */
static __always_inline void switch_in(struct scratch *s, const struct task_struct *next, u64 now)
{
	struct wait_slot *slot = slot_of(next->pid);
	bool own;

	if (!slot || !slot->out_ns)
		return;
	own = slot->tid == (u32)next->pid;
	fill_switch_in(&s->switch_in, RAW_SWITCH_IN, next, start_ns_of(next), own ? slot : NULL,
		       now);
	s->switch_in_waits = 1;
	if (own)
		slot->out_ns = 0;
}

/* Send s->switch_in, the RAW_SWITCH_IN of the thread next. */
static __always_inline void send_waiting(struct scratch *s, const struct task_struct *next)
{
	struct raw_switch_in *r = &s->switch_in;

	s->switch_in_waits = 0;
	if (bpf_ringbuf_output(&events, r, sizeof(*r), seldom_wakeup_flags(s, sizeof(*r))))
		count_loss(CNT_SWITCH_IN_LOST, next->tgid, next->pid, r->h.start_ns);
}

/* The entry of a process; NULL: it has none. */
static __always_inline struct py_proc *proc_of(const struct task_struct *task)
{
	u32 tgid = task->tgid;

	return tgid && !(task->flags & PF_KTHREAD) ? bpf_map_lookup_elem(&py_procs, &tgid) : NULL;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct py_proc *from = proc_of(prev), *to;
	struct scratch *s;
	u32 zero = 0;
	u64 now;

	to = from && prev->tgid == next->tgid ? from : proc_of(next);
	if (!from && !to)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	s->busy = 1;
	if (to && to->state == PY_PROC_PYTHON)
		switch_in(s, next, now);
	if (from && from->state != PY_PROC_OTHER && is_walked(from, prev))
		switch_out(BPF_PROG_CTX, s, from, prev, preempt, now);
	if (s->switch_in_waits)
		send_waiting(s, next);
	s->busy = 0;
	return 0;
}

/*
 * The thread is runnable from now on. The kernel calls this for all threads; only one of an
 * admitted process has a slot.
 */
SEC("?tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct wait_slot *slot = slot_of(p->pid);

	if (slot && slot->tid == (u32)p->pid && !slot->wake_ns)
		slot->wake_ns = bpf_ktime_get_ns();
	return 0;
}
