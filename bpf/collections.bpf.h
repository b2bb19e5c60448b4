/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * collections.bpf.h - the interpreter's own counters of garbage collections: reads them in the
 * process that a program interrupts, and sends a RAW_GC_DONE when they have changed.
 *
 * A tick looks at the interpreter of the thread's state; if the thread has none, at the first one.
 * So new counts of an interpreter are seen when one of its threads is next interrupted.
 */
#ifndef TACHBPF_COLLECTIONS_H
#define TACHBPF_COLLECTIONS_H

#include "abi_memory.h"
#include "pysend.bpf.h"
#include "pyunwind.bpf.h"

/*
 * State of an interpreter's collections, in shared slots: the last writer owns the slot. The other
 * one's next record then counts as its first one, which user space compares with the last one that
 * it has. If two CPUs write at the same time, a record is repeated.
 */
#define GC_SLOTS 4096
struct gc_slot {
	u64 owner;	/* the process' ident and the interpreter */
	u64 stamp;	/* changes with the counters */
	u64 sent_ns;	/* when they were last sent; 0: never */
	u64 seen_ns;	/* as in struct raw_gc */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GC_SLOTS);	/* without --mode mem user space sets 1 */
	__type(key, u32);
	__type(value, struct gc_slot);
} gc_slots __weak SEC(".maps");

/* The slot of the interpreter is; it never returns NULL, but the verifier does not know that. */
static __always_inline struct gc_slot *gc_slot_of(u64 ident, u64 is)
{
	u64 owner = ident ^ is * 0x9e3779b97f4a7c15ULL;
	u32 at = owner * 0xbf58476d1ce4e5b9ULL >> 52 & (GC_SLOTS - 1);
	struct gc_slot *slot = bpf_map_lookup_elem(&gc_slots, &at);

	if (slot && slot->owner != owner)
		*slot = (struct gc_slot){ .owner = owner };
	return slot;
}

/* Read the last item of 3.15's ring at `ring`, which has the sums. Returns 0, or -1: unreadable. */
static __always_inline int read_ring(struct raw_gc_generation *out, u64 *seconds, u64 ring,
				     u64 items)
{
	/* start, stop, collections, collected, uncollectable, candidates, seconds */
	u64 item[7];
	u8 index;

	if (read_user(&index, 1, ring + items * GC_ITEM_BYTES) || index >= items ||
	    read_user(item, sizeof(item), ring + index * GC_ITEM_BYTES))
		return -1;
	*out = (struct raw_gc_generation){ item[2], item[3], item[4] };
	*seconds = item[6];
	return 0;
}

/*
 * Read 3.15's struct gc_stats, through the pointer at `at`. Its number of updates is odd during an
 * update. Returns 0, or -1: unreadable, or being written.
 */
static __always_inline int read_rings(const struct py_proc *p, u64 at, struct raw_gc *raw,
				      u64 *stamp)
{
	u64 young = p->l.gc_young_items, old = p->l.gc_old_items, stats;
	u32 updates, again;

	if (read_user(&stats, 8, at) || !stats)
		return -1;
	at = stats + gc_rings_bytes(young, old) - 8;
	if (read_user(&updates, 4, at) || updates & 1)
		return -1;
	if (*stamp == updates)
		return 0;
	if (read_ring(&raw->generations[0], &raw->seconds[0], stats, young))
		return -1;
	stats += gc_ring_bytes(young);
	if (read_ring(&raw->generations[1], &raw->seconds[1], stats, old))
		return -1;
	stats += gc_ring_bytes(old);
	if (read_ring(&raw->generations[2], &raw->seconds[2], stats, old))
		return -1;
	if (read_user(&again, 4, at) || again != updates)
		return -1;
	*stamp = updates;
	return 0;
}

/*
 * Read the counters. *stamp is that of the last ones sent, and is set to that of these; if they are
 * equal, *raw may be unchanged. Returns 0, or -1: there are none now.
 */
static __always_inline int read_collections(const struct py_proc *p, u64 at, struct raw_gc *raw,
					    u64 *stamp)
{
	u64 sum = 0;
	u32 i;

	if (p->l.gc_stats_how == PY_GC_STATS_RINGS)
		return read_rings(p, at, raw, stamp);
	if (read_user(raw->generations, sizeof(raw->generations), at))
		return -1;
	for (i = 0; i < RAW_GC_GENERATIONS; i++)	/* none of them ever decreases */
		sum += raw->generations[i].collections + raw->generations[i].collected +
		       raw->generations[i].uncollectable;
	*stamp = sum;
	return 0;
}

/* Returns true if a collection is running. at: where the counters are. */
static __always_inline bool is_collecting(const struct py_proc *p, u64 is, u64 at)
{
	u32 collecting;

	if (p->collecting)
		at = p->collecting;
	else if (p->l.gc_stats_how == PY_GC_STATS_ARRAY)
		at += sizeof(((struct raw_gc *)0)->generations);
	else
		at = is + p->l.interp_gc_collecting;
	return !read_user(&collecting, 4, at) && collecting;
}

/* Send the counters in *raw. Returns 1, or 0: the ring buffer is full. */
static __always_inline int send_collections(struct py_proc *p, u64 is, struct gc_slot *slot,
					    struct raw_gc *raw, u64 stamp, u64 now)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();

	raw->h.kind = RAW_GC_DONE;
	raw->h.tgid = pid_tgid >> 32;
	raw->h.time_ns = now;
	raw->h.start_ns = current_start_ns();
	raw->tid = pid_tgid;
	raw->interp_id = is ? interpreter_id(p, is) : 0;
	raw->since_ns = slot->sent_ns;
	raw->seen_ns = slot->seen_ns;
	if (bpf_ringbuf_output(&events, raw, sizeof(*raw), wakeup_flags()))
		return 0;
	count_one(CNT_GC_DONE);
	slot->stamp = stamp;
	slot->sent_ns = now;
	slot->seen_ns = 0;
	return 1;
}

int see_collections(u64 is, u64 period_ns);
/*
 * Look at the collections of the interpreter is (0: the first one) of the current process, and send
 * a RAW_GC_DONE if they have changed. period_ns: what a tick stands for in a thread that may be the
 * one that collects; 0: another thread. If the ring buffer is full, the next look tries again.
 * Returns 1 if it was sent. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline int see_collections(u64 is, u64 period_ns)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct py_proc *p = bpf_map_lookup_elem(&py_procs, &tgid);
	u64 now = bpf_ktime_get_ns(), at, stamp;
	struct raw_gc raw = {};
	struct gc_slot *slot;

	if (!p || !p->l.gc_stats_how)
		return 0;
	if (!is)
		is = p->main_interp;
	at = is + p->l.interp_gc_stats;
	if (p->gc_stats) {	/* all interpreters count together */
		is = 0;
		at = p->gc_stats;
	} else if (!is) {
		return 0;
	}
	slot = gc_slot_of(p->ident, is);
	if (!slot)
		return 0;
	if (period_ns && is_collecting(p, is, at))
		slot->seen_ns += period_ns;
	stamp = slot->sent_ns ? slot->stamp : ~0ULL;
	if (read_collections(p, at, &raw, &stamp) || (slot->sent_ns && stamp == slot->stamp))
		return 0;
	return send_collections(p, is, slot, &raw, stamp, now);
}

#endif
