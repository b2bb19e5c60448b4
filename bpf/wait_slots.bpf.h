/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wait_slots.bpf.h - threads that are off their CPUs: see struct wait_slot.
 *
 * No lock: each slot has one writer at a time but for the moment when two threads share it
 * or one is seen asleep and wakes up. What is lost then is when it woke up.
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

static __always_inline struct wait_slot *slot_of(u32 tid)
{
	u32 slot = tid & (cfg_wait_slots - 1);

	return bpf_map_lookup_elem(&wait_slots, &slot);
}

#endif
