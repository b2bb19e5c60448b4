// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* table_cache.c - see table_cache.h. */
#include "native/table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/unwind_file.h"

#define SECRET "secret"
#define NEW_PREFIX ".new-"
#define HASH_DIGITS 32
#define FILE_BYTES_MAX ((uint64_t)UNWIND_FILE_BYTES_MAX + UNWIND_FILE_HEAD)

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

int table_cache_open(const char *dir)
{
	char parent[PATH_MAX], *end;
	struct stat st;
	int fd, err = 0;

	snprintf(parent, sizeof(parent), "%s", dir);
	end = strrchr(parent, '/');
	if (end && end > parent) {
		*end = '\0';
		mkdir(parent, 0755);
	}
	mkdir(dir, 0700);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!is_ours(&st))
		err = -EPERM;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Opens a regular file of ours with this many bytes; bytes 0: any number. */
static int open_ours(int dir, const char *name, uint64_t bytes)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || !is_ours(&st) || st.st_size < 0)
		err = -EPERM;
	else if (bytes ? (uint64_t)st.st_size != bytes : (uint64_t)st.st_size > FILE_BYTES_MAX)
		err = -EFBIG;
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Creates a file with a temporary name; finish_file() renames it. */
static int make_new(int dir, char name[32])
{
	int fd;

	snprintf(name, 32, NEW_PREFIX "%d", (int)getpid());
	unlinkat(dir, name, 0);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int finish_file(int dir, int fd, int err, const char *name, const char *as)
{
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dir, name, dir, as))
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

static int make_secret(int dir, uint8_t secret[NATIVE_SECRET_BYTES])
{
	char name[32];
	int fd;

	if (getrandom(secret, NATIVE_SECRET_BYTES, 0) != NATIVE_SECRET_BYTES)
		return -EIO;
	fd = make_new(dir, name);
	if (fd < 0)
		return fd;
	return finish_file(dir, fd, write_all(fd, secret, NATIVE_SECRET_BYTES), name, SECRET);
}

int table_cache_secret(int dir, uint8_t secret[NATIVE_SECRET_BYTES])
{
	int fd = open_ours(dir, SECRET, NATIVE_SECRET_BYTES);
	bool read;

	if (fd < 0)
		return make_secret(dir, secret);
	read = pread(fd, secret, NATIVE_SECRET_BYTES, 0) == NATIVE_SECRET_BYTES;
	close(fd);
	return read ? 0 : make_secret(dir, secret);
}

static void name_of(const uint64_t hash[2], char name[HASH_DIGITS + 1])
{
	snprintf(name, HASH_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, hash[0], hash[1]);
}

int table_cache_find(int dir, const uint64_t hash[2])
{
	char name[HASH_DIGITS + 1];
	int fd;

	name_of(hash, name);
	fd = open_ours(dir, name, 0);
	if (fd >= 0)
		futimens(fd, NULL);
	return fd;
}

static int copy_file(int to, int from, uint64_t bytes)
{
	static uint8_t part[1 << 18];
	uint64_t at = 0;
	ssize_t n = 0;
	int err = 0;

	for (; !err && at < bytes; at += (uint64_t)n) {
		n = pread(from, part, bytes - at < sizeof(part) ? bytes - at : sizeof(part),
			  (off_t)at);
		err = n <= 0 ? -EIO : write_all(to, part, (size_t)n);
	}
	return err;
}

int table_cache_store(int dir, const uint64_t hash[2], int from)
{
	char name[32], as[HASH_DIGITS + 1];
	struct stat st;
	int fd;

	if (fstat(from, &st))
		return -errno;
	if (st.st_size < (off_t)UNWIND_FILE_HEAD || (uint64_t)st.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	fd = make_new(dir, name);
	if (fd < 0)
		return fd;
	name_of(hash, as);
	return finish_file(dir, fd, copy_file(fd, from, (uint64_t)st.st_size), name, as);
}

/* ---- pruning ---- */

struct entry {
	char name[HASH_DIGITS + 1];
	uint64_t bytes;
	struct timespec used;
};

struct entries {
	struct entry *list;
	size_t cnt, cap;
	uint64_t bytes;
};

static int newest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? 1 : -1;
	return x->used.tv_nsec < y->used.tv_nsec ? 1 : x->used.tv_nsec > y->used.tv_nsec ? -1 : 0;
}

/* The remains of an interrupted store are removed at once. */
static void add_entry(int dir, const char *name, struct entries *all)
{
	struct entry *list, *e;
	struct stat st;

	if (!strncmp(name, NEW_PREFIX, strlen(NEW_PREFIX)))
		unlinkat(dir, name, 0);
	if (strlen(name) != HASH_DIGITS || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	list = array_grow(all->list, all->cnt, &all->cap, sizeof(*list));
	if (!list)
		return;
	all->list = list;
	e = &list[all->cnt++];
	memcpy(e->name, name, sizeof(e->name));
	e->bytes = (uint64_t)st.st_size;
	e->used = st.st_mtim;
}

void table_cache_prune(int dir, uint64_t bytes, uint32_t files)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct entries all = { .cnt = 0 };
	DIR *d = again < 0 ? NULL : fdopendir(again);
	uint64_t sum = 0;
	struct dirent *e;
	size_t i;

	if (!d) {
		if (again >= 0)
			close(again);
		return;
	}
	while ((e = readdir(d)))
		add_entry(dir, e->d_name, &all);
	closedir(d);
	if (all.cnt)
		qsort(all.list, all.cnt, sizeof(*all.list), newest_first);
	for (i = 0; i < all.cnt; i++) {
		sum += all.list[i].bytes;
		if (i >= files || sum > bytes)
			unlinkat(dir, all.list[i].name, 0);
	}
	free(all.list);
}
