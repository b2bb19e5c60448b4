/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * losses.bpf.h - records which thread or process lost something: the map losses (abi.h, struct
 * loss_table).
 *
 * None of this runs without a loss. It may run in interrupt context, so the map is an array: each
 * CPU writes its own element, while user space reads it.
 */
#ifndef TACHBPF_LOSSES_BPF_H
#define TACHBPF_LOSSES_BPF_H

#include "common.bpf.h"

/* Number of slots that are tried for one loss. */
#define LOSS_PROBES 4

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_IN_USER_SPACE);
	__uint(max_entries, 1);		/* user space sets the number of CPUs */
	__type(key, u32);
	__type(value, struct loss_table);
} losses __weak SEC(".maps");

/* 0: the slot is this thread's (tid 0: this process'). Without a branch for the verifier. */
static __always_inline u64 is_other(const struct loss_slot *slot, u64 pid_tgid, u64 start_ns)
{
	return (((u64)slot->tgid << 32 | slot->tid) ^ pid_tgid) | (slot->start_ns ^ start_ns);
}

/*
 * The slot of a thread (tid 0: of a process) among LOSS_SLOTS from first on, or one that it may
 * take; 2 * LOSS_SLOTS: there is none.
 */
static __always_inline u64 find_loss_slot(const struct loss_table *t, u64 first, u64 pid_tgid,
					  u64 start_ns, u64 now)
{
	u64 hash = (pid_tgid ^ pid_tgid >> 32) * 0x9e3779b97f4a7c15ULL >> 40;
	u64 found = 2 * LOSS_SLOTS + opaque_zero(hash), at, i;

#pragma clang loop unroll(disable)
	for (i = 0; i < LOSS_PROBES; i++) {
		at = first | ((hash + i) & (LOSS_SLOTS - 1));
		if (!is_other(&t->slots[at], pid_tgid, start_ns))
			return at;
		if (now - t->slots[at].last_ns > LOSS_KEPT_NS)
			found = at;
	}
	return found;
}

/* Count a loss in a slot, which may have belonged to another thread. */
static __always_inline void note_in_slot(struct loss_slot *slot, u64 pid_tgid, u64 start_ns,
					 u64 kind, u64 now)
{
	if (is_other(slot, pid_tgid, start_ns)) {
		/* User space reads in the opposite order. */
		__builtin_memset(slot->cnt, 0, sizeof(slot->cnt));
		barrier();
		slot->tgid = pid_tgid >> 32;
		slot->tid = pid_tgid;
		slot->start_ns = start_ns;
	}
	barrier_var(kind);	/* the verifier tracks what is checked right before its use */
	if (kind < LOSS_KINDS)
		slot->cnt[kind]++;
	slot->last_ns = now;
}

int note_loss(u32 which, u64 pid_tgid, u64 start_ns);
/*
 * Record a loss of a thread (tid 0: unknown) whose process began at start_ns. The function has
 * external linkage, so the verifier checks it only once. Returns 0.
 */
__weak __noinline int note_loss(u32 which, u64 pid_tgid, u64 start_ns)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct loss_table *t = bpf_map_lookup_elem(&losses, &cpu);
	u64 now = bpf_ktime_get_ns(), at;

	if (!t || t->busy)
		return 0;
	t->busy = 1;
	barrier();
	at = find_loss_slot(t, 0, pid_tgid, start_ns, now);
	if (at >= 2 * LOSS_SLOTS) {
		pid_tgid &= ~0xffffffffULL;
		at = find_loss_slot(t, LOSS_SLOTS, pid_tgid, start_ns, now);
	}
	barrier_var(at);
	if (at < 2 * LOSS_SLOTS)
		note_in_slot(&t->slots[at], pid_tgid, start_ns, which - CNT_LOSSES, now);
	barrier();
	t->seq++;
	t->busy = 0;
	return 0;
}

/* Count a loss of a thread: note_loss(). */
static __always_inline void count_loss(enum counter which, u32 tgid, u32 tid, u64 start_ns)
{
	count_one(which);
	note_loss(which, (u64)tgid << 32 | tid, start_ns);
}

int count_end(u32 end);
/*
 * Count how something in the current thread has ended; for a loss, record the thread. With external
 * linkage, too: the verifier must not follow each path to each end through the rest. Returns 0.
 */
__weak __noinline int count_end(u32 end)
{
	u64 which = end;

	barrier_var(which);
	if (which >= CNT_MAX)
		return 0;
	count_n(which, 1);
	return which < CNT_LOSSES ? 0 :
	       note_loss(which, bpf_get_current_pid_tgid(), current_start_ns());
}

/* The same, without the call for the usual end, which is not a loss. */
static __always_inline void count_likely_end(enum counter end, enum counter usual)
{
	if (end == usual)
		count_one(usual);
	else
		count_end(end);
}

#endif
