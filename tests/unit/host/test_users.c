// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_users.c - users and groups as a static binary reads them: as the C library does.
 */
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TACHBPF_STATIC
#define user_by_name static_by_name
#define user_by_uid static_by_uid
#define user_take_groups static_take_groups
#include "host/users.c"

static void test_users(void **state)
{
	struct passwd *pw;

	assert_string_equal(static_by_uid(0)->pw_name, "root");
	pw = static_by_name("root");
	assert_non_null(pw);
	assert_int_equal(pw->pw_uid, 0);
	assert_null(static_by_name("no such user"));
	assert_null(static_by_uid(4000000000u));
}

static int compare(const void *a, const void *b)
{
	gid_t left = *(const gid_t *)a, right = *(const gid_t *)b;

	return left < right ? -1 : left > right;
}

/* This process' groups, sorted. */
static int groups(gid_t ids[GROUPS_MAX])
{
	int n = getgroups(GROUPS_MAX, ids);

	qsort(ids, n > 0 ? n : 0, sizeof(*ids), compare);
	return n;
}

/* In a process of its own. 0: both ways give the same groups to this user. */
static int same_groups(const char *name, gid_t gid)
{
	gid_t theirs[GROUPS_MAX], ours[GROUPS_MAX];
	int n;

	if (initgroups(name, gid))
		return 1;
	n = groups(theirs);
	if (static_take_groups(name, gid))
		return 2;
	if (groups(ours) != n)
		return 3;
	return memcmp(ours, theirs, n * sizeof(*ours)) ? 4 : 0;
}

static void test_groups(void **state)
{
	int status = -1;
	struct group *gr;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	while ((gr = getgrent())) {
		for (char **member = gr->gr_mem; *member; member++) {
			pid = fork();
			if (pid == 0)
				_exit(same_groups(*member, 54321));
			assert_int_equal(waitpid(pid, &status, 0), pid);
			assert_int_equal(status, 0);
		}
	}
	pid = fork();
	if (pid == 0)
		_exit(same_groups("nobody", 54321));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
