// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* spawn.c - forks, holds and executes a command. See spawn.h. */
#include "host/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(int go, int err_fd, char **argv)
{
	int err;
	char c;

	/* The command must not inherit our signal handlers or ignored signals. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (read(go, &c, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	err = errno;
	if (write(err_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int spawn_held(struct spawned *child, char **argv)
{
	int go[2], error[2];

	child->pid = 0;
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	child->pid = fork();
	if (!child->pid) {
		close(go[1]);
		run_child(go[0], error[1], argv);
	}
	close(go[0]);
	close(error[1]);
	child->go_fd = go[1];
	child->err_fd = error[0];
	if (child->pid < 0) {
		child->pid = 0;
		close(go[1]);
		close(error[0]);
		return -errno;
	}
	return 0;
}

int spawn_go(struct spawned *child)
{
	int err = 0;

	if (write(child->go_fd, "g", 1) != 1)
		err = errno;
	close(child->go_fd);
	child->go_fd = -1;
	/* A successful exec closes the pipe; otherwise the child writes its errno to it. */
	if (!err && read(child->err_fd, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(child->err_fd);
	if (err) {
		waitpid(child->pid, NULL, 0);
		child->pid = 0;
	}
	return -err;
}

bool spawn_ended(struct spawned *child, int *status)
{
	int st;

	if (!child->pid || waitpid(child->pid, &st, WNOHANG) != child->pid)
		return false;
	child->pid = 0;
	*status = WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
	return true;
}

bool spawn_wait(struct spawned *child, int timeout_ms, int *status)
{
	struct pollfd ended = { .fd = -1, .events = POLLIN };

	if (spawn_ended(child, status))
		return true;
	ended.fd = (int)syscall(SYS_pidfd_open, child->pid, 0);	/* Linux 5.3 */
	poll(&ended, 1, timeout_ms);
	if (ended.fd >= 0)
		close(ended.fd);
	return spawn_ended(child, status);
}

void spawn_signal(const struct spawned *child, int sig)
{
	if (child->pid)
		kill(child->pid, sig);
}

int spawn_exec_status(int err)
{
	return err == ENOENT ? 127 : 126;
}

void spawn_forget(struct spawned *child)
{
	child->pid = 0;
}

void spawn_abort(struct spawned *child)
{
	if (!child->pid)
		return;
	if (child->go_fd >= 0) {	/* the child still waits */
		close(child->go_fd);
		close(child->err_fd);
	}
	kill(child->pid, SIGTERM);
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
}
