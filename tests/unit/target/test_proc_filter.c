// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_proc_filter.c - conditions: which texts are valid, which facts meet them; all kinds must be
 * met, and an exclusion always wins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/cgroups.h"
#include "host/containers.h"
#include "target/proc_filter.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct proc_filter s;

static int add(enum proc_filter_kind kind, const char *text)
{
	return proc_filter_add(&s, kind, false, text);
}

static void only(enum proc_filter_kind kind, const char *text)
{
	proc_filter_free(&s);
	assert_int_equal(add(kind, text), 0);
}

static void test_what_is_refused(void **state)
{
	static const struct {
		enum proc_filter_kind kind;
		const char *text;
	} bad[] = {
		{ FILTER_CONTAINER, "" }, { FILTER_POD, "" }, { FILTER_CGROUP, "" },
		{ FILTER_UNIT, "" }, { FILTER_UID, "" }, { FILTER_COMM, "" }, { FILTER_EXE, "" },
		{ FILTER_PID, "" }, { FILTER_PID, "0" }, { FILTER_PID, "-1" }, { FILTER_PID, "1x" },
		{ FILTER_PID, "4194305" }, { FILTER_PID, "1," }, { FILTER_PID, ",1" },
		{ FILTER_PID, "99999999999999999999" },
		{ FILTER_UID, "no-such-user" }, { FILTER_UID, "-1" }, { FILTER_UID, "4294967295" },
		{ FILTER_UID, "0x0" }, { FILTER_UID, "root," },
		{ FILTER_UID, "99999999999999999999" },
		{ FILTER_UNIT, "/system.slice/nginx.service" },
		{ FILTER_CGROUP, "/a/../b" }, { FILTER_CGROUP, "/a/./b" },
		{ FILTER_CGROUP, "/a/.." }, { FILTER_CGROUP, "." },
	};
	size_t i;

	log_set_level(LOG_QUIET);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		proc_filter_free(&s);
		assert_int_equal(add(bad[i].kind, bad[i].text), -EINVAL);
		assert_int_equal(proc_filter_add(&s, bad[i].kind, true, bad[i].text), -EINVAL);
		proc_filter_free(&s);
	}
}

static void test_users(void **state)
{
	only(FILTER_UID, "root,65534");
	assert_int_equal(s.cnt, 2);
	assert_int_equal(proc_filter_judge_uid(&s, 0), 1u << FILTER_UID);
	assert_int_equal(proc_filter_judge_uid(&s, 65534), 1u << FILTER_UID);
	assert_int_equal(proc_filter_judge_uid(&s, 1), 0);
	assert_int_equal(proc_filter_add(&s, FILTER_UID, true, "0"), 0);
	assert_int_equal(proc_filter_judge_uid(&s, 0), 1u << FILTER_UID | FILTER_EXCLUDED);
}

static void test_pids(void **state)
{
	proc_filter_free(&s);
	assert_int_equal(proc_filter_add(&s, FILTER_PID, true, "12,34"), 0);
	assert_int_equal(proc_filter_judge_pid(&s, 34), FILTER_EXCLUDED);
	assert_int_equal(proc_filter_judge_pid(&s, 3), 0);
}

static bool comm(const char *glob, const char *name)
{
	only(FILTER_COMM, glob);
	return proc_filter_judge_comm(&s, name) == 1u << FILTER_COMM;
}

static void test_comms(void **state)
{
	assert_true(comm("python3", "python3"));
	assert_false(comm("python3", "python3.11"));
	assert_false(comm("python3", "xpython3"));
	assert_true(comm("python*", "python3.11"));
	assert_true(comm("py[st]hon?", "python3"));
	assert_true(comm("gunicorn: master [app]", "gunicorn: maste") == false);	/* a glob */
	assert_true(comm("gunicorn: master", "gunicorn: maste"));	/* 15 bytes are kept */
	assert_true(comm("*", ""));
	assert_true(comm("a/*", "a/b/c"));
	assert_false(comm("[", "x"));
}

static bool exe(const char *glob, const char *path)
{
	only(FILTER_EXE, glob);
	return proc_filter_judge_exe(&s, path) == 1u << FILTER_EXE;
}

static void test_exes(void **state)
{
	assert_true(exe("/usr/bin/python3.11", "/usr/bin/python3.11"));
	assert_true(exe("python3.11", "/usr/bin/python3.11"));
	assert_true(exe("python3*", "/opt/a/python3.12"));
	assert_false(exe("python3", "/usr/bin/python3.11"));
	assert_true(exe("/opt/*", "/opt/a/b/python3"));
	assert_false(exe("/opt/*", "/usr/opt/python3"));
	assert_true(exe("*/venv/*", "/srv/venv/bin/python"));
	assert_false(exe("usr/bin/python3", "/usr/bin/python3"));
}

static uint32_t cgroup(const char *path)
{
	struct container c;

	container_of_cgroup(path, &c);
	return proc_filter_judge_cgroup(&s, 3, path, &c);
}

static void test_cgroup_paths(void **state)
{
	static const char *const same[] = { "/a/b", "a/b", "/a/b/", "//a//b//", "a/b/" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(same); i++) {
		only(FILTER_CGROUP, same[i]);
		assert_int_equal(cgroup("/a/b"), 1u << FILTER_CGROUP);
		assert_int_equal(cgroup("/a"), 0);
		assert_int_equal(cgroup("/a/b/c"), 0);		/* the cgroup above meets it */
		assert_int_equal(cgroup("/a/bb"), 0);
		s.rules[0].number = 4;				/* another hierarchy */
		assert_int_equal(cgroup("/a/b"), 0);
	}
	only(FILTER_CGROUP, "/");
	assert_int_equal(cgroup("/"), 1u << FILTER_CGROUP);
	assert_true(s.rules[0].met);
}

static void test_units(void **state)
{
	only(FILTER_UNIT, "nginx");
	assert_int_equal(cgroup("/system.slice/nginx.service"), 1u << FILTER_UNIT);
	assert_int_equal(cgroup("/system.slice"), 0);
	assert_int_equal(cgroup("/system.slice/xnginx.service"), 0);
	assert_int_equal(cgroup("/system.slice/nginx.scope"), 0);
	only(FILTER_UNIT, "session-3.scope");
	assert_int_equal(cgroup("/user.slice/user-0.slice/session-3.scope"), 1u << FILTER_UNIT);
	only(FILTER_UNIT, "user-*.slice");
	assert_int_equal(cgroup("/user.slice/user-0.slice"), 1u << FILTER_UNIT);
	assert_int_equal(cgroup("/user.slice"), 0);
	only(FILTER_UNIT, "getty@tty1");
	assert_int_equal(cgroup("/system.slice/getty@tty1.service"), 1u << FILTER_UNIT);
}

static void test_containers(void **state)
{
	static const char path[] = "/system.slice/docker-" ID ".scope";

	only(FILTER_CONTAINER, "0123");
	assert_int_equal(cgroup(path), 1u << FILTER_CONTAINER);
	only(FILTER_CONTAINER, ID);
	assert_int_equal(cgroup(path), 1u << FILTER_CONTAINER);
	only(FILTER_CONTAINER, "1234");
	assert_int_equal(cgroup(path), 0);
	assert_false(s.rules[0].met);
	only(FILTER_POD, "0123abcd-0123-0123-0123-0123456789ab");
	assert_int_equal(cgroup("/kubepods/burstable/pod0123abcd-0123-0123-0123-0123456789ab"),
			 1u << FILTER_POD);
	assert_int_equal(cgroup(path), 0);
}

/* proc_filter_meets() for bits of different kinds. */
static void test_precedence(void **state)
{
	const uint32_t uid = 1u << FILTER_UID, name = 1u << FILTER_COMM, all = ~0u;

	proc_filter_free(&s);
	assert_true(proc_filter_meets(&s, all, 0));		/* no conditions */
	assert_false(proc_filter_meets(&s, all, FILTER_EXCLUDED));
	only(FILTER_UID, "0");
	assert_int_equal(add(FILTER_UID, "1"), 0);
	assert_int_equal(add(FILTER_COMM, "a"), 0);
	assert_int_equal(proc_filter_kinds(&s, false), uid | name);
	assert_int_equal(proc_filter_kinds(&s, true), 0);
	assert_true(proc_filter_meets(&s, all, uid | name));	/* one user is enough */
	assert_false(proc_filter_meets(&s, all, uid));
	assert_false(proc_filter_meets(&s, all, name));
	assert_false(proc_filter_meets(&s, all, uid | name | FILTER_EXCLUDED));
	assert_true(proc_filter_meets(&s, uid, uid));	/* the mask has only this kind */
	assert_true(proc_filter_meets(&s, FILTER_CGROUP_KINDS, 0));
	proc_filter_free(&s);
	assert_int_equal(proc_filter_add(&s, FILTER_COMM, true, "a"), 0);
	assert_true(proc_filter_meets(&s, all, 0));
	assert_false(proc_filter_meets(&s, all, proc_filter_judge_comm(&s, "a")));
	assert_int_equal(proc_filter_kinds(&s, true), name);
}

static void test_text(void **state)
{
	struct buf b = { 0 };

	only(FILTER_CONTAINER, "web");
	assert_int_equal(proc_filter_add(&s, FILTER_COMM, true, "a b"), 0);
	s.min_age_s = 0.5;
	s.children = CHILDREN_YES;
	assert_int_equal(proc_filter_text(&s, &b), 0);
	assert_int_equal(buf_add(&b, "", 1), 0);
	assert_string_equal((char *)b.data,
			    " --container web --exclude-comm a b --min-age 0.5 --children");
	buf_free(&b);
}

/* ---- cgroups.h: the cgroups of this process ---- */

static int own_paths, paths;

static int count_path(void *ctx, uint32_t hierarchy, const char *path, bool own)
{
	assert_int_equal(path[0], '/');
	own_paths += own;
	paths++;
	return 0;
}

static void test_cgroups_of_this_process(void **state)
{
	assert_int_equal(cgroups_of_process(getpid(), count_path, NULL), 0);
	if (!own_paths)
		skip();		/* a kernel without cgroups */
	assert_true(paths >= own_paths);
	assert_int_equal(cgroups_of_process(4194304, count_path, NULL), -ESRCH);
}

static int check_dir(void *ctx, const struct cgroup_dir *dir)
{
	struct cgroups *c = ctx;
	uint64_t id = cgroups_id(c, dir->hierarchy, dir->path);

	assert_int_equal(dir->path[0], '/');
	assert_true(!id || id == dir->id);	/* 0: it was removed meanwhile */
	paths++;
	return 0;
}

static void test_each_cgroup_is_found_again(void **state)
{
	struct cgroups *c = cgroups_new();
	const char *path;
	uint32_t hierarchy;

	assert_non_null(c);
	paths = 0;
	assert_int_equal(cgroups_each(c, check_dir, c), 0);
	assert_int_equal(cgroups_resolve(c, "/no/mount/here", &hierarchy, &path), -ENOENT);
	assert_int_equal(cgroups_id(c, 0, "/no/such/cgroup/anywhere"), 0);
	cgroups_free(c);
}

static int done(void **state)
{
	proc_filter_free(&s);
	return 0;
}

static void test_a_condition_is_tried_without_a_message(void **state)
{
	struct proc_filter tried = { .rules = NULL };
	const char *remedy = NULL;

	assert_int_equal(proc_filter_try(&tried, FILTER_UNIT, true, "cron", &remedy), 0);
	assert_null(remedy);
	assert_int_equal(proc_filter_try(&tried, FILTER_UNIT, false, "a/b", &remedy), -EINVAL);
	assert_non_null(strstr(remedy, "expected the name of a unit"));
	assert_int_equal(proc_filter_try(&tried, FILTER_PID, true, "1,x", &remedy), -EINVAL);
	assert_string_equal(remedy, "expected process IDs, such as 1234 or 1234,5678");
	/* Of a list, what came before the mistake. */
	assert_int_equal(tried.cnt, 2);
	assert_string_equal(tried.rules[0].pattern, "cron.service");
	proc_filter_free(&tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_pids),
		cmocka_unit_test(test_comms),
		cmocka_unit_test(test_exes),
		cmocka_unit_test(test_cgroup_paths),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_cgroups_of_this_process),
		cmocka_unit_test(test_each_cgroup_is_found_again),
		cmocka_unit_test(test_a_condition_is_tried_without_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
