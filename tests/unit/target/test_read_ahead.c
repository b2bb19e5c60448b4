// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_read_ahead.c - the inspector reads the files of processes before it is asked about them. Its
 * function runs in this process.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whatever else runs on this machine, our child's turn comes. */
#define AHEAD_EXES 65536
#define AHEAD_PROCESSES 1048576
#include "user/target/file_cache.c"
#include "user/target/inspect_files.c"
#include "user/target/inspector_worker.c"

#include "tests/unit/tach_test.h"

static char path[] = "/tmp/tachbpf-test-XXXXXX";
static struct shared s;

/* A new executable, which nobody else runs, and a process that runs it. */
static pid_t child(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
	struct stat st;
	pid_t pid;

	assert_true(from >= 0 && to >= 0);
	assert_int_equal(fstat(from, &st), 0);
	assert_int_equal(sendfile(to, from, NULL, st.st_size), st.st_size);
	assert_int_equal(fchmod(to, 0700), 0);
	close(from);
	close(to);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, path, "wait", NULL);
		_exit(1);
	}
	return pid;
}

/* Wait until the process runs the new executable. */
static void wait_for_exec(pid_t pid)
{
	char exe[sizeof(path)];
	int tries;

	for (tries = 0; tries < 1000; tries++, usleep(10000))
		if (!proc_exe(pid, exe, sizeof(exe)) && !strcmp(exe, path))
			return;
	fail_msg("the child does not execute %s", path);
}

/* Is the new executable known? Asks, so from now on it is. */
static bool is_known(struct file_cache *c)
{
	const struct cpython_image *image;
	struct file_id id;
	size_t before;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	before = c->others.cnt;
	assert_int_equal(file_cache_image(c, fd, &image, &id), -ENOENT);
	close(fd);
	return c->others.cnt == before;
}

static void look(bool all, uint32_t enough)
{
	s.about = 0;
	s.likely.about = 0;
	s.likely.all = all;
	s.likely.listed = 0;
	s.likely.enough = enough;
	assert_int_equal(run_likely(&s, NULL), 0);
	assert_int_equal(s.likely.listed, 1);
}

static void test_files_of_processes_are_read_before_they_are_asked_for(void **state)
{
	struct file_cache *c = the_cache(&s);
	pid_t pid = child();

	wait_for_exec(pid);
	look(false, 0);		/* only one process, or a command, is recorded */
	assert_int_equal(s.likely.about, 0);
	look(true, 1);		/* the program waits already */
	assert_int_equal(s.likely.about, 0);
	look(true, 0);
	assert_int_not_equal(s.likely.about, 0);
	assert_true(is_known(c));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(unlink(path), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_of_processes_are_read_before_they_are_asked_for),
	};

	if (argc > 1)
		return pause();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
