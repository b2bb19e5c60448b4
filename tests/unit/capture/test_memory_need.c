// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_memory_need.c - what a capture takes for each possible CPU. A machine may have 128 of them
 * where 2 are online: the kernel creates per-CPU maps for all.
 */
#include <bpf/libbpf.h>
#include <errno.h>

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
		ring = memory_need_ring(cpus, 99);
		assert_true(maps + ring / cpus <= CPU_BYTES_MAX);
	}
	print_message("%llu KiB of maps for each possible CPU, "
		      "%u KiB of ring buffer at 99 Hz on 128\n",
		      (unsigned long long)maps / KIB, memory_need_ring(128, 99) / 128 / KIB);
	tachbpf_bpf__destroy(skel);
}

static void test_ring(void **state)
{
	assert_int_equal(memory_need_ring(2, 99), RING_BYTES_MIN);
	assert_int_equal(memory_need_ring(128, 99), 16 << 20);
	assert_int_equal(memory_need_ring(128, 999), 64 << 20);
	assert_int_equal(memory_need_ring(8192, 50000), 64 << 20);
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

/* The table of processes has room for as many again as there are, within its bounds. */
static void test_processes(void **state)
{
	const struct proc_source many = { .each = each }, unreadable = { .each = none };

	proc_set_source(&many);
	processes = 8192;
	assert_int_equal(memory_need_processes(16384), 16384);
	processes = 8193;
	assert_int_equal(memory_need_processes(16384), 32768);
	processes = 20000;
	assert_int_equal(memory_need_processes(16384), 65536);
	processes = 1000000;
	assert_int_equal(memory_need_processes(16384), PROCESSES_MAX);
	proc_set_source(&unreadable);
	assert_int_equal(memory_need_processes(16384), 16384);
	proc_set_source(&proc_direct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cpu),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
