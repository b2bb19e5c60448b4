// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_proc_filter_eval.c - the conditions, applied to this process and to children of it; without
 * the map marks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "host/cgroups.h"
#include "target/proc_filter_eval.h"

#define COMM "filtered"

static struct proc_filter filter;

static int set_up(void **state)
{
	filter = (struct proc_filter){ .cnt = 0 };
	log_set_level(LOG_QUIET);
	return prctl(PR_SET_NAME, COMM, 0, 0, 0);
}

static int tear_down(void **state)
{
	proc_filter_free(&filter);
	return 0;
}

static void add(enum proc_filter_kind kind, bool exclude, const char *text)
{
	assert_int_equal(proc_filter_add(&filter, kind, exclude, text), 0);
}

/* The verdict on a process by the conditions so far, which are forgotten. */
static int verdict_on(pid_t tgid)
{
	struct proc_filter_eval *c = proc_filter_eval_new(&filter);
	int bits;

	assert_non_null(c);
	bits = proc_filter_eval_judge(c, tgid);
	proc_filter_eval_free(c);
	proc_filter_free(&filter);
	filter = (struct proc_filter){ .cnt = 0 };
	return bits;
}

static int verdict(enum proc_filter_kind kind, bool exclude, const char *text)
{
	add(kind, exclude, text);
	return verdict_on(getpid());
}

static void test_names(void **state)
{
	char exe[PATH_MAX] = "";

	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(verdict(FILTER_COMM, false, COMM), 0);
	assert_int_equal(verdict(FILTER_COMM, false, "filt*"), 0);
	assert_int_equal(verdict(FILTER_COMM, false, "other"), UNSELECTED_NAME);
	assert_int_equal(verdict(FILTER_COMM, true, COMM), UNSELECTED_NAME);
	assert_int_equal(verdict(FILTER_COMM, true, "other"), 0);
	assert_int_equal(verdict(FILTER_EXE, false, exe), 0);
	assert_int_equal(verdict(FILTER_EXE, false, strrchr(exe, '/') + 1), 0);
	assert_int_equal(verdict(FILTER_EXE, false, "/nothing"), UNSELECTED_NAME);
	assert_int_equal(verdict(FILTER_EXE, true, exe), UNSELECTED_NAME);
}

static void test_user(void **state)
{
	char own[16], other[16];

	snprintf(own, sizeof(own), "%u", geteuid());
	snprintf(other, sizeof(other), "%u", geteuid() + 1);
	assert_int_equal(verdict(FILTER_UID, false, own), 0);
	assert_int_equal(verdict(FILTER_UID, false, other), UNSELECTED_UID);
	assert_int_equal(verdict(FILTER_UID, true, own), UNSELECTED_UID);
}

static void test_pid(void **state)
{
	char own[16], parent[16];

	snprintf(own, sizeof(own), "%d", getpid());
	snprintf(parent, sizeof(parent), "%d", getppid());
	assert_int_equal(verdict(FILTER_PID, true, own), UNSELECTED_PID);
	assert_int_equal(verdict(FILTER_PID, true, parent), 0);
	filter.children = CHILDREN_YES;
	assert_int_equal(verdict(FILTER_PID, true, parent), UNSELECTED_PID);
}

/* Every kind of condition is judged, also after one that is not met. */
static void test_all_reasons(void **state)
{
	char own[16];

	snprintf(own, sizeof(own), "%d", getpid());
	add(FILTER_PID, true, own);
	add(FILTER_COMM, false, "other");
	assert_int_equal(verdict_on(getpid()), UNSELECTED_PID | UNSELECTED_NAME);
}

static int keep_path(void *ctx, uint32_t hierarchy, const char *path, bool own)
{
	(void)hierarchy;
	snprintf(ctx, PATH_MAX, "%s", path);
	return own;
}

static void test_cgroup(void **state)
{
	char path[PATH_MAX] = "";

	if (cgroups_of_process(getpid(), keep_path, path) != 1) {
		print_message("SKIP: this process is in no cgroup\n");
		skip();
	}
	assert_int_equal(verdict(FILTER_CGROUP, false, path), 0);
	assert_int_equal(verdict(FILTER_CGROUP, true, path), UNSELECTED_CGROUP);
	assert_int_equal(verdict(FILTER_CGROUP, false, "/no/such/cgroup"), UNSELECTED_CGROUP);
}

static void test_gone(void **state)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	add(FILTER_COMM, false, "*");
	assert_int_equal(verdict_on(pid), -ESRCH);
	add(FILTER_EXE, false, "*");
	assert_int_equal(verdict_on(pid), -ESRCH);
	add(FILTER_UID, false, "0");
	assert_int_equal(verdict_on(pid), -ESRCH);
}

static void test_age(void **state)
{
	struct proc_filter_eval *c = proc_filter_eval_new(&filter);
	uint64_t wait;

	assert_non_null(c);
	assert_int_equal(proc_filter_eval_wait_ns(c, getpid(), 0), 0);
	filter.min_age_s = 1e6;
	wait = proc_filter_eval_wait_ns(c, getpid(), 1);	/* it began with the machine */
	assert_in_range(wait, 1, 1000000 * NS_PER_S);
	assert_in_range(proc_filter_eval_wait_ns(c, getpid(), 0), wait, 1000000 * NS_PER_S);
	filter.min_age_s = 1e-9;
	assert_int_equal(proc_filter_eval_wait_ns(c, getpid(), 1), 0);
	proc_filter_eval_free(c);
}

static void test_what_the_bpf_side_needs(void **state)
{
	struct proc_filter_eval *c;
	struct filter_config cfg;

	add(FILTER_UID, false, "0");
	add(FILTER_COMM, true, "other");
	filter.min_age_s = 2;
	filter.children = CHILDREN_YES;
	c = proc_filter_eval_new(&filter);
	assert_non_null(c);
	proc_filter_eval_config(c, &cfg);
	assert_true(cfg.any && cfg.uids && cfg.uid_needed && cfg.comms && cfg.children);
	assert_false(cfg.cgroups || cfg.cgroup_excludes || cfg.cgroup_ask || cfg.exes);
	assert_int_equal(cfg.min_age_ns, 2 * NS_PER_S);
	assert_true(proc_filter_eval_marks_max(c) >= filter.cnt);
	proc_filter_eval_free(c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names),
		TEST(test_user),
		TEST(test_pid),
		TEST(test_all_reasons),
		TEST(test_cgroup),
		TEST(test_gone),
		TEST(test_age),
		TEST(test_what_the_bpf_side_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
