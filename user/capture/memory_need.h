/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_need.h - how much memory a capture needs at its start. The kernel charges the BPF maps to
 * our cgroup, and kills us if its limit is lower.
 */
#ifndef TACHBPF_MEMORY_NEED_H
#define TACHBPF_MEMORY_NEED_H

#include <stdint.h>

struct bpf_object;

/* Returns about how many bytes the maps of an opened object will take, with their present sizes. */
uint64_t memory_need_maps(const struct bpf_object *obj);

/*
 * Entries of a table of processes: twice the host's present number of processes, but at least
 * `least` and at most PROCESSES_MAX.
 */
#define PROCESSES_MAX 131072
uint32_t memory_need_processes(uint32_t least);

#define RING_BYTES_MIN (4 * 1024 * 1024)
/* The size of the ring buffer for this many possible CPUs with rate_hz samples each. */
uint32_t memory_need_ring(int cpus, unsigned int rate_hz);

/*
 * Checks for memory for a ring buffer of ring bytes, and other_maps bytes of other maps. Returns
 * the size to use: a smaller one, at least ring_min, if the memory limit of our cgroup leaves no
 * room for more, which is logged; 0 after logging if there is no room even for that.
 */
uint32_t memory_need_check(uint64_t other_maps, uint32_t ring, uint32_t ring_min);

#endif
