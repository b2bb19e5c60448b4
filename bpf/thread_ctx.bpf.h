/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_ctx.bpf.h - the thread context (OTEP 4947): trace id, span id and attributes of what the
 * current thread works on, which an SDK in its process publishes.
 *
 * User space has found where the thread's pointer to it is (struct thread_ctx_place). The thread
 * stands still while this runs on its CPU, so `valid` says whether it was writing. All of it is
 * hostile: at most six reads of limited size; after one that fails, only a shorter one.
 */
#ifndef TACHBPF_THREAD_CTX_H
#define TACHBPF_THREAD_CTX_H

#include "pythread.bpf.h"

/* Most contexts have no more attributes than this, so one read brings them. */
#define TRACE_ATTRS_USUAL 68
/*
 * Minimum number of entries of a thread's DTV, in all versions of glibc (elf/dl-tls.c,
 * DTV_SURPLUS); the entry before the first has the number.
 */
#define DTV_ENTRIES_SURE 14
/*
 * On arm64 musl has the DTV's address in the last word of struct pthread, below the thread pointer.
 */
#ifdef __TARGET_ARCH_arm64
#define TCB_DTV_MUSL (-8)
#else
#define TCB_DTV_MUSL TCB_DTV
#endif

/* Find the current thread's pointer through its DTV; 0: it has none so far. */
static __always_inline u64 slot_by_dtv(const struct thread_ctx_place *place, u64 tp)
{
	u64 dtv, block, cnt, entry = 16, at = TCB_DTV, module = place->module;

	if (place->how == THREAD_CTX_DTV_MUSL) {
		entry = 8;
		at = TCB_DTV_MUSL;
	}
	if (read_user(&dtv, 8, tp + at))
		return 0;
	if (module > DTV_ENTRIES_SURE && entry == 16 &&
	    (read_user(&cnt, 8, dtv - entry) || module > cnt))
		return 0;
	/* The block is 0 or -1 if this thread has none of that module so far. */
	if (read_user(&block, 8, dtv + entry * module) || block + 1 <= 1)
		return 0;
	return block + place->off;
}

/*
 * The same, from the CPU's cache if it has the thread. A thread's block of a module stays where it
 * is; another thread has another tid, and another program or library another ident or place.
 */
static __always_inline u64 slot_by_cache(struct scratch *s, const struct py_proc *p, u64 tp)
{
	u64 thread = bpf_get_current_pid_tgid(), slot;
	u64 place = p->ident ^ (u64)p->trace.off << 16 ^ p->trace.module;
	u32 i = thread & (TRACE_SLOTS - 1);
	struct trace_slot *known;

	barrier_var(i);
	known = &s->trace_slots[i & (TRACE_SLOTS - 1)];
	if (known->thread == thread && known->place == place)
		return known->slot;
	slot = slot_by_dtv(&p->trace, tp);
	if (slot)
		*known = (struct trace_slot){ thread, place, slot };
	return slot;
}

/* Find the current thread's pointer; 0: it has none so far. */
static __always_inline u64 thread_ctx_slot(struct scratch *s, const struct py_proc *p)
{
	u64 tp = thread_pointer(current_task());

	if (is_unknown(tp))
		return 0;
	return p->trace.how == THREAD_CTX_TP ? tp + p->trace.off : slot_by_cache(s, p, tp);
}

/* Read the context at addr. Returns how many bytes of *out are valid; 0: none is active. */
static __always_inline u64 read_trace(struct raw_trace *out, u64 addr)
{
	u64 have = TRACE_ATTRS_USUAL, attrs;
	const u64 *ids = (const u64 *)out;

	if (read_user(out, RAW_TRACE_HEAD + TRACE_ATTRS_USUAL, addr)) {
		/* Its page may end earlier. */
		if (read_user(out, RAW_TRACE_HEAD, addr))
			return 0;
		have = 0;
	}
	if (out->valid != 1 || !(ids[0] | ids[1] | ids[2]))
		return 0;
	attrs = out->attrs_bytes[0] | out->attrs_bytes[1] << 8;
	if (attrs > RAW_TRACE_ATTRS)
		attrs = RAW_TRACE_ATTRS;
	if (attrs > have) {
		barrier_var(attrs);
		if (attrs > RAW_TRACE_ATTRS || read_user(out->attrs, attrs, addr + RAW_TRACE_HEAD))
			attrs = 0;
	}
	out->attrs_bytes[0] = attrs;
	out->attrs_bytes[1] = attrs >> 8;
	return RAW_TRACE_HEAD + attrs;
}

/*
 * Put the current thread's context after the first size bytes of s->sample, and set its flag.
 * Returns the number of bytes added.
 */
static __always_inline u64 add_trace(struct scratch *s, u64 size, const struct py_proc *p)
{
	struct raw_sample *sample = &s->sample;
	u64 slot = thread_ctx_slot(s, p), addr, bytes;

	if (!slot || read_user(&addr, 8, slot) || !addr)
		return 0;
	barrier_var(size);
	if (size > offsetof(struct raw_sample, trace_room))
		return 0;
	bytes = read_trace((struct raw_trace *)((u8 *)sample + size), addr);
	if (bytes)
		sample->flags |= RAW_TRACED;
	return bytes;
}

#endif
