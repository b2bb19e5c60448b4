// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_memory_need.c - what a capture takes for each possible CPU. A machine may have 128 of them
 * where 2 are online: the kernel creates per-CPU maps for all.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>

#include "user/capture/memory_need.c"
#include "host/proc.h"
#include "tachbpf.skel.h"
#include "tests/unit/tach_test.h"

#define KIB 1024
#define CPU_BYTES_MAX (256 * KIB)

/* Of memory_need_maps() and of the table losses, which has an element for each possible CPU. */
static uint64_t maps_of_a_cpu(const struct bpf_object *obj)
{
	const struct bpf_map *m;
	uint64_t sum = 0;

	bpf_object__for_each_map(m, obj) {
		if (!bpf_map__autocreate(m))
			continue;
		if (!strcmp(bpf_map__name(m), "losses"))
			sum += round_up(bpf_map__value_size(m), 8);
		else if (bpf_map__type(m) == BPF_MAP_TYPE_PERCPU_ARRAY)
			sum += bpf_map__max_entries(m) * round_up(bpf_map__value_size(m), 8);
	}
	return sum;
}

static uint32_t ring_of(int cpus, unsigned int rate_hz)
{
	const struct host_size h = { .cpus = (uint32_t)cpus };

	return memory_need_ring(&h, rate_hz, false);
}

/* Maps with all that options can switch on, and the CPU's part of the ring buffer at 99 Hz. */
static void test_a_cpu(void **state)
{
	struct tachbpf_bpf *skel = tachbpf_bpf__open();
	uint64_t maps, all, ring;
	int cpus;

	assert_non_null(skel);
	maps = maps_of_a_cpu(skel->obj);
	all = memory_need_maps(skel->obj);
	bpf_map__set_max_entries(skel->maps.losses, 128);
	/* The table of losses counts in both. */
	assert_int_equal(maps_of_a_cpu(skel->obj), maps);
	assert_int_equal(memory_need_maps(skel->obj) - all,
			 127 * (uint64_t)bpf_map__value_size(skel->maps.losses));
	assert_true(maps > bpf_map__value_size(skel->maps.losses));
	for (cpus = 32; cpus <= 1024; cpus *= 2) {
		ring = ring_of(cpus, 99);
		assert_true(maps + ring / cpus <= CPU_BYTES_MAX);
	}
	print_message("%llu KiB of maps for each possible CPU, "
		      "%u KiB of ring buffer at 99 Hz on 128\n",
		      (unsigned long long)maps / KIB, ring_of(128, 99) / 128 / KIB);
	tachbpf_bpf__destroy(skel);
}

/* By CPUs and rate; a power of two, as the kernel demands. */
static void test_ring(void **state)
{
	const struct host_size two = { .cpus = 2 }, many = { .cpus = 128 };

	assert_int_equal(ring_of(1, 19), 1 << 20);
	assert_int_equal(ring_of(2, 19), 1 << 20);
	assert_int_equal(ring_of(2, 99), 1 << 20);
	assert_int_equal(ring_of(2, 999), 2 << 20);
	assert_int_equal(ring_of(3, 19), 2 << 20);
	assert_int_equal(ring_of(8, 19), 4 << 20);
	assert_int_equal(ring_of(128, 19), 4 << 20);
	assert_int_equal(ring_of(128, 99), 16 << 20);
	assert_int_equal(ring_of(128, 999), 64 << 20);
	assert_int_equal(ring_of(8192, 50000), 64 << 20);
	/* What switches send does not depend on the rate. */
	assert_int_equal(memory_need_ring(&two, 19, true), 4 << 20);
	assert_int_equal(memory_need_ring(&many, 99, true), 16 << 20);
}

static uint32_t processes_of(uint32_t processes, uint32_t pid_max, bool grows)
{
	const struct host_size h = { .cpus = 2, .processes = processes, .pid_max = pid_max,
				     .grows = grows };

	return memory_need_processes(&h);
}

/* The table of processes has room for as many again as there are, within its bounds. */
static void test_processes(void **state)
{
	static const uint32_t pid_max[] = { 0, 32768, 4194304 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pid_max); i++) {
		assert_int_equal(processes_of(0, pid_max[i], false), PROCESSES_LEAST);
		assert_int_equal(processes_of(2048, pid_max[i], false), 4096);
		assert_int_equal(processes_of(2049, pid_max[i], false), 8192);
		assert_int_equal(processes_of(100, pid_max[i], true), PROCESSES_LEAST_GROWING);
		assert_int_equal(processes_of(8193, pid_max[i], true), 32768);
	}
	assert_int_equal(processes_of(20000, 4194304, false), 65536);
	assert_int_equal(processes_of(20000, 4194304, true), 65536);
	assert_int_equal(processes_of(1000000, 4194304, false), PROCESSES_MAX);
	assert_int_equal(processes_of(UINT32_MAX, 0, true), PROCESSES_MAX);
	/* There are not more processes than pids. */
	assert_int_equal(processes_of(20000, 32768, true), 32768);
	assert_int_equal(processes_of(10, 301, true), 512);
}

static uint64_t growing_bytes(const struct tachbpf_bpf *skel)
{
	return hash_bytes_of(skel->maps.py_procs) + hash_bytes_of(skel->maps.watched) +
	       hash_bytes_of(skel->maps.known_exes) + hash_bytes_of(skel->maps.marks);
}

/* A map that grows takes nothing for entries that it does not have. */
static void test_growing(void **state)
{
	struct tachbpf_bpf *skel = tachbpf_bpf__open();
	uint64_t whole, grown;

	assert_non_null(skel);
	whole = growing_bytes(skel);
	assert_true(whole > 9 << 20);
	bpf_map__set_map_flags(skel->maps.py_procs, BPF_F_NO_PREALLOC);
	bpf_map__set_map_flags(skel->maps.watched, BPF_F_NO_PREALLOC);
	bpf_map__set_map_flags(skel->maps.known_exes, BPF_F_NO_PREALLOC);
	bpf_map__set_map_flags(skel->maps.marks, BPF_F_NO_PREALLOC);
	grown = growing_bytes(skel);
	assert_int_equal(grown, 16 * (16384 + 16384 + 4096 + 16384));
	tachbpf_bpf__destroy(skel);
}

static int processes;

static int each(pid_t tgid, proc_each_fn cb, void *ctx)
{
	int i, err = 0;

	for (i = 0; !err && i < processes; i++)
		err = cb(ctx, i + 1);
	return err;
}

static int none(pid_t tgid, proc_each_fn cb, void *ctx)
{
	return -ENOENT;
}

static void test_host(void **state)
{
	const struct proc_source many = { .each = each }, unreadable = { .each = none };
	struct host_size h;

	processes = 8193;
	proc_set_source(&many);
	host_size_find(&h, true);
	assert_int_equal(h.processes, 8193);
	assert_int_equal(h.cpus, libbpf_num_possible_cpus());
	assert_true(h.pid_max >= 301);	/* the kernel's least: 301 (kernel/pid.c) */
	host_size_find(&h, false);
	assert_int_equal(h.processes, 0);
	proc_set_source(&unreadable);
	host_size_find(&h, true);
	assert_int_equal(h.processes, 0);
	proc_set_source(&proc_direct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cpu),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
