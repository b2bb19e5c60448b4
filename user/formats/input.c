// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * input.c - see input.h. Knows no format.
 */
#include "formats/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/regular.h"

/* fd: of open_regular(). Sets *size to the file's size. 0, or -errno with a reason in why. */
static int check_file(int fd, size_t *size, char *why, size_t why_size)
{
	struct stat st;

	if (fd == -EINVAL) {
		snprintf(why, why_size, "not a regular file");
		return -EBADMSG;
	}
	if (fd < 0 || fstat(fd, &st)) {
		int err = fd < 0 ? -fd : errno;

		snprintf(why, why_size, "%s", strerror(err));
		return -err;
	}
	if (!st.st_size) {
		snprintf(why, why_size, "truncated: the file is empty");
		return -EBADMSG;
	}
	*size = (size_t)st.st_size;
	return 0;
}

struct input *input_map(const char *path, char *why, size_t why_size)
{
	int fd = open_regular(AT_FDCWD, path, 0), err;
	struct input *in = NULL;
	void *map = MAP_FAILED;
	size_t size = 0;

	err = check_file(fd, &size, why, why_size);
	if (!err) {
		in = malloc(sizeof(*in));
		map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (!in || map == MAP_FAILED) {
			err = in ? -errno : -ENOMEM;
			snprintf(why, why_size, "%s", strerror(-err));
		}
	}
	if (fd >= 0)
		close(fd);
	if (err) {
		if (map != MAP_FAILED)
			munmap(map, size);
		free(in);
		errno = -err;
		return NULL;
	}
	madvise(map, size, MADV_SEQUENTIAL);
	*in = (struct input){ path, map, size };
	return in;
}

void input_unmap(struct input *in)
{
	if (!in)
		return;
	munmap((void *)in->data, in->size);
	free(in);
}

int input_map_private(struct input *in, const char *path, bool *locked)
{
	int fd = open_regular(AT_FDCWD, path, 0), err = 0;
	struct stat st;
	void *map;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		err = -errno;
	} else if (st.st_size) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		err = map == MAP_FAILED ? -errno : 0;
		if (!err)
			*in = (struct input){ path, map, (size_t)st.st_size };
	}
	if (!err && locked)
		*locked = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return err;
}

void input_unmap_private(struct input *in)
{
	if (in->data)
		munmap((void *)in->data, in->size);
	*in = (struct input){ 0 };
}
