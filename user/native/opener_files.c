// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* opener_files.c - see opener_files.h. */
#include "native/opener_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"
#include "host/regular.h"

#define TICK_NS 10000000ull	/* of /proc/PID/stat: USER_HZ is 100 */

int opener_same_process(const struct elf_place *place)
{
	struct proc_stat st;
	int err = proc_stat((pid_t)place->tgid, &st);

	if (err)
		return err;
	return !place->start_ns || place->start_ns / TICK_NS == st.start_ticks ? 0 : -ESRCH;
}

static void describe_file(const struct stat *st, struct elf_opened *out)
{
	*out = (struct elf_opened){
		.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
		.mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
			    (uint64_t)st->st_mtim.tv_nsec,
		.ctime_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000u +
			    (uint64_t)st->st_ctim.tv_nsec,
	};
}

/*
 * On overlayfs and btrfs stat() shows another device than /proc/PID/maps, with the same inode
 * (Documentation/filesystems/overlayfs.rst, "Inode properties").
 */
static bool has_other_devices(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == OVERLAYFS_SUPER_MAGIC ||
				     (uint32_t)fs.f_type == BTRFS_SUPER_MAGIC);
}

/* Returns 0, or -ESTALE if it is not the file of the mapping. */
static int check_file(const struct elf_place *place, int fd, const struct stat *st)
{
	uint64_t dev = (uint64_t)major(st->st_dev) << 32 | minor(st->st_dev);

	if (st->st_ino != place->ino)
		return -ESTALE;
	return dev == place->dev || has_other_devices(fd) ? 0 : -ESTALE;
}

/* ---- the mappings of a place's file ---- */

/* A process may have tens of thousands of them. */
#define PIECES_MAX 64

typedef int (*piece_fn)(const struct elf_place *piece, void *out);

struct pieces {
	struct elf_place place;
	piece_fn use;
	void *out;
	int result, tried;
};

static bool is_absent(int err)
{
	return err == -ENOENT || err == -ESTALE;
}

static int use_piece(void *ctx, const struct proc_map *map)
{
	struct pieces *p = ctx;

	if (map->dev != p->place.dev || map->inode != p->place.ino)
		return 0;
	p->place.start = map->start;
	p->place.end = map->end;
	p->result = p->use(&p->place, p->out);
	return !is_absent(p->result) || ++p->tried >= PIECES_MAX;
}

/*
 * Calls use() for the place, and while that returns -ENOENT or -ESTALE, for each other mapping of
 * its file in the process: the place may consist of several mappings, and a process may have
 * changed them since. Code is not required: all of them have the same file.
 */
static int use_pieces(const struct elf_place *place, piece_fn use, void *out)
{
	struct pieces p = { .place = *place, .use = use, .out = out };

	p.result = use(place, out);
	if (is_absent(p.result))
		proc_maps((pid_t)place->tgid, use_piece, &p);
	return p.result;
}

static int open_piece(const struct elf_place *piece, void *out)
{
	/* Without the right to use map_files: not by a path, which others can change meanwhile. */
	const struct proc_map map = { .start = piece->start, .end = piece->end, .path = "" };
	int fd = proc_open_mapped((pid_t)piece->tgid, &map), err;
	struct stat st;

	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!err)
		err = check_file(piece, fd, &st);
	if (err) {
		close(fd);
		return err;
	}
	describe_file(&st, out);
	return fd;
}

int opener_mapped(const struct elf_place *place, struct elf_opened *out)
{
	int err = opener_same_process(place), fd;

	if (err)
		return err;
	fd = use_pieces(place, open_piece, out);
	if (fd < 0)
		return fd;
	err = opener_same_process(place);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* ---- files that are not mapped ---- */

static int take_mapping(void *ctx, const struct proc_map *map)
{
	struct opener_found *f = ctx;

	if (map->start != f->dev)
		return 0;
	f->dev = map->dev;
	f->ino = map->inode;
	return 1;
}

/* stat() may show another device and inode than mappings do: it is mapped here. */
static int describe_mapped(int fd, struct opener_found *out)
{
	void *mem = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (mem == MAP_FAILED)
		return -errno;
	out->dev = (uintptr_t)mem;
	err = proc_maps_file("/proc/self/maps", take_mapping, out);
	munmap(mem, 1);
	return err == 1 ? 0 : err ? err : -ENOENT;
}

static int describe_found(int fd, struct opener_found *found, struct elf_opened *out)
{
	char link[32];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, found->path, sizeof(found->path) - 1);
	if (n < 0 || fstat(fd, &st))
		return -errno;
	found->path[n] = '\0';
	describe_file(&st, out);
	return describe_mapped(fd, found);
}

int opener_paths(const char *paths, size_t bytes, struct opener_found *found,
		 struct elf_opened *out)
{
	const char *end = paths + bytes;
	int fd = -ENOENT, err;

	for (; paths < end && fd < 0; paths += strnlen(paths, (size_t)(end - paths)) + 1)
		if (memchr(paths, '\0', (size_t)(end - paths)))
			fd = open_regular(AT_FDCWD, paths, 0);
	err = fd < 0 ? fd : describe_found(fd, found, out);
	if (fd >= 0 && err)
		close(fd);
	return err ? err : fd;
}

/* ---- separate debug files ---- */

#define BELOW (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)

static int open_root(pid_t tgid)
{
	char path[64] = "/";
	int fd;

	if (tgid)
		snprintf(path, sizeof(path), "/proc/%d/root", tgid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int by_build_id(int root, const struct elf_want_debug *want)
{
	char path[128] = "usr/lib/debug/.build-id/";
	size_t at = strlen(path);
	uint32_t i;

	if (want->id_bytes < 2 || want->id_bytes > sizeof(want->id))
		return -ENOENT;
	for (i = 0; i < want->id_bytes; i++) {
		at += (size_t)snprintf(path + at, sizeof(path) - at, "%02x", want->id[i]);
		if (!i)
			path[at++] = '/';
	}
	snprintf(path + at, sizeof(path) - at, ".debug");
	return open_regular(root, path, BELOW);
}

/* Returns true for a name that leads into no other directory. */
static bool is_plain(const char *name, size_t size)
{
	return memchr(name, '\0', size) && *name && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

static int read_link(const struct elf_place *piece, void *path)
{
	char link[128];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, piece->tgid,
		 piece->start, piece->end);
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	((char *)path)[n] = '\0';
	return 0;
}

/* The directory of a path, without the leading '/'. Returns NULL if it is not absolute. */
static const char *directory_of(char path[PATH_MAX])
{
	char *end = strrchr(path, '/');

	if (*path != '/' || !end)
		return NULL;
	*end = '\0';
	return end == path ? "" : path + 1;
}

static int by_name(int root, const char *dir, const char *name)
{
	static const char *const places[][2] = {
		{ "", "/.debug" }, { "usr/lib/debug/", "" }, { "", "" },
	};
	char path[PATH_MAX + 512];
	int fd = -ENOENT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s%s/%s", places[i][0], dir, places[i][1], name);
		fd = open_regular(root, path, BELOW);
	}
	return fd;
}

static int debug_in(pid_t tgid, const char *dir, const struct elf_want_debug *want)
{
	int root = open_root(tgid), fd;

	if (root < 0)
		return root;
	fd = by_build_id(root, want);
	if (fd < 0 && dir && is_plain(want->name, sizeof(want->name)))
		fd = by_name(root, dir, want->name);
	close(root);
	return fd;
}

int opener_debug(const struct elf_place *place, const char *path,
		 const struct elf_want_debug *want)
{
	char own[PATH_MAX] = "";
	const char *dir = NULL;
	int fd = -ENOENT;

	if (place && !opener_same_process(place)) {
		dir = use_pieces(place, read_link, own) ? NULL : directory_of(own);
		fd = debug_in((pid_t)place->tgid, dir, want);
	} else if (!place && path) {
		snprintf(own, sizeof(own), "%s", path);
		dir = directory_of(own);
	}
	if (fd < 0)
		fd = debug_in(0, dir, want);
	return fd < 0 ? -ENOENT : fd;
}

/* ---- perf maps ---- */

int opener_perf_map(const struct elf_place *place, struct elf_opened *out)
{
	int err = opener_same_process(place), root, fd;
	struct proc_status status;
	char path[64];
	struct stat st;

	if (!err)
		err = proc_status((pid_t)place->tgid, &status);
	if (err)
		return err;
	snprintf(path, sizeof(path), "tmp/perf-%d.map",
		 status.ns_tgid_cnt ? status.ns_tgids[status.ns_tgid_cnt - 1] : (int)place->tgid);
	root = open_root((pid_t)place->tgid);
	if (root < 0)
		return root;
	fd = open_regular(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	close(root);
	if (fd < 0)
		return fd;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && st.st_uid && st.st_uid != status.uid)
		err = -EPERM;
	if (!err && st.st_size > OPENER_PERF_MAP_MAX)
		err = -EFBIG;
	if (err)
		close(fd);
	else
		describe_file(&st, out);
	return err ? err : fd;
}
