/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory.bpf.h - sends memory that a process got: a RAW_ALLOC with the stack of the current thread.
 *
 * Page faults (mode_memory.bpf.c) and probes of an allocator share it. The bytes always count; if
 * there is no stack, the record says why.
 */
#ifndef TACHBPF_MEMORY_BPF_H
#define TACHBPF_MEMORY_BPF_H

#include "abi_memory.h"
#include "budget.bpf.h"
#include "losses.bpf.h"
#include "native_walk.bpf.h"
#include "pysend.bpf.h"
#include "pyunwind.bpf.h"
#include "proc_filter.bpf.h"
#include "resolve_libpython.bpf.h"

/* An error code in place of an address (include/linux/err.h, MAX_ERRNO). */
#define IS_ERROR(addr) ((addr) > -4096ull)

/*
 * Returns true if p is the entry of the current process, and the process is selected and can be
 * walked. Not during an exec and an exit: memory touched then is not the program's.
 */
static __always_inline bool is_recorded(struct py_proc *p, u32 tgid, u64 start_ns)
{
	if (!p->start_ns)
		p->start_ns = start_ns;
	if (capture_paused || p->start_ns != start_ns)
		return false;
	if (cfg_filter.any && (is_unselected(p, start_ns) || p->unselected))
		return false;
	if (p->state != PY_PROC_PYTHON &&
	    (p->state != PY_PROC_LINKING || find_libpython(tgid) <= 0))
		return false;
	return !(current_flags() & (PF_EXITING | PF_KTHREAD)) && !current_is_in_exec();
}

/*
 * Walk the current thread, whose registers are in ctx or, if the kernel was interrupted, those at
 * its entry into the kernel. The header of s->sample must be filled in. Returns as unwind_python().
 */
static __always_inline enum counter walk_for_alloc(struct bpf_perf_event_data *ctx,
						   struct scratch *s, struct py_proc *p)
{
	u64 sp = interrupted_user_sp(ctx);
	enum counter end;

	start_clock(s, s->sample.h.time_ns, EVENT_MORE_NS);
	end = unwind_python(s, p, current_task(), sp ? sp : current_user_sp(), NULL);
	if (cfg_native && (end == CNT_SAMPLE || is_without_stack(end)))
		walk_interrupted(ctx, end == CNT_SAMPLE);
	if (end == CNT_SAMPLE && cfg_async)
		async_walk();
	if (end == CNT_SAMPLE)
		send_new_codes(s, p, &s->sample.h);
	if (end == CNT_SAMPLE && cfg_async)
		async_send();
	if (cfg_native && (end == CNT_SAMPLE || is_without_stack(end)))
		send_native();
	return end;
}

/* The record has no stack. flags: of raw_sample_flags. */
static __always_inline void clear_stack(struct raw_sample *out, u8 flags)
{
	out->nframes = 0;
	out->status = STATUS_UNKNOWN;
	out->flags = flags;
	out->gc_at = 0;
	out->interp_id = 0;
}

/*
 * Send a RAW_ALLOC. The header of s->sample must be filled in except sysno, and so must its stack,
 * if the walk has ended with CNT_SAMPLE; CNT_FAULT_NOT_WALKED: there was no walk. now: user space
 * takes it at once. Returns CNT_ALLOC or CNT_ALLOC_LOST.
 */
static __always_inline enum counter send_alloc(struct scratch *s, const struct py_proc *p,
					       u64 pid_tgid, enum counter end,
					       const struct raw_memory *memory, bool now)
{
	struct raw_sample *out = &s->sample;
	u64 size;

	out->h.sysno = end;
	if (end != CNT_SAMPLE)
		clear_stack(out, end == CNT_FAULT_NOT_WALKED ? RAW_NOT_WALKED : 0);
	out->flags |= RAW_WEIGHED;
	size = complete_sample(out, pid_tgid);
	barrier_var(size);
	if (size > offsetof(struct raw_sample, memory_room))
		return CNT_ALLOC_LOST;
	*(struct raw_memory *)((u8 *)out + size) = *memory;
	size += sizeof(*memory);
	return output_sample(s, size, p, false, now) == CNT_SAMPLE ? CNT_ALLOC : CNT_ALLOC_LOST;
}

#endif
