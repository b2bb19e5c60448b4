// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_proc_filter.c - the user's conditions on the BPF side: which processes are selected at exec
 * and fork, which ticks walk, what happens when a process changes its uid or its cgroup. Nothing
 * of an excluded process is read.
 */
#include "world.h"

#define V1 4u
#define V2 0u

static struct world w;
static struct py_exe exe;
static u64 key;

/* Two hierarchies: "/", "/slice", "/slice/app" in v2, "/" and "/box" in v1. */
enum { ROOT2, SLICE, APP, ROOT1, BOX, CGROUPS };
static struct cgroup_root roots[2];
static struct kernfs_node nodes[CGROUPS];
static struct cgroup cgroups[CGROUPS];
static struct cgrp_cset_link links[2];
static struct css_set set;

/* Set the conditions. */
static void configure(struct filter_config cfg)
{
	cfg.any = true;
	host_set(&cfg_filter, &cfg, sizeof(cfg));
}

static void make_cgroup(int i, int parent, int root)
{
	nodes[i].id = 10 + (u64)i;
	cgroups[i] = (struct cgroup){ .kn = &nodes[i], .root = &roots[root] };
	cgroups[i].self.parent = parent < 0 ? NULL : &cgroups[parent].self;
}

/* Make to a css_set of these two cgroups. */
static void enter(struct css_set *to, struct cgrp_cset_link link[2], int v2, int v1)
{
	link[0] = (struct cgrp_cset_link){ &cgroups[v2], { &link[1].cgrp_link } };
	link[1] = (struct cgrp_cset_link){ &cgroups[v1], { &to->cgrp_links } };
	to->cgrp_links.next = &link[0].cgrp_link;
}

static void put_mark(u64 k, u32 value)
{
	assert_int_equal(bpf_map_update_elem(&marks, &k, &value, BPF_ANY), 0);
}

static u64 key_of_cgroup(int i)
{
	return cgroup_key((u32)cgroups[i].root->hierarchy_id, nodes[i].id);
}

/* A process before it executes a known executable. Every cgroup has the mark 0. */
static void before_exec(struct filter_config cfg)
{
	const unsigned long auxv[] = { 3, 0x5600000040, 0, 0 };
	u32 tgid = 1001, watch = WATCH_CHILDREN;
	int i;

	world_init(&w, 13);
	world_recurse(&w, 3);
	roots[0].hierarchy_id = V2;
	roots[1].hierarchy_id = V1;
	make_cgroup(ROOT2, -1, 0);
	make_cgroup(SLICE, ROOT2, 0);
	make_cgroup(APP, SLICE, 0);
	make_cgroup(ROOT1, -1, 1);
	make_cgroup(BOX, ROOT1, 1);
	enter(&set, links, APP, BOX);
	host.task.cgroups = &set;
	exe = (struct py_exe){ .phdr = 0x40, .proc = w.proc };
	py_proc_relocate(&exe.proc, &w.proc, -0x5600000000ull);
	exe.proc.state = PY_PROC_OTHER;
	key = exe_key(host.inode.i_ino, host.inode.i_size, (const u64 *)host.bprm.buf);
	bpf_map_update_elem(&known_exes, &key, &exe, BPF_ANY);
	bpf_map_update_elem(&watched, &tgid, &watch, BPF_ANY);
	bpf_map_delete_elem(&py_procs, &tgid);
	memcpy(host.mm.saved_auxv, auxv, sizeof(auxv));
	strcpy(host.task.comm, "python3");
	configure(cfg);
	for (i = 0; i < CGROUPS; i++)
		put_mark(key_of_cgroup(i), 0);
}

static void make_child(struct task_struct *child)
{
	*child = host.task;
	child->pid = child->tgid = 2002;
	child->start_boottime = 99;
}

static const struct raw_exec *execute(void)
{
	int i = 0;

	host_drop_records();
	host_on_exec(&host.task, 1001, &host.bprm);
	return host_record(RAW_EXEC, &i, NULL);
}

static const struct filter_config by_unit = { .cgroups = true, .cgroup_ask = true,
					      .cgroup_kinds = MARK_UNIT };

/* The process is admitted at its exec and walked from the first tick on. */
static void expect_selected(void)
{
	const struct raw_exec *ev = execute();

	assert_non_null(ev);
	assert_true(ev->ident);
	assert_int_equal(ev->unselected, 0);
	world_expect(&w, 3, 0);
}

/* The exec sends no record, the tick no sample and no record. Nothing of the process is read. */
static void expect_excluded(u8 why)
{
	assert_null(execute());
	assert_non_null(world_proc());
	assert_int_equal(world_proc()->state, PY_PROC_UNSEEN);
	assert_int_equal(world_proc()->unselected, why);
	world_expect_end(CNT_UNSELECTED);
	assert_int_equal(host.reads, 0);
	assert_int_equal(host.record_cnt, 0);
}

/* The process is admitted as UNDECIDED: ticks ask user space, and walk after its verdict. */
static void expect_asked(void)
{
	const struct raw_exec *ev = execute();
	int i = 0;

	assert_non_null(ev);
	assert_int_equal(ev->unselected, UNDECIDED);
	assert_true(ev->ident);
	world_expect_end(CNT_UNKNOWN);
	assert_non_null(host_record(RAW_UNKNOWN, &i, NULL));
	assert_int_equal(host.reads, 0);
	world_proc()->unselected = 0;
	world_expect(&w, 3, 0);
}

static void test_a_mark_counts_for_all_below(void **state)
{
	static const int places[] = { ROOT2, SLICE, APP, ROOT1, BOX };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		before_exec(by_unit);
		expect_excluded(UNSELECTED_CGROUP);
		before_exec(by_unit);
		put_mark(key_of_cgroup(places[i]), MARK_UNIT);
		expect_selected();
		put_mark(key_of_cgroup(APP), MARK_EXCLUDED);
		assert_non_null(execute());	/* user space tracks it, and gets a record */
		assert_int_equal(world_proc()->unselected, UNSELECTED_CGROUP);
		world_expect_end(CNT_UNSELECTED);
		expect_excluded(UNSELECTED_CGROUP);
	}
}

static void test_each_kind_must_be_met(void **state)
{
	struct filter_config cfg = by_unit;

	cfg.cgroup_kinds = MARK_UNIT | MARK_CONTAINER;
	before_exec(cfg);
	put_mark(key_of_cgroup(SLICE), MARK_UNIT);
	expect_excluded(UNSELECTED_CGROUP);
	put_mark(key_of_cgroup(BOX), MARK_CONTAINER);
	expect_selected();
}

static void test_a_cgroup_that_is_not_judged_yet(void **state)
{
	struct filter_config cfg = by_unit;
	u64 app;

	before_exec(by_unit);
	app = key_of_cgroup(APP);
	bpf_map_delete_elem(&marks, &app);
	expect_asked();
	put_mark(key_of_cgroup(SLICE), MARK_UNIT);	/* a cgroup above it is selected */
	expect_selected();
	put_mark(key_of_cgroup(BOX), MARK_EXCLUDED);
	assert_non_null(execute());
	assert_int_equal(world_proc()->unselected, UNSELECTED_CGROUP);
	cfg.cgroup_excludes = true;		/* it might be excluded */
	before_exec(cfg);
	bpf_map_delete_elem(&marks, &app);
	put_mark(key_of_cgroup(SLICE), MARK_UNIT);
	expect_asked();
	cfg.cgroup_ask = false;			/* without a mark, no condition names it */
	before_exec(cfg);
	bpf_map_delete_elem(&marks, &app);
	expect_excluded(UNSELECTED_CGROUP);
	put_mark(key_of_cgroup(SLICE), MARK_UNIT);
	expect_selected();
}

/* More levels than CGROUP_STEPS: user space must judge. */
static void test_a_very_deep_cgroup(void **state)
{
	static struct cgroup deep[400];
	static struct kernfs_node own[400];
	int i;

	before_exec(by_unit);
	for (i = 0; i < 400; i++) {
		own[i].id = 1000 + (u64)i;
		deep[i] = (struct cgroup){ .kn = &own[i], .root = &roots[0] };
		deep[i].self.parent = i ? &deep[i - 1].self : &cgroups[APP].self;
	}
	links[0].cgrp = &deep[399];
	put_mark(cgroup_key(V2, 1399), 0);
	expect_asked();
}

static void test_uids(void **state)
{
	struct filter_config cfg = { .uids = true, .uid_needed = true };

	before_exec(cfg);
	put_mark(uid_key(33), MARK_INCLUDED);
	expect_excluded(UNSELECTED_UID);
	host.cred.euid.val = 33;
	expect_selected();
	cfg.uid_needed = false;
	before_exec(cfg);
	put_mark(uid_key(33), MARK_EXCLUDED);
	expect_selected();
	host.cred.euid.val = 33;
	assert_non_null(execute());
	expect_excluded(UNSELECTED_UID);
}

/* A server starts as root, forks, and the worker gives up root. */
static void test_a_uid_changes(void **state)
{
	struct task_struct child;
	u32 tgid = 2002;

	before_exec((struct filter_config){ .uids = true, .uid_needed = true });
	make_child(&child);
	put_mark(uid_key(33), MARK_INCLUDED);
	expect_excluded(UNSELECTED_UID);
	host_on_fork(&host.task, &child);
	assert_non_null(bpf_map_lookup_elem(&py_procs, &tgid));
	host.task.pid = host.task.tgid = 2002;
	host.leader.start_boottime = 99;
	world_expect_end(CNT_UNSELECTED);
	host.cred.euid.val = 33;
	world_expect_end(CNT_UNKNOWN);		/* now it must be inspected */
	w.proc.start_ns = 99;
	w.proc.euid = EUID_NEVER;
	world_put_proc(&w);
	world_expect(&w, 3, 0);
	host.cred.euid.val = 0;
	world_expect_end(CNT_UNSELECTED);
	assert_int_equal(host.reads, 0);
	host.cred.euid.val = 33;
	world_expect(&w, 3, 0);
}

static void test_comms(void **state)
{
	static const u8 python[COMM_BYTES] = "python3\0garbage";

	before_exec((struct filter_config){ .comms = true });
	expect_asked();
	put_mark(comm_key(python), MARK_INCLUDED);
	expect_selected();
	put_mark(comm_key(python), 0);
	assert_non_null(execute());
	expect_excluded(UNSELECTED_NAME);
}

static void test_exes_are_user_spaces_to_judge(void **state)
{
	static const u8 python[COMM_BYTES] = "python3";

	before_exec((struct filter_config){ .exes = true });
	expect_asked();
	before_exec((struct filter_config){ .exes = true, .comms = true });
	put_mark(comm_key(python), MARK_INCLUDED);
	expect_asked();
	before_exec((struct filter_config){ .exes = true, .comms = true });
	put_mark(comm_key(python), 0);
	expect_excluded(UNSELECTED_NAME);
}

static void test_what_is_sure_is_not_asked_about(void **state)
{
	u64 app;

	before_exec((struct filter_config){ .exes = true, .uids = true, .uid_needed = true,
					    .cgroups = true, .cgroup_ask = true });
	app = key_of_cgroup(APP);
	bpf_map_delete_elem(&marks, &app);
	expect_excluded(UNSELECTED_UID);
}

static void test_forks(void **state)
{
	struct task_struct child;
	struct cgrp_cset_link elsewhere[2];
	u32 tgid = 2002;
	struct css_set other;

	before_exec(by_unit);
	make_child(&child);
	put_mark(key_of_cgroup(APP), MARK_UNIT);
	expect_selected();
	host_on_fork(&host.task, &child);
	assert_non_null(bpf_map_lookup_elem(&py_procs, &tgid));
	bpf_map_delete_elem(&py_procs, &tgid);
	enter(&other, elsewhere, ROOT2, ROOT1);
	child.cgroups = &other;
	host_on_fork(&host.task, &child);	/* CLONE_INTO_CGROUP */
	assert_null(bpf_map_lookup_elem(&py_procs, &tgid));
	child.cgroups = &set;
	world_proc()->unselected = UNDECIDED;
	host_on_fork(&host.task, &child);
	assert_null(bpf_map_lookup_elem(&py_procs, &tgid));
}

static void test_an_excluded_pid(void **state)
{
	struct task_struct child;
	struct py_proc out = { .start_ns = 77, .state = PY_PROC_UNSEEN,
			       .unselected = UNSELECTED_PID };
	u32 own = 1001, tgid = 2002;

	before_exec((struct filter_config){ .children = false });
	make_child(&child);
	bpf_map_update_elem(&py_procs, &own, &out, BPF_ANY);
	expect_excluded(UNSELECTED_PID);	/* an exec changes nothing */
	host_on_fork(&host.task, &child);
	assert_null(bpf_map_lookup_elem(&py_procs, &tgid));
	configure((struct filter_config){ .children = true });
	host_on_fork(&host.task, &child);
	assert_non_null(bpf_map_lookup_elem(&py_procs, &tgid));
}

static void test_watched_alone(void **state)
{
	struct task_struct child;
	u32 own = 1001, tgid = 2002, alone = WATCH_ALONE;

	before_exec((struct filter_config){ .any = true });
	make_child(&child);
	host_on_fork(&host.task, &child);
	assert_non_null(bpf_map_lookup_elem(&watched, &tgid));
	bpf_map_delete_elem(&watched, &tgid);
	bpf_map_update_elem(&watched, &own, &alone, BPF_ANY);
	expect_selected();
	host_on_fork(&host.task, &child);
	assert_null(bpf_map_lookup_elem(&watched, &tgid));
	assert_null(bpf_map_lookup_elem(&py_procs, &tgid));
}

static void test_min_age(void **state)
{
	before_exec((struct filter_config){ .min_age_ns = 1000000 });
	assert_non_null(execute());
	host.now_ns = 1000;
	world_expect_end(CNT_UNSELECTED);
	assert_int_equal(host.reads, 0);
	host.now_ns = 1000078;
	world_expect(&w, 3, 0);
	bpf_map_delete_elem(&py_procs, &host.task.tgid);
	host.now_ns = 1000;
	world_expect_end(CNT_UNSELECTED);	/* user space is not asked either */
	host.now_ns = 1000078;
	world_expect_end(CNT_UNKNOWN);
}

static void test_a_process_moves(void **state)
{
	u64 box;

	before_exec(by_unit);
	put_mark(key_of_cgroup(APP), MARK_UNIT);
	expect_selected();
	links[0].cgrp = &cgroups[ROOT2];
	host_on_cgroup_attach(&cgroups[ROOT2], "/", &host.task);
	world_expect_end(CNT_UNSELECTED);
	links[0].cgrp = &cgroups[APP];
	host_on_cgroup_attach(&cgroups[APP], "/slice/app", &host.task);
	world_expect(&w, 3, 0);
	box = key_of_cgroup(BOX);
	links[0].cgrp = &cgroups[ROOT2];
	bpf_map_delete_elem(&marks, &box);
	host_on_cgroup_attach(&cgroups[ROOT2], "/", &host.task);
	world_expect_end(CNT_UNKNOWN);
	put_mark(box, 0);
	host.task.pid = 1002;			/* not its first thread: not judged again */
	host_on_cgroup_attach(&cgroups[ROOT2], "/", &host.task);
	world_expect_end(CNT_UNKNOWN);
	host.task.pid = 1001;
	host_on_cgroup_attach(&cgroups[ROOT2], "/", &host.task);
	world_expect_end(CNT_UNSELECTED);
}

static void test_cgroups_come_and_go(void **state)
{
	static char path[2 * RAW_CGROUP_PATH];
	const struct raw_cgroup *ev;
	int i = 0;
	u64 app;

	before_exec(by_unit);
	app = key_of_cgroup(APP);
	host_drop_records();
	host_on_cgroup_mkdir(&cgroups[BOX], "/box");
	ev = host_record(RAW_CGROUP, &i, NULL);
	assert_non_null(ev);
	assert_int_equal(ev->id, nodes[BOX].id);
	assert_int_equal(ev->hierarchy, V1);
	assert_string_equal((const char *)ev->path, "/box");
	host_drop_records();
	memset(path, 'a', sizeof(path) - 1);
	host_on_cgroup_mkdir(&cgroups[BOX], path);
	assert_int_equal(host.record_cnt, 0);
	host.ring_room = 0;
	host_on_cgroup_mkdir(&cgroups[BOX], "/box");
	host_on_cgroup_rmdir(&cgroups[APP], "/slice/app");
	assert_null(bpf_map_lookup_elem(&marks, &app));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mark_counts_for_all_below),
		cmocka_unit_test(test_each_kind_must_be_met),
		cmocka_unit_test(test_a_cgroup_that_is_not_judged_yet),
		cmocka_unit_test(test_a_very_deep_cgroup),
		cmocka_unit_test(test_uids),
		cmocka_unit_test(test_a_uid_changes),
		cmocka_unit_test(test_comms),
		cmocka_unit_test(test_exes_are_user_spaces_to_judge),
		cmocka_unit_test(test_what_is_sure_is_not_asked_about),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_an_excluded_pid),
		cmocka_unit_test(test_watched_alone),
		cmocka_unit_test(test_min_age),
		cmocka_unit_test(test_a_process_moves),
		cmocka_unit_test(test_cgroups_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
