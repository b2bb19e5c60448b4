// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_need.c - see memory_need.h. */
#include "capture/memory_need.h"

#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "host/memory_limit.h"

/*
 * What a capture of some processes needs besides its maps: itself (7 MiB), its workers, the
 * programs, and the verifier while it checks them. Measured: the least limit at which a recording
 * begins, less the maps; and what those that grow may get.
 */
#define BESIDES_BYTES (22ull << 20)
/* The kernel frees the maps of a recording that has just ended a little later. */
#define AGAIN_MAX 20
#define AGAIN_US 50000
/* kernel/bpf/hashtab.c: struct htab_elem, struct bucket */
#define HASH_ELEM_BYTES 48
#define HASH_BUCKET_BYTES 16
#define SHOWN_BYTES 512

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint64_t hash_bytes_of(const struct bpf_map *m)
{
	uint64_t cnt = bpf_map__max_entries(m), buckets = 1;
	uint64_t elem = HASH_ELEM_BYTES + round_up(bpf_map__key_size(m), 8) +
			round_up(bpf_map__value_size(m), 8);

	while (buckets < cnt)
		buckets *= 2;
	return buckets * HASH_BUCKET_BYTES +
	       (bpf_map__map_flags(m) & BPF_F_NO_PREALLOC ? 0 : cnt * elem);
}

static uint64_t map_bytes(const struct bpf_map *m)
{
	uint64_t values = bpf_map__max_entries(m) * round_up(bpf_map__value_size(m), 8);

	switch (bpf_map__type(m)) {
	case BPF_MAP_TYPE_HASH:
		return hash_bytes_of(m);
	case BPF_MAP_TYPE_ARRAY:
		return values;
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return values * (uint64_t)libbpf_num_possible_cpus();
	default:
		return 0;	/* small, or the ring buffer */
	}
}

uint64_t memory_need_maps(const struct bpf_object *obj)
{
	const struct bpf_map *m;
	uint64_t sum = 0;

	bpf_object__for_each_map(m, obj)
		if (bpf_map__autocreate(m))
			sum += map_bytes(m);
	return sum;
}

/* The lowest power of two that is not lower, at most PROCESSES_MAX. */
static uint32_t power_of_two(uint32_t cnt)
{
	uint32_t power = 1;

	while (power < cnt && power < PROCESSES_MAX)
		power *= 2;
	return power;
}

uint32_t memory_need_processes(const struct host_size *h)
{
	uint32_t twice = h->processes < PROCESSES_MAX ? 2 * h->processes : PROCESSES_MAX;
	uint32_t least = h->grows ? PROCESSES_LEAST_GROWING : PROCESSES_LEAST;
	uint32_t cnt = power_of_two(twice > least ? twice : least);
	uint32_t pids = h->pid_max ? power_of_two(h->pid_max) : cnt;

	return cnt < pids ? cnt : pids;
}

/*
 * Room for 1 / RING_LATE_S seconds of stacks of 100 frames: the delay with which user space may get
 * a CPU on an overloaded host (100 ms were measured with four busy threads per CPU).
 */
#define RING_SAMPLE_BYTES 1600
#define RING_LATE_S 2
#define RING_BYTES_MAX (64 * 1024 * 1024)

/* What arrives at any rate: execs, code objects that are seen for the first time. */
#define RING_BYTES_CPU (512 * 1024)
/* Each switch of a thread may send a record: 0.1 s of those of a CPU that only switches. */
#define RING_BYTES_SWITCHES (4 * 1024 * 1024)

uint32_t memory_need_ring(const struct host_size *h, unsigned int rate_hz, bool switches)
{
	uint64_t want = (uint64_t)h->cpus * rate_hz * RING_SAMPLE_BYTES / RING_LATE_S;
	uint64_t least = (uint64_t)h->cpus * RING_BYTES_CPU;
	uint64_t bytes = switches ? RING_BYTES_SWITCHES : RING_BYTES_MIN;

	if (least > RING_BYTES_SWITCHES)
		least = RING_BYTES_SWITCHES;
	while (bytes < least || (bytes < want && bytes < RING_BYTES_MAX))
		bytes *= 2;
	return (uint32_t)bytes;
}

static unsigned int bytes_to_mib(uint64_t bytes)
{
	return (unsigned int)((bytes + (1 << 20) - 1) >> 20);
}

uint32_t memory_need_check(uint64_t other_maps, uint32_t ring, uint32_t ring_min)
{
	uint64_t others = other_maps + BESIDES_BYTES;
	uint32_t fits = ring, tries;
	char path[SHOWN_BYTES];
	struct memory_limit l;

	log_debug("memory: %u MiB of maps, a ring buffer of %u MiB", bytes_to_mib(other_maps),
		  bytes_to_mib(ring));
	for (tries = 0; tries < AGAIN_MAX; tries++) {
		if (!memory_limit_find(&l) || others + ring <= l.left)
			return ring;
		usleep(AGAIN_US);
	}
	while (fits > ring_min && others + fits > l.left)
		fits /= 2;
	escape_text(l.path, strlen(l.path), path, sizeof(path));
	if (others + fits > l.left) {
		log_error("the memory limit of the cgroup %s is %u MiB, of which %u MiB are left, "
			  "but %u MiB are needed, or the kernel would kill tachbpf: raise "
			  "memory.max",
			  path, bytes_to_mib(l.limit), (unsigned int)(l.left >> 20),
			  bytes_to_mib(others + fits));
		return 0;
	}
	if (fits < ring)
		log_warn("the memory limit of the cgroup %s (%u MiB) only allows a ring buffer of "
			 "%u MiB instead of %u: samples may be lost (ring_full)",
			 path, bytes_to_mib(l.limit), bytes_to_mib(fits), bytes_to_mib(ring));
	return fits;
}
