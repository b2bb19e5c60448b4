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

int open_regular(int dirfd, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	int place = syscall(SYS_openat2, dirfd, path, &how, sizeof(how)), fd = -1, err;
	struct stat st;
	char again[32];

	if (place < 0)
		return -errno;
	err = fstat(place, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		err = fd < 0 ? -errno : 0;
	}
	close(place);
	return err ? err : fd;
}
