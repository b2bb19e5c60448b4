// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* host_size.c - see host_size.h. */
#include "capture/host_size.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"

/*
 * Loads a program like ours, which uses a map that grows: the kernel checks the two together before
 * it looks at what the program does.
 */
static bool may_use(int map)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },		/* the upper half of that instruction's number */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "map_grows", "GPL", insns,
				 ARRAY_SIZE(insns), NULL);

	if (prog >= 0)
		close(prog);
	return prog >= 0;
}

static bool maps_grow(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "grows", sizeof(uint32_t), sizeof(uint32_t), 1,
				 &opts);
	bool grows = map >= 0 && may_use(map);

	if (map >= 0)
		close(map);
	return grows;
}

static uint32_t pid_max(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	uint32_t max = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%u", &max) != 1)
		max = 0;
	fclose(f);
	return max;
}

static int count_process(void *ctx, pid_t tgid)
{
	++*(uint32_t *)ctx;
	return 0;
}

void host_size_find(struct host_size *out, bool count)
{
	int cpus = libbpf_num_possible_cpus();

	*out = (struct host_size){
		.cpus = cpus > 0 ? (uint32_t)cpus : 1, .pid_max = pid_max(), .grows = maps_grow(),
	};
	if (count && proc_each(count_process, &out->processes))
		out->processes = 0;
}
