// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_skeleton.c - what a capture that only scans loads: one program, and what it needs. */
#include "user/capture/skeleton.c"
#include "tests/unit/tach_test.h"

/* What the skeleton refers to is there, and the rest is NULL. */
static void check_members(const struct tachbpf_bpf *skel)
{
	assert_non_null(skel->progs.on_task);
	assert_null(skel->progs.on_cpu_tick);
	assert_null(skel->progs.on_exec);
	assert_null(skel->maps.losses);
	assert_non_null(skel->maps.py_procs);
	assert_string_equal(bpf_map__name(skel->maps.wait_slots), "wait_slots");
	assert_non_null(skel->rodata);
	assert_int_equal(skel->rodata->cfg_wait_slots, WAIT_SLOTS);
	assert_non_null(skel->bss);
}

static void check_scan(struct tachbpf_bpf *skel)
{
	static const char maps[] = " py_procs known_exes other_exes watched marks counters events "
				   "wait_slots .rodata .rodata.filter .bss ";
	struct bpf_program *prog;
	struct bpf_map *map;
	char name[64];

	skeleton_keep_scan(skel);
	bpf_object__for_each_program(prog, skel->obj)
		assert_int_equal(bpf_program__autoload(prog), prog == skel->progs.on_task);
	bpf_object__for_each_map(map, skel->obj) {
		const char *dot = strchr(bpf_map__name(map), '.');

		snprintf(name, sizeof(name), " %s ", dot ? dot : bpf_map__name(map));
		assert_int_equal(bpf_map__autocreate(map), strstr(maps, name) != NULL);
		if (bpf_map__autocreate(map) && bpf_map__type(map) == BPF_MAP_TYPE_HASH)
			assert_true(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC);
	}
}

static void test_scan(void **state)
{
	struct tachbpf_bpf *skel = skeleton_open_scan();

	assert_non_null(skel);
	if (types_fd >= 0)	/* otherwise the kernel's types cannot be read here */
		check_members(skel);
	check_scan(skel);
	tachbpf_bpf__destroy(skel);
	skel = skeleton_open();
	assert_non_null(skel);
	assert_non_null(skel->progs.on_cpu_tick);
	check_scan(skel);
	tachbpf_bpf__destroy(skel);
	forget_types();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
