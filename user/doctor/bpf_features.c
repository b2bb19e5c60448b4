// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bpf_features.c - probes by type information and by tiny loads. See bpf_features.h.
 */
#include "doctor/bpf_features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <unistd.h>

/* Read once, about 6 MB; features_release() frees it. */
static struct btf *kernel_types;

static int load_types(void)
{
	if (!kernel_types)
		kernel_types = btf__load_vmlinux_btf();
	return kernel_types ? 0 : -errno;
}

/*
 * Returns 1 if the kernel's enum has this value, 0 if not, or -errno. Each helper, map type and
 * program type is a value of an enum.
 */
static int enum_has(const char *enumeration, const char *value)
{
	const struct btf_type *t;
	const struct btf_enum *e;
	int err = load_types(), id, i;

	if (err)
		return err;
	id = btf__find_by_name_kind(kernel_types, enumeration, BTF_KIND_ENUM);
	if (id < 0)
		return 0;
	t = btf__type_by_id(kernel_types, id);
	e = btf_enum(t);
	for (i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(kernel_types, e[i].name_off), value))
			return 1;
	return 0;
}

static int probe_helper(const struct feature *f)
{
	return enum_has("bpf_func_id", f->symbol);
}

/* Probes a function of the kernel that programs may call (kfunc). */
static int probe_function(const struct feature *f)
{
	int err = load_types();

	return err ? err :
		     btf__find_by_name_kind(kernel_types, f->symbol, BTF_KIND_FUNC) > 0;
}

int features_has_typedef(const char *name)
{
	int err = load_types();

	return err ? err : btf__find_by_name_kind(kernel_types, name, BTF_KIND_TYPEDEF) > 0;
}

static int probe_typedef(const struct feature *f)
{
	return features_has_typedef(f->symbol);
}

/* Probes a map type in the kernel's enum and, if this process may create maps, by creating it. */
static int probe_map(const struct feature *f)
{
	int found = enum_has("bpf_map_type", f->symbol);

	if (found <= 0 || features_bpf_usable())
		return found;
	return libbpf_probe_bpf_map_type(f->number, NULL) == 1;
}

static int probe_program(const struct feature *f)
{
	int found = enum_has("bpf_prog_type", f->symbol);

	if (found <= 0 || features_bpf_usable())
		return found;
	return libbpf_probe_bpf_prog_type(f->number, NULL) == 1;
}

/*
 * Loads an iterator that may sleep and that reads another task's memory. Linux 5.10 loads sleepable
 * iterators but does not let them sleep, so the program also calls the helper, which 5.10 lacks.
 * Returns 1 if it was loaded, otherwise 0.
 */
static int try_sleepable_reads(int iterator)
{
	const struct bpf_insn insns[] = {
		/* r4 = ctx->task; without one there is nothing to do */
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_4, .src_reg = BPF_REG_1,
		  .off = 8 },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_4, .off = 6 },
		/* bpf_copy_from_user_task(stack - 8, 8, 0, task, 0) */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_5 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_copy_from_user_task },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_ITER,
		    .prog_flags = BPF_F_SLEEPABLE, .attach_btf_id = iterator);
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), &opts);

	if (fd < 0)
		return 0;
	close(fd);
	return 1;
}

static int probe_sleepable_reads(const struct feature *f)
{
	int found = enum_has("bpf_func_id", f->symbol), iterator;

	if (found <= 0 || features_bpf_usable())
		return found;
	iterator = btf__find_by_name_kind(kernel_types, "bpf_iter_task", BTF_KIND_FUNC);
	return iterator > 0 ? try_sleepable_reads(iterator) : 0;
}

/* The comments name commits of Linux. */
const struct feature features[FEATURE_CNT] = {
	[FEATURE_RINGBUF] = {	/* 457f44363a88 */
		"ring buffer", "5.8", FEATURE_REQUIRED, "nothing can be recorded",
		probe_map, "BPF_MAP_TYPE_RINGBUF", BPF_MAP_TYPE_RINGBUF },
	[FEATURE_TP_BTF] = {
		"typed tracepoints", "5.5", FEATURE_REQUIRED,
		"processes cannot be followed through fork, exec and exit",
		probe_typedef, "btf_trace_sched_process_exec", 0 },
	[FEATURE_PERF_PROGRAMS] = {	/* 0515e5999a46 */
		"programs on perf events", "4.9", FEATURE_REQUIRED, "nothing can be sampled",
		probe_program, "BPF_PROG_TYPE_PERF_EVENT", BPF_PROG_TYPE_PERF_EVENT },
	[FEATURE_TASK_BTF] = {	/* 3ca1032ab7ab */
		"typed current task", "5.11", FEATURE_REPLACED,
		"its fields are read one by one instead",
		probe_helper, "BPF_FUNC_get_current_task_btf", 0 },
	[FEATURE_MEMCG] = {	/* probed by a helper of the same release, as libbpf does */
		"maps charged to the memory cgroup", "5.11", FEATURE_REPLACED,
		"maps count as locked memory: the limit is raised (ulimit -l)",
		probe_helper, "BPF_FUNC_ktime_get_coarse_ns", 0 },
	[FEATURE_TASK_STORAGE] = {	/* 4cf1bc1f1045 */
		"task storage", "5.11", FEATURE_UNUSED, "no mode needs it",
		probe_map, "BPF_MAP_TYPE_TASK_STORAGE", BPF_MAP_TYPE_TASK_STORAGE },
	[FEATURE_ATTACH_COOKIE] = {	/* 7adfc6c9b315 */
		"attach cookie", "5.15", FEATURE_UNUSED, "no mode needs it",
		probe_helper, "BPF_FUNC_get_attach_cookie", 0 },
	[FEATURE_LOOP] = {	/* e6f2dd0f8067 */
		"bpf_loop", "5.17", FEATURE_REPLACED,
		"stacks are walked in limited steps on every kernel, to the same depth",
		probe_helper, "BPF_FUNC_loop", 0 },
	[FEATURE_FIND_VMA] = {	/* 7c7e3d31e785 */
		"bpf_find_vma", "5.17", FEATURE_UNUSED, "no mode needs it",
		probe_helper, "BPF_FUNC_find_vma", 0 },
	[FEATURE_SLEEPABLE_READS] = {	/* 376040e47334 */
		"sleepable reads of other tasks", "5.18", FEATURE_UNUSED,
		"sleeping threads are read from user space",
		probe_sleepable_reads, "BPF_FUNC_copy_from_user_task", 0 },
	[FEATURE_ANY_LOAD] = {	/* a35b9af4ec2c */
		"loads from any address", "6.2", FEATURE_REPLACED,
		"a process's memory is read by a helper, which takes longer",
		probe_function, "bpf_rdonly_cast", 0 },
	[FEATURE_OPEN_ITER] = {	/* 6018e1f407cc */
		"open-coded iterators", "6.4", FEATURE_UNUSED, "no mode needs it",
		probe_function, "bpf_iter_num_new", 0 },
};

int feature_probe(enum feature_id id)
{
	return features[id].probe(&features[id]);
}

int features_bpf_usable(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 4, 1, NULL);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

void features_release(void)
{
	btf__free(kernel_types);
	kernel_types = NULL;
}
