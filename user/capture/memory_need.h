/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_need.h - how much memory a capture needs at its start. The kernel charges the BPF maps to
 * our cgroup, and kills us if its limit is lower.
 */
#ifndef TACHBPF_MEMORY_NEED_H
#define TACHBPF_MEMORY_NEED_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/host_size.h"

struct bpf_object;

/* Returns about how many bytes the maps of an opened object will take, with their present sizes. */
uint64_t memory_need_maps(const struct bpf_object *obj);

/*
 * Entries of a table of processes: twice the host's present number of processes, but not more than
 * there are pids, and at least PROCESSES_LEAST, where an entry that is not used takes no memory
 * PROCESSES_LEAST_GROWING; at most PROCESSES_MAX.
 */
#define PROCESSES_LEAST 4096
#define PROCESSES_LEAST_GROWING 16384
#define PROCESSES_MAX 131072
uint32_t memory_need_processes(const struct host_size *h);

#define RING_BYTES_MIN (1024 * 1024)
/*
 * Bytes of the ring buffer if each CPU takes rate_hz samples. switches: a thread that leaves its
 * CPU may be a record, too.
 */
uint32_t memory_need_ring(const struct host_size *h, unsigned int rate_hz, bool switches);

/*
 * Checks for memory for a ring buffer of ring bytes, and other_maps bytes of other maps. Returns
 * the size to use: a smaller one, at least ring_min, if the memory limit of our cgroup leaves no
 * room for more, which is logged; 0 after logging if there is no room even for that.
 */
uint32_t memory_need_check(uint64_t other_maps, uint32_t ring, uint32_t ring_min);

#endif
