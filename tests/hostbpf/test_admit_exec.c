// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_admit_exec.c - known executables: their processes are admitted at the exec, their libpython
 * is found at the first ticks, and user space is asked if anything is not as it was learned.
 */
#include "world.h"

#define EXE_BIAS  0x5600000000ull
#define PHDR      0x40ull
#define SLOT      0x3000ull
#define SYMBOL    0x123450ull
#define ID_AT     0x2c8ull
#define LIB_BIAS  (W_RUNTIME - 0x500000ull)
#define MISMATCHES_MAX 8

static struct world w;
static struct py_exe exe;
static u64 key;

static void set_auxv(u64 phdr)
{
	const unsigned long pairs[] = { 33, 0x7fff0000, 16, 0xbfebfbff, 6, 4096, 17, 100,
					3, phdr, 4, 56, 0, 0 };

	memcpy(host.mm.saved_auxv, pairs, sizeof(pairs));
}

/* The process has not executed its program yet, whose executable is known. */
static void before_exec(bool library)
{
	u32 tgid = 1001, one = 1;

	world_init(&w, 13);
	world_recurse(&w, 3);
	exe = (struct py_exe){ .phdr = PHDR, .proc = w.proc };
	py_proc_relocate(&exe.proc, &w.proc, -(library ? LIB_BIAS : EXE_BIAS));
	exe.proc.ident = 0;
	exe.proc.state = PY_PROC_OTHER;
	if (library) {
		exe.slot = SLOT;
		exe.symbol = SYMBOL;
		exe.id_at = ID_AT;
		exe.id[0] = 0x1122334455667788;
		exe.id[1] = 0x99aabbccddeeff00;
		host_mem_map(EXE_BIAS + SLOT, 8);
		host_mem_map(LIB_BIAS + ID_AT, 16);
		host_mem_write(LIB_BIAS + ID_AT, exe.id, sizeof(exe.id));
	}
	memcpy(host.bprm.buf, "\177ELF the first bytes of the file", 32);
	key = exe_key(host.inode.i_ino, host.inode.i_size, (const u64 *)host.bprm.buf);
	bpf_map_update_elem(&known_exes, &key, &exe, BPF_ANY);
	bpf_map_update_elem(&watched, &tgid, &one, BPF_ANY);
	bpf_map_delete_elem(&py_procs, &tgid);
	set_auxv(EXE_BIAS + PHDR);
	strcpy(host.task.comm, "python3");
}

static const struct raw_exec *execute(void)
{
	int i = 0;

	host_drop_records();
	host_on_exec(&host.task, 1001, &host.bprm);
	return host_record(RAW_EXEC, &i, NULL);
}

static void link_library(void)
{
	host_mem_put64(EXE_BIAS + SLOT, LIB_BIAS + SYMBOL);
}

static void test_interpreter_in_the_executable(void **state)
{
	const struct raw_exec *ev;

	before_exec(false);
	ev = execute();
	assert_non_null(ev);
	assert_int_equal(ev->exe, key);
	assert_true(ev->ident);
	assert_string_equal((const char *)ev->comm, "python3");
	assert_int_equal(world_proc()->state, PY_PROC_PYTHON);
	assert_int_equal(world_proc()->runtime, W_RUNTIME);
	assert_int_equal(world_proc()->ident, ev->ident);
	assert_int_equal(host_counter(CNT_ADMITTED_AT_EXEC), 1);
	world_expect(&w, 3, 0);
}

/* In a pid namespace two levels deep, and in a cgroup of v1 and one of v2. */
static void test_origin(void **state)
{
	const struct raw_exec *ev;

	before_exec(false);
	ev = execute();
	assert_int_equal(ev->origin.cgroup_cnt, 2);
	assert_int_equal(ev->origin.cgroups[0], cgroup_key(0, 4242));
	assert_int_equal(ev->origin.cgroups[1], cgroup_key(3, 77));
	assert_int_equal(ev->origin.uid, 1000);
	assert_int_equal(ev->origin.ns_tgid, 7);
	before_exec(false);
	host.pid.level = 0;
	assert_int_equal(execute()->origin.ns_tgid, 0);
}

static void test_new_cgroup(void **state)
{
	const struct raw_cgroup *ev;
	int i = 0;

	before_exec(false);
	host_drop_records();
	host_on_cgroup_mkdir(&host.cgroup, "/system.slice/docker-0.scope");
	ev = host_record(RAW_CGROUP, &i, NULL);
	assert_non_null(ev);
	assert_int_equal(ev->id, 4242);
	assert_int_equal(ev->hierarchy, 0);
	assert_string_equal((const char *)ev->path, "/system.slice/docker-0.scope");
	/* One of a v1 hierarchy that is not in cfg_hierarchies. */
	host_drop_records();
	host_on_cgroup_mkdir(&host.cgroup_v1, "/docker/0");
	i = 0;
	assert_null(host_record(RAW_CGROUP, &i, NULL));
}

static void test_interpreter_in_a_library(void **state)
{
	before_exec(true);
	assert_true(execute()->ident);
	assert_int_equal(world_proc()->state, PY_PROC_LINKING);
	world_expect_end(CNT_NOT_READY);	/* the slot is zero */
	host_mem_put64(EXE_BIAS + SLOT, EXE_BIAS + 0x1016);
	world_expect_end(CNT_NOT_READY);	/* lazy binding: the executable's PLT */
	host_mem_put64(EXE_BIAS + SLOT, 0x1016);
	world_expect_end(CNT_NOT_READY);	/* its PLT, not relocated yet */
	host_mem_unmap(EXE_BIAS + SLOT, 8);
	world_expect_end(CNT_NOT_READY);
	host_mem_map(EXE_BIAS + SLOT, 8);
	assert_int_equal(world_proc()->mismatches, 0);
	link_library();
	world_expect(&w, 3, 0);
	assert_int_equal(world_proc()->state, PY_PROC_PYTHON);
	assert_int_equal(world_proc()->runtime, W_RUNTIME);
	assert_int_equal(world_proc()->none, W_NONE);
}

/* Ticks that came before the interpreter was there were not missed, by whoever called exec. */
static void test_no_tick_is_missed_in_an_exec(void **state)
{
	static const u32 period = 1000, none = 0;

	before_exec(true);
	host_set(&cfg_period_ns, &period, sizeof(period));
	bpf_map_update_elem(&py_procs, &host.task.tgid, &w.proc, BPF_ANY);
	host.now_ns = 10 * period;
	world_expect(&w, 3, 0);
	host.now_ns += period / 2;
	execute();
	for (host.now_ns = 11 * period; host.now_ns < 15 * period; host.now_ns += period)
		world_expect_end(CNT_NOT_READY);
	link_library();
	world_expect(&w, 3, 0);
	assert_int_equal(host_counter(CNT_MISSED), 0);
	host_set(&cfg_period_ns, &none, sizeof(none));
}

/* Another libpython than was learned: another build id, or an impossible load address. */
static void test_other_library(void **state)
{
	int i;

	before_exec(true);
	execute();
	link_library();
	host_mem_put64(LIB_BIAS + ID_AT + 8, 1);
	for (i = 0; i < MISMATCHES_MAX; i++)
		world_expect_end(CNT_NOT_READY);
	world_expect_end(CNT_UNKNOWN);	/* user space is asked */
	assert_int_equal(world_proc()->state, PY_PROC_LINKING);
	host_mem_put64(EXE_BIAS + SLOT, LIB_BIAS + SYMBOL + 8);
	world_expect_end(CNT_UNKNOWN);
}

static void test_what_is_not_known_is_left_to_user_space(void **state)
{
	before_exec(false);
	host.inode.i_size++;	/* the file was changed */
	assert_int_equal(execute()->ident, 0);
	assert_null(world_proc());
	before_exec(false);
	host.bprm.buf[200] ^= 1;
	assert_int_equal(execute()->ident, 0);
	before_exec(false);
	set_auxv(0);
	host.mm.saved_auxv[8] = 5;	/* no AT_PHDR */
	assert_int_equal(execute()->ident, 0);
	assert_null(world_proc());
}

static void say_other(bool other)
{
	struct exe_file file = { .ino = host.inode.i_ino, .size = host.inode.i_size,
				 .ctime_s = host.inode.i_ctime_sec,
				 .ctime_ns = host.inode.i_ctime_nsec & 0x7fffffff,
				 .dev = host.super_block.s_magic ? 0 : host.super_block.s_dev };
	u32 one = 1;

	if (other)
		bpf_map_update_elem(&other_exes, &file, &one, BPF_ANY);
	else
		bpf_map_delete_elem(&other_exes, &file);
}

/* An executable that is no Python: no record, unless user space tracks the process. */
static void test_no_python(void **state)
{
	u32 tgid = 1001;
	int i = 0;
	struct py_proc before = { .state = PY_PROC_OTHER, .start_ns = 1, .ident = 1 };

	before_exec(false);
	bpf_map_delete_elem(&known_exes, &key);
	assert_non_null(execute());
	say_other(true);
	host.inode.i_ctime_nsec |= 1u << 31;	/* somebody has asked when it was changed */
	assert_null(execute());
	assert_null(host_record(RAW_EXEC_OTHER, &i, NULL));
	assert_null(world_proc());
	bpf_map_update_elem(&py_procs, &tgid, &before, BPF_ANY);
	assert_null(execute());
	assert_non_null(host_record(RAW_EXEC_OTHER, &i, NULL));
	assert_null(world_proc());
	host.inode.i_ctime_nsec++;		/* it was changed */
	assert_non_null(execute());
	host.inode.i_ctime_nsec--;
	host.super_block.s_dev++;		/* another file with the same numbers */
	assert_non_null(execute());
	host.super_block.s_dev--;
	bpf_map_update_elem(&known_exes, &key, &exe, BPF_ANY);
	assert_true(execute()->ident);		/* it is known to be Python, too */
	say_other(false);
}

/* Its files have another device in stat(2) than the kernel has. */
static void test_no_python_in_a_subvolume(void **state)
{
	before_exec(false);
	bpf_map_delete_elem(&known_exes, &key);
	host.super_block.s_magic = EXE_FS_BTRFS;
	say_other(true);
	assert_null(execute());
	say_other(false);
	assert_non_null(execute());
}

/* User space has deleted the executable from known_exes. */
static void test_executable_forgotten(void **state)
{
	before_exec(true);
	execute();
	bpf_map_delete_elem(&known_exes, &key);
	world_expect_end(CNT_UNKNOWN);
}

static void test_a_fork_before_libpython_is_found(void **state)
{
	struct task_struct child = { .pid = 2002, .tgid = 2002, .start_boottime = 99,
				     .cgroups = &host.cgroups, .cred = &host.cred,
				     .thread_pid = &host.pid };
	u32 tgid = 2002;
	struct py_proc *p;

	before_exec(true);
	execute();
	host_on_fork(&host.task, &child);
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	assert_non_null(p);
	assert_int_equal(p->state, PY_PROC_LINKING);
	assert_true(p->ident != world_proc()->ident);
}

static void test_command(void **state)
{
	static const char args[] = "python3\0-c\0pass";
	const struct raw_exec *ev;

	before_exec(false);
	host_mem_map(0x7ffd00000000, 8192);
	host_mem_write(0x7ffd00000100, args, sizeof(args));
	host.mm.arg_start = 0x7ffd00000100;
	host.mm.arg_end = host.mm.arg_start + sizeof(args);
	ev = execute();
	assert_int_equal(ev->command_len, sizeof(args));
	assert_memory_equal(ev->command, args, sizeof(args));
	host.mm.arg_end = host.mm.arg_start + 5000;
	assert_int_equal(execute()->command_len, 5000);
	host.mm.arg_start += 1ull << 40;	/* end before start, unmapped */
	assert_int_equal(execute()->command_len, 0);
}

static void test_ring_full(void **state)
{
	before_exec(false);
	host_drop_records();
	host.ring_room = 0;
	host_on_exec(&host.task, 1001, &host.bprm);
	assert_int_equal(host_counter(CNT_LIFECYCLE_LOST), 1);
	assert_null(world_proc());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interpreter_in_the_executable),
		cmocka_unit_test(test_origin),
		cmocka_unit_test(test_new_cgroup),
		cmocka_unit_test(test_interpreter_in_a_library),
		cmocka_unit_test(test_no_tick_is_missed_in_an_exec),
		cmocka_unit_test(test_other_library),
		cmocka_unit_test(test_what_is_not_known_is_left_to_user_space),
		cmocka_unit_test(test_no_python),
		cmocka_unit_test(test_no_python_in_a_subvolume),
		cmocka_unit_test(test_executable_forgotten),
		cmocka_unit_test(test_a_fork_before_libpython_is_found),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_ring_full),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
