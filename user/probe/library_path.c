// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * library_path.c - see library_path.h. The cache's format: glibc 2.36, sysdeps/generic/dl-cache.h,
 * struct cache_file_new. Behind an older cache of the same file it begins at a multiple of 8.
 */
#include "probe/library_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "probe/prober.h"

#define CACHE_FILE "/etc/ld.so.cache"
#define CACHE_BYTES_MAX (64u << 20)
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_HEAD_BYTES 48

struct entry {
	int32_t flags;
	uint32_t name, path;	/* from the begin of the cache */
	uint32_t osversion;
	uint64_t hwcap;
};

/* FLAG_ELF_LIBC6, and FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64 */
#if defined(__aarch64__)
#define OWN_FLAGS 0x0a03
#else
#define OWN_FLAGS 0x0303
#endif

/* The string at an offset; NULL: none ends in the cache. */
static const char *string_at(const uint8_t *cache, size_t bytes, uint32_t at)
{
	if (at >= bytes || !memchr(cache + at, '\0', bytes - at))
		return NULL;
	return (const char *)cache + at;
}

int library_path_in(const uint8_t *cache, size_t bytes, const char *name, char *path, size_t size)
{
	const uint8_t *at = memmem(cache, bytes, CACHE_MAGIC, strlen(CACHE_MAGIC));
	const char *found, *is;
	struct entry e;
	uint32_t cnt, i;

	if (!at)
		return -ENOENT;
	bytes -= (size_t)(at - cache);
	if (bytes < CACHE_HEAD_BYTES)
		return -ENOENT;
	memcpy(&cnt, at + strlen(CACHE_MAGIC), sizeof(cnt));
	for (i = 0; i < cnt && CACHE_HEAD_BYTES + (i + 1ull) * sizeof(e) <= bytes; i++) {
		memcpy(&e, at + CACHE_HEAD_BYTES + i * sizeof(e), sizeof(e));
		is = string_at(at, bytes, e.name);
		found = string_at(at, bytes, e.path);
		if (e.flags != OWN_FLAGS || !is || !found || !prober_is_called(is, name))
			continue;
		return snprintf(path, size, "%s", found) < (int)size ? 0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

static int in_cache(const char *name, char *path, size_t size)
{
	int fd = open(CACHE_FILE, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct buf text = { 0 };

	if (!err)
		err = buf_add_file(&text, fd, CACHE_BYTES_MAX);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = library_path_in(text.data, text.len, name, path, size);
	buf_free(&text);
	return err;
}

static int in_directories(const char *list, const char *name, char *path, size_t size)
{
	size_t len;

	for (; *list; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		if (*list == '/' &&
		    snprintf(path, size, "%.*s/%s", (int)len, list, name) < (int)size &&
		    !access(path, X_OK))
			return 0;
	}
	return -ENOENT;
}

int library_path(const char *name, char *path, size_t size)
{
	const char *directories = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size ? 0 : -ENAMETOOLONG;
	if (!in_cache(name, path, size))
		return 0;
	return in_directories(directories ? directories : "/usr/bin:/bin", name, path, size);
}
