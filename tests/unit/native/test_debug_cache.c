// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_debug_cache.c - the directory of what debuginfod servers sent: who writes it, what goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <ftw.h>
#include <linux/capability.h>
#include <sys/wait.h>

#include "native/debug_asker.c"

static char top[] = "/tmp/debug-cache.XXXXXX";
static char path[64];

static int begin(void **state)
{
	strcpy(top + sizeof(top) - 7, "XXXXXX");
	snprintf(path, sizeof(path), "%s/tachbpf/debug", mkdtemp(top));
	return 0;
}

static int remove_one(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(name);
}

static int end(void **state)
{
	return chdir("/") || nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Runs fn in a process of its own, which may give up rights. */
static void in_child(bool (*fn)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* As the agent's unit starts it: without CAP_CHOWN, and with this umask. */
static bool open_without_chown(void)
{
	int fd;

	umask(0077);
	if (jail_keep_caps(1u << CAP_SETUID | 1u << CAP_SETGID))
		return false;
	fd = debug_cache_open(path);
	setfsgid(NOBODY);
	setfsuid(NOBODY);
	return fd >= 0 && !fchdir(fd) && !mkdir("abcd", 0700) && !rmdir("abcd");
}

static bool enter_as_nobody(void)
{
	setfsgid(NOBODY);
	setfsuid(NOBODY);
	return chdir(path) && errno == EACCES;
}

static void test_the_worker_can_write_it(void **state)
{
	struct stat st;

	if (geteuid())
		skip();
	in_child(open_without_chown);
	in_child(open_without_chown);	/* it is there */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(top, 0755) || chmod(strcat(strcpy(path, top), "/tachbpf"), 0755), 0);
	strcat(path, "/debug");
	in_child(enter_as_nobody);
}

static void test_not_in_a_directory_that_others_can_write(void **state)
{
	int fd;

	assert_int_equal(mkdir(strcat(strcpy(path, top), "/open"), 0700), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(debug_cache_open(path), -EPERM);
	assert_int_equal(chmod(path, 0755), 0);
	fd = debug_cache_open(path);
	assert_true(fd >= 0);
	close(fd);
}

static void make_file(const char *name, time_t age_s)
{
	const struct timespec then = { .tv_sec = time(NULL) - age_s };
	const struct timespec times[2] = { then, then };
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

/* Of a download that was killed; not of one that goes on, nor what is whole. */
static void test_unfinished_downloads_go(void **state)
{
	assert_int_equal(chdir(top), 0);
	assert_int_equal(mkdir("aa", 0700) || mkdir("bb", 0700) || mkdir("cc", 0700), 0);
	make_file("aa/debuginfo.Xyz123", 3600);
	make_file("bb/debuginfo.Xyz123", 3600);
	make_file("bb/debuginfo", 3600);
	make_file("cc/debuginfo.Xyz123", 10);
	prune_cache();
	assert_int_equal(access("aa", F_OK), -1);
	assert_int_equal(access("bb/debuginfo.Xyz123", F_OK), -1);
	assert_int_equal(access("bb/debuginfo", F_OK), 0);
	assert_int_equal(access("cc/debuginfo.Xyz123", F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_worker_can_write_it, begin, end),
		cmocka_unit_test_setup_teardown(test_not_in_a_directory_that_others_can_write,
						begin, end),
		cmocka_unit_test_setup_teardown(test_unfinished_downloads_go, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
