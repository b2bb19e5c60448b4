/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wait_slots.bpf.h - the slots of threads that are off-CPU: see struct wait_slot.
 *
 * There is no lock. A slot can have two writers at a time if two threads share it, or if a
 * thread wakes up while the task iterator writes its slot. Then the wake-up time is lost.
 */
#ifndef TACHBPF_WAIT_SLOTS_H
#define TACHBPF_WAIT_SLOTS_H

#include "common.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAIT_SLOTS);	/* user space sets the real size */
	__type(key, u32);
	__type(value, struct wait_slot);
} wait_slots __weak SEC(".maps");

/* The slot of a thread. Another thread may use it: compare its tid. */
static __always_inline struct wait_slot *slot_of(u32 tid)
{
	u32 slot = tid & (cfg_wait_slots - 1);

	return bpf_map_lookup_elem(&wait_slots, &slot);
}

/* The slot's knowledge of a thread's stacks belongs to another thread, or is no longer true. */
static __always_inline void forget_thread(struct wait_slot *slot)
{
	slot->stamp = 0;
	slot->pause = 0;
	slot->pause_left = 0;
}

/* Called for a record other than a switch-out, which has another stack of the thread. */
static __always_inline void forget_stamp(u32 tid)
{
	struct wait_slot *slot = slot_of(tid);

	if (slot)
		slot->stamp = 0;
}

#endif
