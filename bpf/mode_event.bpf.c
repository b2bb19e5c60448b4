// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mode_event.bpf.c - events that the user has chosen (-e): a page fault, a tracepoint, a probed
 * function. Sends the Python stack of the thread in which each happens.
 *
 * One of the three programs is loaded, by the kind of the event; they differ in what they may call.
 * A probe's program can be interrupted by the scheduler and keeps its CPU's struct scratch
 * (`busy`); an event of another thread that finds it busy is lost. A program can trigger events as
 * often as it likes, so walks have a budget; events beyond it are counted for their thread.
 */
#include "budget.bpf.h"
#include "discover.bpf.h"
#include "losses.bpf.h"
#include "native_walk.bpf.h"
#include "pyextra.bpf.h"
#include "pysend.bpf.h"
#include "pyunwind.bpf.h"
#include "proc_filter.bpf.h"
#include "resolve_libpython.bpf.h"
#include "self_time.bpf.h"

/* Period of walks for events that perf does not count: tracepoints and probes. */
const volatile unsigned int cfg_event_every = 1;

/* Cost of an event in addition to its walk: running this program, and sending the record. */
#define EVENT_NS 1000
/* A record of an unknown process wakes user space. */
#define ASK_NS 10000

/* Walk the current thread. perf: its registers; NULL: it has entered the kernel by itself. */
static __always_inline enum counter walk_event(struct bpf_perf_event_data *perf,
					       struct scratch *s, struct py_proc *p)
{
	u64 sp = perf ? interrupted_user_sp(perf) : 0;
	struct native_scratch *ns;
	enum counter end;

	start_clock(s, s->sample.h.time_ns, EVENT_MORE_NS);
	end = unwind_python(s, p, current_task(), sp ? sp : current_user_sp(), NULL);
	if (!cfg_native || (end != CNT_SAMPLE && !is_without_stack(end)))
		return end;
	if (perf) {
		walk_interrupted(perf, end == CNT_SAMPLE);
	} else {
		ns = native_scratch();
		if (ns) {
			current_entry_regs(&ns->regs);
			native_walk(end == CNT_SAMPLE);
		}
	}
	return end;
}

/* Send the result of the walk, which has ended with `end`. Returns how the event ends. */
static __always_inline enum counter send_event(void *ctx, struct scratch *s, struct py_proc *p,
					       enum counter end)
{
	if (end != CNT_SAMPLE) {
		if (!is_without_stack(end) || !cfg_native_threads)
			return end;
		if (cfg_native)
			send_native();
		return send_no_stack(end) ? CNT_RING_FULL : end;
	}
	if (cfg_async)
		async_walk();
	send_new_codes(s, p, &s->sample.h);
	if (cfg_async)
		async_send();
	if (cfg_native)
		send_native();
	if (cfg_exceptions || cfg_kernel_stacks)
		send_extra(ctx, true, s, p);
	return send_sample(s, p, bpf_get_current_pid_tgid());
}

/* The event of a process that is recorded. Returns how it ends. */
static __always_inline enum counter take_event(void *ctx, struct bpf_perf_event_data *perf,
					       struct scratch *s, struct py_proc *p, u32 tgid,
					       u64 start_ns)
{
	u64 now = bpf_ktime_get_ns();
	enum counter end = CNT_NOT_READY;

	if (!has_budget(s, now))
		return CNT_EVENT_BEYOND;
	s->busy = 1;
	s->sample.h = (struct raw_header){
		.kind = RAW_SAMPLE,
		.tgid = tgid,
		.time_ns = now,
		.start_ns = start_ns,
	};
	if (p->state == PY_PROC_PYTHON || find_libpython(tgid) > 0)
		end = walk_event(perf, s, p);
	end = send_event(ctx, s, p, end);
	if (cfg_self_time)
		record_time(now);
	spend_budget(s, EVENT_NS + bpf_ktime_get_ns() - now);
	s->busy = 0;
	return end == CNT_NOT_READY ? CNT_NO_FRAMES : end;	/* ticks count the other */
}

/* Ask user space to inspect the process, within the budget. */
static __always_inline enum counter ask_about(struct scratch *s, u32 tgid)
{
	u64 now = bpf_ktime_get_ns();
	enum counter end;

	if (!has_budget(s, now))
		return cfg_all || bpf_map_lookup_elem(&watched, &tgid) ? CNT_EVENT_BEYOND :
									 CNT_EVENT_OTHER;
	end = report_unknown(tgid);
	if (end != CNT_UNKNOWN)
		return end == CNT_RING_FULL ? end : CNT_EVENT_OTHER;
	spend_budget(s, ASK_NS);
	return CNT_EVENT_UNKNOWN;
}

/* Returns true if this event is between two that are walked. */
static __always_inline bool is_passed_over(struct scratch *s)
{
	if (cfg_event_every <= 1)
		return false;
	s->passed++;
	if (s->passed < cfg_event_every)
		return true;
	s->passed = 0;
	return false;
}

/* Returns how the event ends. */
static __always_inline enum counter handle_event(void *ctx, struct bpf_perf_event_data *perf)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, zero = 0;
	struct scratch *s;
	struct py_proc *p;
	u64 start_ns;

	if (!tgid || capture_paused || current_flags() & PF_KTHREAD || current_is_in_exec())
		return CNT_EVENT_OTHER;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return CNT_TSTATE_UNREADABLE;
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (!p)
		return ask_about(s, tgid);
	start_ns = current_start_ns();
	if (!p->start_ns)
		p->start_ns = start_ns;
	else if (p->start_ns != start_ns)
		return ask_about(s, tgid);
	if (cfg_filter.any) {
		if (is_unselected(p, start_ns))
			return CNT_EVENT_OTHER;
		if (p->unselected || p->state == PY_PROC_UNSEEN)
			return ask_about(s, tgid);
	}
	if (p->state == PY_PROC_OTHER)
		return CNT_EVENT_OTHER;
	if (is_passed_over(s))
		return CNT_EVENT_PASSED;
	return s->busy ? CNT_BUSY : take_event(ctx, perf, s, p, tgid, start_ns);
}

SEC("?perf_event")
int on_event_counted(struct bpf_perf_event_data *ctx)
{
	count_one(CNT_EVENT);
	count_end(handle_event(ctx, ctx));
	return 0;
}

SEC("?tracepoint")
int on_event_tracepoint(void *ctx)
{
	count_one(CNT_EVENT);
	count_end(handle_event(ctx, NULL));
	return 0;
}

SEC("?uprobe")
int on_event_probe(void *ctx)
{
	count_one(CNT_EVENT);
	count_end(handle_event(ctx, NULL));
	return 0;
}
