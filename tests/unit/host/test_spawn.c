// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_spawn.c - a command that is held, let go, waited for. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "host/spawn.h"
#include "tests/unit/tach_test.h"

static int wait_status(struct spawned *child)
{
	int status = -1, i;

	for (i = 0; i < 10000; i++) {
		if (spawn_ended(child, &status)) {
			assert_int_equal(child->pid, 0);
			assert_false(spawn_ended(child, &status));
			return status;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	fail_msg("the child did not end");
	return -1;
}

static int open_files(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int run_shell(const char *script)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	struct spawned child;

	assert_int_equal(spawn_held(&child, argv), 0);
	assert_true(child.pid > 0);
	assert_int_equal(spawn_go(&child), 0);
	return wait_status(&child);
}

static void test_exit_status(void **state)
{
	int files = open_files();

	assert_int_equal(run_shell("exit 0"), 0);
	assert_int_equal(run_shell("exit 1"), 1);
	assert_int_equal(run_shell("exit 255"), 255);
	assert_int_equal(open_files(), files);
}

static void test_signals(void **state)
{
	assert_int_equal(run_shell("kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(run_shell("kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(run_shell("kill -INT $$"), 128 + SIGINT);
	/* What we ignore is not the command's business. */
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run_shell("kill -PIPE $$; exit 3"), 128 + SIGPIPE);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(run_shell("kill -XFSZ $$; exit 3"), 128 + SIGXFSZ);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	assert_int_equal(run_shell("kill -INT $$; exit 3"), 128 + SIGINT);
	signal(SIGINT, SIG_DFL);
}

static void test_cannot_exec(void **state)
{
	char *absent[] = { "/nonexistent/tachbpf-test", NULL }, *directory[] = { "/", NULL };
	char *unknown[] = { "tachbpf-test-no-such-command", NULL };
	struct spawned child;
	int files = open_files(), status;

	assert_int_equal(spawn_held(&child, absent), 0);
	assert_int_equal(spawn_go(&child), -ENOENT);
	assert_int_equal(child.pid, 0);
	assert_false(spawn_ended(&child, &status));
	assert_int_equal(spawn_held(&child, directory), 0);
	assert_int_equal(spawn_go(&child), -EACCES);
	assert_int_equal(spawn_held(&child, unknown), 0);
	assert_int_equal(spawn_go(&child), -ENOENT);
	assert_int_equal(open_files(), files);
	/* No zombie is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Nothing of the command has run before spawn_go(). */
static void test_held(void **state)
{
	char dir[] = "/tmp/tachbpf-test-XXXXXX", file[64];
	char *argv[] = { "touch", file, NULL };
	struct spawned child;
	int status;

	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/ran", dir);
	assert_int_equal(spawn_held(&child, argv), 0);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	assert_false(spawn_ended(&child, &status));
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(spawn_go(&child), 0);
	assert_int_equal(wait_status(&child), 0);
	assert_int_equal(access(file, F_OK), 0);
	unlink(file);
	rmdir(dir);
}

static void test_abort(void **state)
{
	char *argv[] = { "sleep", "1000", NULL };
	struct spawned child = { .pid = 0 };
	int files = open_files();
	pid_t pid;

	spawn_abort(&child);	/* none */
	/* Held ... */
	assert_int_equal(spawn_held(&child, argv), 0);
	pid = child.pid;
	spawn_abort(&child);
	assert_int_equal(child.pid, 0);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(open_files(), files);
	/* ... and running. */
	assert_int_equal(spawn_held(&child, argv), 0);
	assert_int_equal(spawn_go(&child), 0);
	pid = child.pid;
	spawn_abort(&child);
	assert_int_equal(kill(pid, 0), -1);
	spawn_abort(&child);
	assert_int_equal(open_files(), files);
}

/* The wait ends with the command, and without it after its time. */
static void test_wait(void **state)
{
	char *argv[] = { "sleep", "1000", NULL };
	struct spawned child;
	int files = open_files(), status;

	assert_int_equal(spawn_held(&child, argv), 0);
	assert_int_equal(spawn_go(&child), 0);
	assert_false(spawn_wait(&child, 1, &status));
	spawn_signal(&child, SIGTERM);
	assert_true(spawn_wait(&child, 600000, &status));
	assert_int_equal(status, 128 + SIGTERM);
	assert_int_equal(child.pid, 0);
	spawn_signal(&child, SIGTERM);	/* none */
	assert_int_equal(open_files(), files);
}

static void test_forget(void **state)
{
	char *argv[] = { "sleep", "1000", NULL };
	struct spawned child;
	pid_t pid;

	assert_int_equal(spawn_held(&child, argv), 0);
	assert_int_equal(spawn_go(&child), 0);
	pid = child.pid;
	spawn_forget(&child);
	spawn_abort(&child);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);	/* it runs */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As shells have it. */
static void test_exec_status(void **state)
{
	assert_int_equal(spawn_exec_status(ENOENT), 127);
	assert_int_equal(spawn_exec_status(EACCES), 126);
	assert_int_equal(spawn_exec_status(ENOEXEC), 126);
}

/* Somebody killed it while it was held: an error or its status, but no signal to us. */
static void test_killed_while_held(void **state)
{
	char *argv[] = { "true", NULL };
	struct spawned child;
	siginfo_t info;
	int err;

	signal(SIGPIPE, SIG_IGN);	/* as cmd_record.c does */
	assert_int_equal(spawn_held(&child, argv), 0);
	kill(child.pid, SIGKILL);
	assert_int_equal(waitid(P_PID, child.pid, &info, WEXITED | WNOWAIT), 0);
	err = spawn_go(&child);
	if (err)
		assert_int_equal(err, -EPIPE);
	else
		assert_int_equal(wait_status(&child), 128 + SIGKILL);
	assert_int_equal(child.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_cannot_exec),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_exec_status),
		cmocka_unit_test(test_killed_while_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
