// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* regular.c - see regular.h. */
#include "host/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some old container filters refuse openat2(); it is needed for resolve only. */
static int open_how(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = resolve };

	return resolve ? syscall(SYS_openat2, dirfd, path, &how, sizeof(how)) :
			 openat(dirfd, path, (int)how.flags);
}

/* If there is no /proc: open the path again, if it still leads to the same file. */
static int open_again(int dirfd, const char *path, uint64_t resolve, const struct stat *seen)
{
	int fd = open_how(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, resolve);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_dev == seen->st_dev && st.st_ino == seen->st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

int open_regular(int dirfd, const char *path, uint64_t resolve)
{
	int place = open_how(dirfd, path, O_PATH, resolve), fd = -1, err;
	struct stat st;
	char again[32];

	if (place < 0)
		return -errno;
	err = fstat(place, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		err = fd < 0 ? -errno : 0;
		if (err == -ENOENT && access("/proc/self/fd", F_OK))
			fd = err = open_again(dirfd, path, resolve, &st);
	}
	close(place);
	return err < 0 ? err : fd;
}
