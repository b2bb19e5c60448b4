// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_select.c - conditions: what is taken and what is refused, what they fit, that kinds
 * must all be met and what is excluded is excluded.
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
#include "target/select.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct selection s;

static int add(enum select_kind kind, const char *text)
{
	return select_add(&s, kind, false, text);
}

static void only(enum select_kind kind, const char *text)
{
	selection_free(&s);
	assert_int_equal(add(kind, text), 0);
}

static void test_what_is_refused(void **state)
{
	static const struct {
		enum select_kind kind;
		const char *text;
	} bad[] = {
		{ SELECT_CONTAINER, "" }, { SELECT_POD, "" }, { SELECT_CGROUP, "" },
		{ SELECT_UNIT, "" }, { SELECT_UID, "" }, { SELECT_COMM, "" }, { SELECT_EXE, "" },
		{ SELECT_PID, "" }, { SELECT_PID, "0" }, { SELECT_PID, "-1" }, { SELECT_PID, "1x" },
		{ SELECT_PID, "4194305" }, { SELECT_PID, "1," }, { SELECT_PID, ",1" },
		{ SELECT_PID, "99999999999999999999" },
		{ SELECT_UID, "no-such-user" }, { SELECT_UID, "-1" }, { SELECT_UID, "4294967295" },
		{ SELECT_UID, "0x0" }, { SELECT_UID, "root," }, { SELECT_UID, "99999999999999999999" },
		{ SELECT_UNIT, "/system.slice/nginx.service" },
		{ SELECT_CGROUP, "/a/../b" }, { SELECT_CGROUP, "/a/./b" },
		{ SELECT_CGROUP, "/a/.." }, { SELECT_CGROUP, "." },
	};
	size_t i;

	log_set_level(LOG_QUIET);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		selection_free(&s);
		assert_int_equal(add(bad[i].kind, bad[i].text), -EINVAL);
		assert_int_equal(select_add(&s, bad[i].kind, true, bad[i].text), -EINVAL);
		selection_free(&s);
	}
}

static void test_users(void **state)
{
	only(SELECT_UID, "root,65534");
	assert_int_equal(s.cnt, 2);
	assert_int_equal(select_judge_uid(&s, 0), 1u << SELECT_UID);
	assert_int_equal(select_judge_uid(&s, 65534), 1u << SELECT_UID);
	assert_int_equal(select_judge_uid(&s, 1), 0);
	assert_int_equal(select_add(&s, SELECT_UID, true, "0"), 0);
	assert_int_equal(select_judge_uid(&s, 0), 1u << SELECT_UID | SELECT_EXCLUDED);
}

static void test_pids(void **state)
{
	selection_free(&s);
	assert_int_equal(select_add(&s, SELECT_PID, true, "12,34"), 0);
	assert_int_equal(select_judge_pid(&s, 34), SELECT_EXCLUDED);
	assert_int_equal(select_judge_pid(&s, 3), 0);
}

static bool comm(const char *glob, const char *name)
{
	only(SELECT_COMM, glob);
	return select_judge_comm(&s, name) == 1u << SELECT_COMM;
}

static void test_comms(void **state)
{
	assert_true(comm("python3", "python3"));
	assert_false(comm("python3", "python3.11"));
	assert_false(comm("python3", "xpython3"));
	assert_true(comm("python*", "python3.11"));
	assert_true(comm("py[st]hon?", "python3"));
	assert_true(comm("gunicorn: master [app]", "gunicorn: maste") == false);	/* a glob */
	assert_true(comm("gunicorn: master", "gunicorn: maste"));	/* all that is kept */
	assert_true(comm("*", ""));
	assert_true(comm("a/*", "a/b/c"));
	assert_false(comm("[", "x"));
}

static bool exe(const char *glob, const char *path)
{
	only(SELECT_EXE, glob);
	return select_judge_exe(&s, path) == 1u << SELECT_EXE;
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
	return select_judge_cgroup(&s, 3, path, &c);
}

static void test_cgroup_paths(void **state)
{
	static const char *const same[] = { "/a/b", "a/b", "/a/b/", "//a//b//", "a/b/" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(same); i++) {
		only(SELECT_CGROUP, same[i]);
		assert_int_equal(cgroup("/a/b"), 1u << SELECT_CGROUP);
		assert_int_equal(cgroup("/a"), 0);
		assert_int_equal(cgroup("/a/b/c"), 0);		/* what is above says it */
		assert_int_equal(cgroup("/a/bb"), 0);
		s.rules[0].number = 4;				/* of another hierarchy */
		assert_int_equal(cgroup("/a/b"), 0);
	}
	only(SELECT_CGROUP, "/");
	assert_int_equal(cgroup("/"), 1u << SELECT_CGROUP);
	assert_true(s.rules[0].met);
}

static void test_units(void **state)
{
	only(SELECT_UNIT, "nginx");
	assert_int_equal(cgroup("/system.slice/nginx.service"), 1u << SELECT_UNIT);
	assert_int_equal(cgroup("/system.slice"), 0);
	assert_int_equal(cgroup("/system.slice/xnginx.service"), 0);
	assert_int_equal(cgroup("/system.slice/nginx.scope"), 0);
	only(SELECT_UNIT, "session-3.scope");
	assert_int_equal(cgroup("/user.slice/user-0.slice/session-3.scope"), 1u << SELECT_UNIT);
	only(SELECT_UNIT, "user-*.slice");
	assert_int_equal(cgroup("/user.slice/user-0.slice"), 1u << SELECT_UNIT);
	assert_int_equal(cgroup("/user.slice"), 0);
	only(SELECT_UNIT, "getty@tty1");
	assert_int_equal(cgroup("/system.slice/getty@tty1.service"), 1u << SELECT_UNIT);
}

static void test_containers(void **state)
{
	static const char path[] = "/system.slice/docker-" ID ".scope";

	only(SELECT_CONTAINER, "0123");
	assert_int_equal(cgroup(path), 1u << SELECT_CONTAINER);
	only(SELECT_CONTAINER, ID);
	assert_int_equal(cgroup(path), 1u << SELECT_CONTAINER);
	only(SELECT_CONTAINER, "1234");
	assert_int_equal(cgroup(path), 0);
	assert_false(s.rules[0].met);
	only(SELECT_POD, "0123abcd-0123-0123-0123-0123456789ab");
	assert_int_equal(cgroup("/kubepods/burstable/pod0123abcd-0123-0123-0123-0123456789ab"),
			 1u << SELECT_POD);
	assert_int_equal(cgroup(path), 0);
}

/* All kinds and what they say of a process: bits that are set. */
static void test_precedence(void **state)
{
	const uint32_t uid = 1u << SELECT_UID, name = 1u << SELECT_COMM, all = ~0u;

	selection_free(&s);
	assert_true(select_meets(&s, all, 0));		/* no conditions */
	assert_false(select_meets(&s, all, SELECT_EXCLUDED));
	only(SELECT_UID, "0");
	assert_int_equal(add(SELECT_UID, "1"), 0);
	assert_int_equal(add(SELECT_COMM, "a"), 0);
	assert_int_equal(select_kinds(&s, false), uid | name);
	assert_int_equal(select_kinds(&s, true), 0);
	assert_true(select_meets(&s, all, uid | name));	/* one user is enough */
	assert_false(select_meets(&s, all, uid));
	assert_false(select_meets(&s, all, name));
	assert_false(select_meets(&s, all, uid | name | SELECT_EXCLUDED));
	assert_true(select_meets(&s, uid, uid));	/* only this kind is asked about */
	assert_true(select_meets(&s, SELECT_CGROUP_KINDS, 0));
	selection_free(&s);
	assert_int_equal(select_add(&s, SELECT_COMM, true, "a"), 0);
	assert_true(select_meets(&s, all, 0));
	assert_false(select_meets(&s, all, select_judge_comm(&s, "a")));
	assert_int_equal(select_kinds(&s, true), name);
}

static void test_text(void **state)
{
	struct buf b = { 0 };

	only(SELECT_CONTAINER, "web");
	assert_int_equal(select_add(&s, SELECT_COMM, true, "a b"), 0);
	s.min_age_s = 0.5;
	s.children = CHILDREN_YES;
	assert_int_equal(select_text(&s, &b), 0);
	assert_int_equal(buf_add(&b, "", 1), 0);
	assert_string_equal((char *)b.data,
			    " --container web --exclude-comm a b --min-age 0.5 --children");
	buf_free(&b);
}

/* ---- cgroups.h: of this very process, whatever cgroups there are here ---- */

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
	assert_true(!id || id == dir->id);	/* 0: it went meanwhile */
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
	selection_free(&s);
	return 0;
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
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
