// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* exe_learn.c - see exe_learn.h. */
#include "target/exe_learn.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/library_search.h"
#include "host/regular.h"
#include "target/parser.h"

/* ---- executables ---- */

/* exe_key() of an open file. 0 or -errno. */
static int exe_key_of(int fd, uint64_t *key)
{
	uint64_t head[EXE_HEAD / 8] = { 0 };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/*
	 * If the file is shorter, the kernel's buffer is zero behind its end (fs/exec.c,
	 * prepare_binprm()).
	 */
	if (pread(fd, head, sizeof(head), 0) < 0)
		return -errno;
	*key = exe_key(st.st_ino, (uint64_t)st.st_size, head);
	return 0;
}

/*
 * What the kernel says of an open file, as far as stat(2) tells: the device is another one below an
 * overlay of several file systems. 0 or -errno.
 */
static int exe_file_of(int fd, struct exe_file *out)
{
	struct statfs fs;
	struct stat st;
	bool subvolumes;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return -errno;
	subvolumes = (uint32_t)fs.f_type == EXE_FS_BTRFS || (uint32_t)fs.f_type == EXE_FS_BCACHEFS;
	*out = (struct exe_file){
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.ctime_s = st.st_ctim.tv_sec,
		.ctime_ns = (uint32_t)st.st_ctim.tv_nsec,
		.dev = subvolumes ? 0 : EXE_DEV(major(st.st_dev), minor(st.st_dev)),
	};
	return 0;
}

/* ---- libraries ---- */

static int open_candidate(void *ctx, const char *path)
{
	return open_regular(AT_FDCWD, path, 0);
}

static int find_library(const struct exe_library *wanted, const char *path)
{
	int lib = library_search(wanted->runpath, path, wanted->name, open_candidate, NULL);

	return lib < 0 ? -ENOENT : lib;
}

/*
 * Open the libpython that the executable behind fd, at path, will most likely load. Returns
 * a file descriptor for the caller to close; -ENOENT: it needs none (*needed is false then), or
 * none was found; other -errno. A wrong guess is detected in the process (struct py_exe, id).
 */
static int exe_open_library(int fd, const char *path, bool *needed)
{
	struct exe_library wanted;
	int err = parser_library(fd, &wanted);

	*needed = err != -ENOENT;
	return err ? err : find_library(&wanted, path);
}

/* ---- likely interpreters ---- */

/* Matches python, python3, python3.11, python3.13t and python3.11-dbg, but not pypy. */
static bool is_likely_name(const char *path)
{
	static const char prefix[] = "python";
	const char *base = strrchr(path, '/'), *p;

	base = base ? base + 1 : path;
	if (strncmp(base, prefix, sizeof(prefix) - 1))
		return false;
	p = base + sizeof(prefix) - 1;
	p += strspn(p, "0123456789.");
	p += strspn(p, "tdmu");
	return !*p || !strcmp(p, "-dbg");
}

struct likely {
	void (*cb)(void *ctx, const char *path);
	void *ctx;
	dev_t dev[256];		/* files seen so far: python3 is mostly a link to python3.X */
	ino_t ino[256];
	size_t cnt;
};

static void offer(struct likely *l, const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	size_t i;

	if (!is_likely_name(path) || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & 0111) || l->cnt == ARRAY_SIZE(l->dev))
		return;
	for (i = 0; i < l->cnt; i++)
		if (l->dev[i] == st.st_dev && l->ino[i] == st.st_ino)
			return;
	l->dev[l->cnt] = st.st_dev;
	l->ino[l->cnt++] = st.st_ino;
	if (realpath(path, real))	/* $ORIGIN is the directory of the file, not of a link */
		l->cb(l->ctx, real);
}

static void offer_matches(struct likely *l, const char *pattern)
{
	glob_t found;
	size_t i;

	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		offer(l, found.gl_pathv[i]);
	globfree(&found);
}

/* In a directory of another user are files that only he trusts. */
static bool is_ours(const char *dir, size_t len)
{
	char path[PATH_MAX];
	struct stat st;

	return (size_t)snprintf(path, sizeof(path), "%.*s", (int)len, dir) < sizeof(path) &&
	       !stat(path, &st) && (st.st_uid == 0 || st.st_uid == geteuid());
}

static void offer_path(struct likely *l)
{
	const char *path = getenv("PATH"), *end;
	char pattern[PATH_MAX];
	size_t len;

	for (; path && *path; path = *end ? end + 1 : end) {
		len = strcspn(path, ":");
		end = path + len;
		if (*path == '/' && is_ours(path, len) &&
		    (size_t)snprintf(pattern, sizeof(pattern), "%.*s/python*", (int)len, path) <
			    sizeof(pattern))
			offer_matches(l, pattern);
	}
}

/*
 * Call cb for every file in PATH and in common directories whose name is that of an interpreter,
 * except for directories of other users.
 */
static void exe_each_likely(void (*cb)(void *ctx, const char *path), void *ctx)
{
	/* Not in users' homes: what runs there tells. */
	static const char *const patterns[] = {
		"/usr/bin/python*", "/usr/local/bin/python*", "/bin/python*",
		"/opt/*/bin/python*",
		"/opt/*/*/bin/python*",			/* conda environments, pyenv in /opt */
		"/usr/local/*/bin/python*",
	};
	struct likely *l = calloc(1, sizeof(*l));
	size_t i;

	if (!l)
		return;
	l->cb = cb;
	l->ctx = ctx;
	offer_path(l);
	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		offer_matches(l, patterns[i]);
	free(l);
}

/* ---- what an executable runs ---- */

/* Describe a process of the executable that runs this CPython. lib_fd: as of parser_describe(). */
static int describe_exe(int exe_fd, int lib_fd, const struct cpython_image *image,
			const struct file_id *file, const struct py_proc *of,
			struct learned_exe *out)
{
	struct py_proc proc;
	int err;

	/* Only a process shows which C library matters. */
	if (image->needs_self && !of)
		return -ENOENT;
	py_proc_of_image(image, &proc);
	proc.self_below = of ? of->self_below : 0;
	err = parser_describe(exe_fd, lib_fd, &proc, &out->exe);
	out->runs_python = !err;
	out->image = *image;
	out->file = *file;
	return err;
}

/* The executable contains no CPython: look for one in a library that it will load. */
static int learn_library(struct file_cache *c, int fd, const char *path, struct learned_exe *out)
{
	const struct cpython_image *image;
	struct file_id file;
	bool needed;
	int lib = exe_open_library(fd, path, &needed), err;

	out->other = !needed;
	if (lib < 0)
		return lib == -EBUSY ? lib : 0;
	err = file_cache_image(c, lib, &image, &file);
	if (!err)
		describe_exe(fd, lib, image, &file, NULL, out);
	close(lib);
	return err == -ENOENT ? 0 : err;
}

/*
 * An executable that does not run, or has just begun: the interpreter is in it, or in the library
 * that it will load.
 */
static int learn_file(struct file_cache *c, int fd, const char *path, struct learned_exe *out)
{
	const struct cpython_image *image;
	struct file_id file;
	int err = exe_key_of(fd, &out->key);

	if (!err)
		err = exe_file_of(fd, &out->itself);
	if (err)
		return err;
	err = file_cache_image(c, fd, &image, &file);
	if (!err) {
		out->seen = true;
		describe_exe(fd, -1, image, &file, NULL, out);
	}
	return err == -ENOENT ? learn_library(c, fd, path, out) : err;
}

static int open_exe(pid_t task)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/exe", task);
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);	/* programs are regular files */
}

int exe_learn_process(struct file_cache *c, pid_t tgid, struct learned_exe *out)
{
	int fd = open_exe(proc_living_task(tgid)), err;
	char path[PATH_MAX];

	*out = (struct learned_exe){ .key = 0 };
	if (fd < 0)
		return -errno;
	if (proc_exe(tgid, path, sizeof(path)))
		path[0] = '\0';
	err = learn_file(c, fd, path, out);
	close(fd);
	return err;
}

int exe_learn_seen(struct file_cache *c, const struct proc_info *who, const struct file_id *file,
		   const struct py_proc *proc, struct learned_exe *out)
{
	int fd = open_exe(who->task), lib = file_cache_fd(c, file, who->tgid), err;
	const struct cpython_image *image;
	struct file_id its;
	struct stat st;

	*out = (struct learned_exe){ .seen = true };
	if (fd < 0)
		return -errno;
	err = exe_key_of(fd, &out->key);
	if (!err)
		err = exe_file_of(fd, &out->itself);
	if (!err && lib >= 0 && !fstat(fd, &st) && !file_cache_image(c, lib, &image, &its))
		describe_exe(fd, st.st_dev == its.dev && st.st_ino == its.ino ? -1 : lib, image,
			     &its, proc, out);
	close(fd);
	return err;
}

/* The executable at path, which does not run. 0 or -errno. */
static int exe_learn_file(struct file_cache *c, const char *path, struct learned_exe *out)
{
	int fd = open_regular(AT_FDCWD, path, 0), err;

	*out = (struct learned_exe){ .key = 0 };
	if (fd < 0)
		return -ENOENT;
	err = learn_file(c, fd, path, out);
	close(fd);
	return err;
}

struct likely_exes {
	struct file_cache *cache;
	struct learned_exe *out;
	size_t cnt, max;
};

static void learn_likely(void *ctx, const char *path)
{
	struct likely_exes *l = ctx;

	if (l->cnt < l->max && !exe_learn_file(l->cache, path, &l->out[l->cnt]))
		l->cnt++;
}

size_t exe_learn_likely(struct file_cache *c, struct learned_exe *out, size_t max)
{
	struct likely_exes l = { c, out, 0, max };

	exe_each_likely(learn_likely, &l);
	return l.cnt;
}
