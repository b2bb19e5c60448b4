// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_start.c - see elf_start.h. */
#include "elf_helper/elf_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Above all descriptors that the child gets. */
#define HIGH_FD 10

/* Finds the executable in this directory, relative to our own. Returns 0 or -errno. */
static int near_us(const char *dir, char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;
	size_t room;

	if (n < 0)
		return -errno;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	room = size - (size_t)(slash + 1 - path);
	if (snprintf(slash + 1, room, "%s%s", dir, ELF_HELPER_NAME) >= (int)room)
		return -ENAMETOOLONG;
	return access(path, X_OK) ? -errno : 0;
}

static int check_owner(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK))
		return -ENOENT;
	return !geteuid() && (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

int elf_helper_find(char *path, size_t size)
{
	const char *named = secure_getenv("TACHBPF_ELF");

	int err;

	if (!named && !near_us("", path, size))
		return 0;
	if (!named)
		err = near_us("../libexec/tachbpf/", path, size);
	else
		err = snprintf(path, size, "%s", named) < (int)size ? 0 : -ENAMETOOLONG;
	return err ? err : check_owner(path);
}

/* /dev/null as 0, 1 and 2, the sockets as 3 and 4. Returns 0 or an errno. */
static int plan_files(posix_spawn_file_actions_t *files, int main_fd, int opener_fd)
{
	int err = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDWR, 0);

	if (!err)
		err = posix_spawn_file_actions_adddup2(files, 0, 1);
	if (!err)
		err = posix_spawn_file_actions_adddup2(files, 0, 2);
	if (!err)
		err = posix_spawn_file_actions_adddup2(files, main_fd, 3);
	return err ? err : posix_spawn_file_actions_adddup2(files, opener_fd, 4);
}

/* No signal is blocked or ignored. Returns 0 or an errno. */
static int plan_signals(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawnattr_setsigmask(attr, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(attr, &all);
	return err ? err : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
						    POSIX_SPAWN_SETSIGDEF);
}

static int spawn_helper(const char *path, enum elf_role role, int main_fd, int opener_fd,
			pid_t *pid)
{
	char parent[16], *argv[] = { (char *)path,
				     (char *)(role == ELF_ROLE_TABLES ? "tables" : "names"),
				     parent, NULL };
	char *env[] = { (char *)"LC_ALL=C", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int err;

	snprintf(parent, sizeof(parent), "%d", getpid());
	err = posix_spawn_file_actions_init(&files);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (!err) {
		err = plan_files(&files, main_fd, opener_fd);
		if (!err)
			err = plan_signals(&attr);
		if (!err)
			err = posix_spawn(pid, path, &files, &attr, argv, env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

static int open_pidfd(pid_t pid, int *pidfd)
{
	int err;

	*pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*pidfd >= 0)
		return 0;
	err = -errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

int elf_helper_start(enum elf_role role, int main_fd, int opener_fd, pid_t *pid, int *pidfd)
{
	char path[PATH_MAX];
	int err = elf_helper_find(path, sizeof(path)), high[2];

	if (err)
		return err;
	high[0] = fcntl(main_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	high[1] = fcntl(opener_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	err = high[0] < 0 || high[1] < 0 ? -errno : spawn_helper(path, role, high[0], high[1], pid);
	if (high[0] >= 0)
		close(high[0]);
	if (high[1] >= 0)
		close(high[1]);
	return err ? err : open_pidfd(*pid, pidfd);
}
