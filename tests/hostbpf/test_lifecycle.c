// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_lifecycle.c - exec, fork, exit, new names of threads (bpf/lifecycle), and what mode_cpu
 * checks before it walks.
 */
#include "world.h"

static struct world w;

static void test_not_python(void **state)
{
	world_init(&w, 13);
	world_recurse(&w, 3);
	host.task.pid = host.task.tgid = 0;
	world_expect_end(CNT_IDLE);
	host.task.pid = host.task.tgid = 4711;	/* not chosen */
	world_expect_end(CNT_UNSELECTED);
	host.task.flags = 0x00200000;
	world_expect_end(CNT_KERNEL_THREAD);
	host.task.pid = host.task.tgid = 1001;
	w.proc.state = PY_PROC_OTHER;
	world_put_proc(&w);
	world_expect_end(CNT_OTHER);
	assert_int_equal(world_proc()->ticks, 1);
}

static void test_watched(void **state)
{
	const struct raw_header *h;
	u32 tgid = 4711, one = 1;
	int i = 0;

	world_init(&w, 13);
	bpf_map_update_elem(&watched, &tgid, &one, BPF_ANY);
	host.task.pid = host.task.tgid = tgid;
	world_expect_end(CNT_UNKNOWN);
	h = host_record(RAW_UNKNOWN, &i, NULL);
	assert_non_null(h);
	assert_int_equal(h->tgid, tgid);
	assert_int_equal(h->start_ns, 77);
	host.ring_room = 0;
	world_expect_end(CNT_RING_FULL);
}

/* The same pid with another start time is another process; a start time of 0 is filled in. */
static void test_identity(void **state)
{
	u32 one = 1, tgid = 1001;

	world_init(&w, 13);
	world_recurse(&w, 3);
	w.proc.start_ns = 0;
	world_put_proc(&w);
	world_expect(&w, 3, 0);
	assert_int_equal(world_proc()->start_ns, 77);
	host.leader.start_boottime = 78;
	world_expect_end(CNT_UNSELECTED);
	bpf_map_update_elem(&watched, &tgid, &one, BPF_ANY);
	world_expect_end(CNT_UNKNOWN);
}

static void test_old_kernel(void **state)
{
	world_init(&w, 14);
	world_recurse(&w, 3);
	host_task_btf = false;
	world_expect(&w, 3, 0);
	host.task.tgid = 99;
	host.task.flags = 0x00200000;
	world_expect_end(CNT_KERNEL_THREAD);
}

static void test_ring_full(void **state)
{
	world_init(&w, 14);
	world_recurse(&w, 3);
	host.ring_room = 0;
	world_expect_end(CNT_RING_FULL);
}

#define NAMES_A_SECOND 200

static const struct raw_rename *renamed(struct task_struct *task, const char *comm)
{
	int i = 0;

	host_drop_records();
	host_on_rename(task, comm);
	return host_record(RAW_RENAME, &i, NULL);
}

/* Sent for threads of admitted processes, with every byte; not for others, and not at an exec. */
static void test_rename(void **state)
{
	static const char hostile[16] = "a\"\x1b[31m\xff<b>;\n";
	const struct raw_rename *ev;

	world_init(&w, 14);
	host.task.pid = 1007;
	host.mm.start_code = 0x400000;
	ev = renamed(&host.task, hostile);
	assert_non_null(ev);
	assert_int_equal(ev->h.tgid, 1001);
	assert_int_equal(ev->h.start_ns, 77);
	assert_int_equal(ev->tid, 1007);
	assert_memory_equal(ev->comm, hostile, sizeof(hostile));
	/* The kernel's names are shorter: longer ones are cut. */
	assert_string_equal((const char *)renamed(&host.task, "0123456789abcdefgh")->comm,
			    "0123456789abcde");
	world_proc()->state = PY_PROC_LINKING;
	assert_non_null(renamed(&host.task, "w"));
	world_proc()->start_ns = 0;	/* not known yet */
	assert_non_null(renamed(&host.task, "w"));

	world_proc()->start_ns = 78;	/* the pid was used again */
	assert_null(renamed(&host.task, "w"));
	world_proc()->start_ns = 77;
	world_proc()->unselected = UNSELECTED_UID;
	assert_null(renamed(&host.task, "w"));
	world_proc()->unselected = UNDECIDED;
	assert_non_null(renamed(&host.task, "w"));
	world_proc()->unselected = 0;
	world_proc()->state = PY_PROC_OTHER;
	assert_null(renamed(&host.task, "w"));
	world_proc()->state = PY_PROC_UNSEEN;
	assert_null(renamed(&host.task, "w"));
	world_proc()->state = PY_PROC_PYTHON;
	host.mm.start_code = 0;		/* it executes a file */
	assert_null(renamed(&host.task, "w"));
	host.mm.start_code = 0x400000;
	host.ring_room = 0;
	assert_null(renamed(&host.task, "w"));
	host.ring_room = 1;
	assert_non_null(renamed(&host.task, "w"));
	host.task.tgid = 99;
	assert_null(renamed(&host.task, "w"));
	assert_int_equal(host_counter(CNT_LIFECYCLE_LOST), 0);
}

/* Of a process that renames its threads all the time, user space gets some names. */
static void test_rename_flood(void **state)
{
	int i, sent = 0;

	world_init(&w, 14);
	host.mm.start_code = 0x400000;
	host.ring_room = 1;
	host.now_ns = 5ull << 30;
	host.clock_step_ns = 0;
	for (i = 0; i < 1000; i++)
		sent += !!renamed(&host.task, "w");
	assert_int_equal(sent, NAMES_A_SECOND);
	host.now_ns = 6ull << 30;
	for (i = 0; i < 1000; i++)
		sent += !!renamed(&host.task, "w");
	assert_int_equal(sent, 2 * NAMES_A_SECOND);
}

/* A fork copies the entry with another identity; exec and exit delete it. */
static void test_lifecycle(void **state)
{
	struct task_struct child = { .pid = 2002, .tgid = 2002, .start_boottime = 99,
				     .cgroups = &host.cgroups, .cred = &host.cred,
				     .thread_pid = &host.pid };
	u32 parent_tgid = 1001, tgid = 2002, one = 1;
	const struct raw_lifecycle *ev;
	const struct raw_exec *exec;
	struct py_proc *p;
	int i = 0;

	world_init(&w, 13);
	host_on_fork(&host.task, &child);
	assert_int_equal(host.record_cnt, 0);	/* not watched */
	bpf_map_update_elem(&watched, &parent_tgid, &one, BPF_ANY);
	world_proc()->ticks = 55;
	host_on_fork(&host.task, &child);
	ev = host_record(RAW_FORK, &i, NULL);
	assert_non_null(ev);
	assert_int_equal(ev->h.tgid, 2002);
	assert_int_equal(ev->h.start_ns, 99);
	assert_int_equal(ev->parent_tgid, 1001);
	assert_int_equal(ev->admitted, 1);
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	assert_non_null(p);
	assert_int_equal(p->start_ns, 99);
	assert_int_equal(p->ticks, 0);
	assert_int_equal(p->ident, ev->ident);
	assert_true(p->ident && p->ident != w.proc.ident);
	assert_memory_equal(&p->l, &w.proc.l, sizeof(p->l));
	assert_non_null(bpf_map_lookup_elem(&watched, &tgid));

	child.group_leader = &child;
	child.signal = &host.signal;
	child.mm = &host.mm;
	host.mm.start_stack = 0x7ffd12345670;
	i = 0;
	host_drop_records();
	host_on_exec(&child, 2002, &host.bprm);
	exec = host_record(RAW_EXEC, &i, NULL);
	assert_non_null(exec);
	assert_int_equal(exec->program, host.mm.start_stack);
	assert_null(bpf_map_lookup_elem(&py_procs, &tgid));
	assert_non_null(bpf_map_lookup_elem(&watched, &tgid));

	host_drop_records();
	host.signal.live.counter = 1;
	host_on_exit(&child);
	assert_int_equal(host.record_cnt, 0);	/* not the last thread */
	host.signal.live.counter = 0;
	i = 0;
	host_on_exit(&child);
	assert_non_null(host_record(RAW_EXIT, &i, NULL));
	assert_null(bpf_map_lookup_elem(&watched, &tgid));
	host_on_exit(&child);
	assert_int_equal(host.record_cnt, 1);	/* not twice */
	host.ring_room = 0;
	host_on_exit(&host.task);
	assert_int_equal(host_counter(CNT_LIFECYCLE_LOST), 1);
	assert_null(world_proc());
}

/* How a tick in the exiting thread of a process ends whose entry had this state at its exit. */
static void expect_after_exit(u8 proc_state, u8 unselected, enum counter end)
{
	world_init(&w, 13);
	memset(ended_procs, 0, sizeof(ended_procs));
	host.task.flags |= PF_EXITING;
	world_proc()->state = proc_state;
	world_proc()->unselected = unselected;
	host.signal.live.counter = 0;
	host_on_exit(&host.task);
	assert_null(world_proc());
	world_expect_end(end);
}

/* The kernel's work after the last exit is the process'; that of another with its pid is not. */
static void test_ticks_after_the_exit(void **state)
{
	expect_after_exit(PY_PROC_OTHER, 0, CNT_OTHER);
	expect_after_exit(PY_PROC_UNSEEN, 0, CNT_UNSELECTED);
	expect_after_exit(PY_PROC_PYTHON, UNSELECTED_FOR_SURE, CNT_UNSELECTED);
	expect_after_exit(PY_PROC_LINKING, 0, CNT_ENDED);
	expect_after_exit(PY_PROC_PYTHON, 0, CNT_ENDED);
	host.task.flags &= ~PF_EXITING;
	world_expect_end(CNT_UNSELECTED);
	host.task.flags |= PF_EXITING;
	host.task.group_leader->start_boottime += 2;
	world_expect_end(CNT_UNSELECTED);
}

/* Has what was sent woken user space, which waits_long? Then it does not wait so any more. */
static bool woke_up(void)
{
	bool woken = host.woken;

	assert_int_equal(waits_long, 0);
	host.woken = false;
	host_drop_records();
	return woken;
}

/* Little waits in the ring buffer, and that something is new ends a long wait, once. */
static void test_what_is_new_wakes_user_space(void **state)
{
	static const u32 wakeup_bytes = 10000, always = 0;
	struct task_struct child = { .pid = 2002, .tgid = 2002, .start_boottime = 99,
				     .cgroups = &host.cgroups, .cred = &host.cred,
				     .thread_pid = &host.pid };
	u32 tgid = 1001, one = 1, i;

	world_init(&w, 14);
	host_set(&cfg_wakeup_bytes, &wakeup_bytes, sizeof(wakeup_bytes));
	host.mm.start_code = 0x400000;
	bpf_map_update_elem(&watched, &tgid, &one, BPF_ANY);
	for (i = 0; i < 2; i++) {
		waits_long = !i;
		host_on_rename(&host.task, "w");
		assert_true(woke_up() == !i);
		waits_long = 1;		/* the child's first own code object ends it */
		host_on_fork(&host.task, &child);
		assert_false(host.woken);
		assert_int_equal(waits_long, 1);
		host_drop_records();
	}
	host_set(&cfg_wakeup_bytes, &always, sizeof(always));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_python),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_ring_full),
		cmocka_unit_test(test_lifecycle),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_rename_flood),
		cmocka_unit_test(test_ticks_after_the_exit),
		cmocka_unit_test(test_what_is_new_wakes_user_space),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
