// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * source_text.c - see source_text.h. Symbolic links are followed, because sources are often reached
 * through them; the file they lead to must meet the rules.
 */
#include "formats/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/regular.h"

static bool has_python_name(const char *path, size_t len)
{
	static const char *const suffixes[] = { ".py", ".pyw", ".pyx", ".pyi" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (len > n && !memcmp(path + len - n, suffixes[i], n))
			return true;
	}
	return false;
}

/* Returns true if the first line is "#! ... python". */
static bool is_python_script(int fd)
{
	char text[256], *end;
	ssize_t len = pread(fd, text, sizeof(text), 0);

	if (len < 2 || memcmp(text, "#!", 2))
		return false;
	end = memchr(text, '\n', len);
	return memmem(text, end ? end - text : len, "python", strlen("python"));
}

/*
 * Only a file that looks like Python is read, wherever links lead: a profile must not be able to
 * make a report contain another file's content. Nothing in /proc is read: its files have size 0,
 * and reading them can have effects.
 */
static bool looks_like_python(int fd, const struct stat *st)
{
	char link[32], name[PATH_MAX];
	ssize_t len;

	if (!st->st_size)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	return (len > 0 && has_python_name(name, len)) || is_python_script(fd);
}

/* Reads at most max bytes, even if the file grows meanwhile. */
static int read_text(int fd, size_t max, struct buf *b)
{
	size_t left = max + 1;
	ssize_t n;

	while (left) {
		size_t want = left < 65536 ? left : 65536;

		if (buf_reserve(b, want))
			return -ENOMEM;
		n = read(fd, b->data + b->len, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return SOURCE_MISSING;
		if (!n)
			return SOURCE_READ;
		b->len += n;
		left -= n;
	}
	return SOURCE_TOO_LARGE;
}

int source_read_open(int fd, size_t max, struct buf *b)
{
	size_t before = b->len;
	struct stat st;
	int state;

	if (fstat(fd, &st))
		return SOURCE_MISSING;
	if (!S_ISREG(st.st_mode))
		return SOURCE_NO_FILE;
	if (!looks_like_python(fd, &st))
		return SOURCE_NO_PYTHON;
	state = (uint64_t)st.st_size > max ? SOURCE_TOO_LARGE : read_text(fd, max, b);
	if (state != SOURCE_READ)
		b->len = before;
	return state;
}

int source_read(const char *path, size_t len, struct buf *b)
{
	char name[PATH_MAX];
	int fd, state;

	if (!len || path[0] != '/' || len >= sizeof(name) || memchr(path, '\0', len))
		return SOURCE_NO_FILE;
	memcpy(name, path, len);
	name[len] = '\0';
	fd = open_regular(AT_FDCWD, name, 0);
	if (fd < 0)
		return fd == -EINVAL ? SOURCE_NO_FILE : SOURCE_MISSING;
	state = source_read_open(fd, SOURCE_MAX_BYTES, b);
	close(fd);
	return state;
}
