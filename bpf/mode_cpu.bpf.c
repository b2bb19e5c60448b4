// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mode_cpu.bpf.c - the tick of a CPU: samples the Python stack of the interrupted thread.
 *
 * Walks the thread if its process is admitted, and sends the sample. Runs in interrupt or NMI
 * context, so it inserts and deletes no entry of a hash map, and only changes values in place.
 */
#include "budget.bpf.h"
#include "collections.bpf.h"
#include "discover.bpf.h"
#include "losses.bpf.h"
#include "native_walk.bpf.h"
#include "pyextra.bpf.h"
#include "pysend.bpf.h"
#include "resolve_libpython.bpf.h"
#include "self_time.bpf.h"
#include "pyunwind.bpf.h"
#include "proc_filter.bpf.h"
#include "wait_slots.bpf.h"

/* The number of ticks missed in a gap between two ticks: its periods, rounded, minus one. */
static __always_inline u64 missed_in(u64 gap, u64 period)
{
	return gap > period + period / 2 ? (gap + period / 2) / period - 1 : 0;
}

/* This CPU's slot of tick_periods. 64 bits: with 32, 5.10's verifier forgets what was checked. */
static __always_inline const volatile struct tick_period *tick_period_here(void)
{
	u64 slot = tick_slot(bpf_get_smp_processor_id());

	barrier_var(slot);
	if (slot >= TICK_SLOTS)	/* never, but the verifier does not know that */
		slot = 0;
	return &tick_periods[slot];
}

/*
 * The number of ticks missed between two ticks. If user space restarted the timer with another
 * period in between, the old period counts until the restart, and the next tick comes one new
 * period after the restart. 0 while user space writes the period.
 */
static __always_inline u64 missed_since(u64 then, u64 now)
{
	const volatile struct tick_period *t = tick_period_here();
	u64 period = t->period_ns, before = t->before_ns, since = t->since_ns, missed = 0;

	if (unlikely(period == TICK_PERIOD_CHANGES))
		return 0;
	if (!period)
		return missed_in(now - then, cfg_period_ns);
	if (unlikely(since > then && since < now)) {
		if (before)
			missed = (since - then) / before;
		then = since;
	}
	return missed + missed_in(now - then, period);
}

/*
 * Count missed ticks. If two ticks interrupt the same thread, and it has not left the CPU in
 * between, they are one period apart unless ticks were missed: the virtual CPU did not run, or
 * perf throttled the event.
 */
static __always_inline void count_missed(struct last_tick *last, const struct task_struct *task,
					 u64 pid_tgid, u64 now)
{
	u64 switches = switches_of(task);

	if (!cfg_period_ns)
		return;
	if (last->pid_tgid == pid_tgid && last->switches == switches)
		count_n(CNT_MISSED, missed_since(last->time_ns, now));
	*last = (struct last_tick){ pid_tgid, switches, now };
}

/* Number of ticks that a walk at this one stands for in a burst; 0: it must not be walked. */
static __noinline u32 ticks_in_burst(u32 tgid, u64 start_ns, u32 every)
{
	u64 *chosen;

	chosen = bpf_map_lookup_elem(&burst_procs, &tgid);
	if (chosen && *chosen == start_ns)
		return 1;
	return bpf_get_prandom_u32() % every ? 0 : every;
}

/* There is no sample: the walk has ended with `end`. Returns how the tick ends. */
static __always_inline enum counter end_without_sample(const struct bpf_perf_event_data *ctx,
						       enum counter end)
{
	if (!cfg_native_threads || !is_without_stack(end))
		return end;
	if (cfg_native && !current_is_in_exec()) {
		walk_interrupted(ctx, 0);
		send_native();
	}
	return send_no_stack(end) ? CNT_RING_FULL : end;
}

/* sp: the interrupted stack pointer; 0: unknown. Returns how the tick ends. */
static __always_inline enum counter walk_and_send(struct bpf_perf_event_data *ctx,
						  const struct task_struct *task,
						  struct py_proc *p, u64 pid_tgid, u64 start_ns,
						  u64 sp, u64 now)
{
	bool kernel = false;
	struct scratch *s;
	enum counter end;
	u32 zero = 0, every = tick_thinning, ticks = 1, rate_hz;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return CNT_TSTATE_UNREADABLE;
	if (unlikely(s->busy))
		return CNT_BUSY;
	count_missed(&s->last_tick, task, pid_tgid, now);
	if (unlikely(every > 1)) {
		ticks = ticks_in_burst(pid_tgid >> 32, start_ns, every);
		if (!ticks)
			return CNT_THINNED;
	}
	rate_hz = tick_period_here()->rate_hz;
	start_tick(s, p, rate_hz, now);
	s->sample.h.rate_hz = rate_hz;
	begin_direct(s, task);
	end = unwind_python(s, p, task, sp, NULL);
	end_direct(s);
	s->sample.h.kind = RAW_SAMPLE;
	s->sample.h.every = ticks;
	s->sample.h.tgid = pid_tgid >> 32;
	s->sample.h.time_ns = now;
	s->sample.h.start_ns = start_ns;
	if (unlikely(end != CNT_SAMPLE)) {
		end = end_without_sample(ctx, end);
		end_tick(s, p);
		return end;
	}
	if (cfg_native)	/* before the code objects, which may use up the sample's time */
		kernel = walk_interrupted(ctx, 1);
	if (cfg_async)
		async_walk();
	send_new_codes(s, p, &s->sample.h);
	if (cfg_async)
		async_send();
	if (cfg_native)
		send_native();
	if (cfg_exceptions || cfg_kernel_stacks)
		send_extra(ctx, cfg_native ? kernel : !sp, s, p);
	if (cfg_stamps)
		forget_stamp(pid_tgid);
	end_tick(s, p);
	return send_sample(s, p, pid_tgid);
}

static __always_inline enum counter sample_process(struct bpf_perf_event_data *ctx,
						   const struct task_struct *task,
						   struct py_proc *p, u64 pid_tgid, u64 start_ns,
						   u64 sp)
{
	u64 now = bpf_ktime_get_ns();
	enum counter end = walk_and_send(ctx, task, p, pid_tgid, start_ns, sp, now);

	if (cfg_self_time && end != CNT_BUSY && end != CNT_THINNED)
		record_time(now);
	return end;
}

/*
 * A tick that only discovers: also whether this thread runs a state that was swapped in manually,
 * which it usually does with the GIL, and so seldom at a switch-out: see running_tstate(). With
 * cfg_gc_stats it looks for collections.
 */
static __noinline void discover_only(const struct task_struct *task, struct py_proc *p, u64 sp)
{
	bool by_hand = p->l.gil_how == PY_GIL_RT_CURRENT && !p->by_hand;
	u64 tp = thread_pointer(task), ts, is = 0, period = 0;
	struct scratch *s;
	u32 zero = 0;

	if (!cfg_gc_stats && (cfg_scan_only || !by_hand))
		return;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || s->busy)
		return;
	s->l = p->l;
	start_clock(s, bpf_ktime_get_ns(), 0);
	begin_direct(s, task);
	if (read_tstate(s, p, flags_of(task), tp, self_of(p, tp), sp, &ts) == CNT_SAMPLE) {
		is = ts_u64(s, p->l.ts_interp);
		period = has_gil(s, p, ts) ? cfg_period_ns : 0;
	}
	end_direct(s);
	if (cfg_gc_stats)
		see_collections(is, period);
}

/* A tick in a selected process that has an entry. Returns how the tick ends. */
static __always_inline enum counter sample_known(struct bpf_perf_event_data *ctx,
						 const struct task_struct *task, struct py_proc *p,
						 u64 pid_tgid, u64 start_ns, u64 sp)
{
	u32 tgid = pid_tgid >> 32;
	int found;

	if (unlikely(p->state == PY_PROC_OTHER))
		return CNT_OTHER;
	if (unlikely(p->state == PY_PROC_LINKING)) {
		found = find_libpython(tgid);
		if (found <= 0)
			return found ? report_unknown(tgid) : CNT_NOT_READY;
	}
	if (!cfg_ticks) {
		discover_only(task, p, sp);
		return CNT_UNWANTED;
	}
	return sample_process(ctx, task, p, pid_tgid, start_ns, sp);
}

/* A tick in a process that has no entry. Returns how it ends. */
static __noinline enum counter tick_without_entry(const struct task_struct *task, u32 tgid)
{
	u64 ended = ended_procs[tgid % ENDED_SLOTS];

	if (flags_of(task) & PF_EXITING && (ended ^ start_ns_of(task)) <= ENDED_PROFILED)
		return ended & ENDED_PROFILED ? CNT_ENDED : CNT_OTHER;
	return report_unknown(tgid);
}

/* Returns how the tick ends. */
static __always_inline enum counter handle_tick(struct bpf_perf_event_data *ctx)
{
	const struct task_struct *task = current_task();
	u64 pid_tgid = pid_tgid_of(task), sp = interrupted_user_sp(ctx), start_ns;
	u32 tgid = pid_tgid >> 32;
	struct py_proc *p;
	enum counter end;

	if (!tgid)
		return CNT_IDLE;
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (unlikely(!p))
		return tick_without_entry(task, tgid);
	start_ns = start_ns_of(task);
	if (unlikely(!p->start_ns))
		p->start_ns = start_ns;
	else if (unlikely(p->start_ns != start_ns))
		return report_unknown(tgid);	/* another process had this pid */
	if (cfg_filter.any) {
		if (is_unselected(p, start_ns))
			return CNT_UNSELECTED;
		if (p->unselected || p->state == PY_PROC_UNSEEN)
			return report_unknown(tgid);
	}
	p->ticks++;
	end = sample_known(ctx, task, p, pid_tgid, start_ns, sp);
	if (unlikely(end == CNT_OTHER || end == CNT_NOT_READY || end == CNT_NATIVE_THREAD))
		report_changed(p, tgid);
	return end;
}

SEC("perf_event")
int on_cpu_tick(struct bpf_perf_event_data *ctx)
{
	count_one(CNT_TICK);
	count_likely_end(handle_tick(ctx), CNT_SAMPLE);
	return 0;
}
