// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * discover.c - mapped files to CPython images, with a cache. See discover.h.
 *
 * The interpreter is in the executable itself or in a library named libpython*.
 * One in the executable wins: it may hold a copy relocation of _PyRuntime,
 * which then is the one in use (cpython-facts: symbols and sections).
 */
#include "discover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpython/elf.h"
#include "exes.h"
#include "proc.h"
#include "u64map.h"
#include "util.h"

/* What a file told us; found again by its identity. */
struct known_file {
	struct stat st;
	struct known_file *next;	/* same hash */
	int err;			/* of cpython_image_read() */
	char why[160];
	struct cpython_image image;
	struct elf_file elf;		/* of an image; elf.fd is ours */
};

/* An executable that runs an interpreter, or does not. */
struct known_exe {
	const struct cpython_image *image;	/* NULL: no interpreter, or one we cannot walk */
	struct py_exe exe;
	bool seen;	/* in a process; else which library it loads is a guess */
};

/* More than any host has in use; what comes then is looked at each time it runs. */
#define MAX_EXES_SEEN 65536

struct discovery {
	struct u64map files;		/* hash of identity -> chain of known_file */
	struct u64map exes;		/* exe_key() -> struct known_exe */
	discovery_exe_fn cb;
	void *ctx;
};

/* A mapping worth opening: where a file begins in the process. */
struct candidate {
	struct proc_map map;
	char path[256];
};

#define MAX_CANDIDATES 8

struct look {
	struct candidate found[MAX_CANDIDATES];	/* the executable first; path "": not seen */
	size_t cnt;
	char exe[PATH_MAX];			/* "": not known */
	bool exe_seen;
};

struct discovery *discovery_new(discovery_exe_fn cb, void *ctx)
{
	struct discovery *d = calloc(1, sizeof(*d));

	if (d) {
		d->cb = cb;
		d->ctx = ctx;
	}
	return d;
}

void discovery_free(struct discovery *d)
{
	struct known_file *f, *next;
	struct known_exe *e;
	size_t pos = 0;

	if (!d)
		return;
	while ((e = u64map_next(&d->exes, &pos)))
		free(e);
	u64map_free(&d->exes);
	pos = 0;
	while ((f = u64map_next(&d->files, &pos)))
		for (; f; f = next) {
			next = f->next;
			if (f->image.file)
				close(f->elf.fd);
			free(f);
		}
	u64map_free(&d->files);
	free(d);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Keep an image's file at hand: see cpython_image_mem(). */
static void keep_file(struct known_file *f, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return;
	if (elf_file_open(&f->elf, copy))
		close(copy);
	else
		f->image.file = &f->elf;
}

/* The file behind fd, looked at now or before. NULL: no memory. */
static struct known_file *known_file(struct discovery *d, int fd)
{
	struct known_file *f, *first;
	struct stat st;
	uint64_t key;

	if (fstat(fd, &st))
		return NULL;
	key = hash_u64(st.st_ino ^ hash_u64(st.st_dev));
	first = u64map_get(&d->files, key);
	for (f = first; f; f = f->next)
		if (same_file(&f->st, &st))
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->st = st;
	f->next = first;
	f->err = cpython_image_read(fd, &f->image, f->why, sizeof(f->why));
	if (!f->err)
		keep_file(f, fd);
	if (u64map_put(&d->files, key, f)) {
		free(f);
		return NULL;
	}
	return f;
}

static void keep(struct candidate *c, const struct proc_map *m)
{
	c->map = *m;
	snprintf(c->path, sizeof(c->path), "%s", m->path);
	c->map.path = c->path;
}

/*
 * Keep the beginning of the executable and of every libpython. When nobody can tell
 * what the executable is, it is the first file that is mapped: loaders put it lowest.
 */
static int collect(void *ctx, const struct proc_map *m)
{
	struct look *look = ctx;
	const char *base = strrchr(m->path, '/');

	if (m->offset || m->path[0] != '/')
		return 0;
	if (!look->exe_seen && (!look->exe[0] || !strcmp(m->path, look->exe))) {
		keep(&look->found[0], m);
		look->exe_seen = true;
	} else if (!strncmp(base + 1, "libpython", 9) && look->cnt < MAX_CANDIDATES) {
		keep(&look->found[look->cnt++], m);
	}
	return look->cnt == MAX_CANDIDATES && look->exe_seen;
}

/* The way to walk it, with addresses as in the file: py_proc_relocate(). */
static void fill_proc(struct py_proc *p, const struct cpython_image *img)
{
	*p = (struct py_proc){
		.runtime = img->runtime_vaddr,
		.tss = img->tss_vaddr,
		.interps = img->interps_vaddr,
		.current = img->current_vaddr,
		.collecting = img->collecting_vaddr,
		.none = img->none_vaddr,
		.epoch = img->epoch_vaddr,
		.tls_index = img->tls_index_vaddr,
		.tls_off = img->tls_off,
		.tss_key = -1,
		.state = PY_PROC_PYTHON,
		.tstate_how = img->tstate_how,
		.l = img->layout,
	};
}

/* ---- executables ---- */

static struct known_exe *exe_entry(struct discovery *d, uint64_t key)
{
	struct known_exe *e = u64map_get(&d->exes, key);

	if (e || d->exes.cnt >= MAX_EXES_SEEN)
		return e;
	e = calloc(1, sizeof(*e));
	if (e && u64map_put(&d->exes, key, e)) {
		free(e);
		e = NULL;
	}
	return e;
}

/* Remember what an executable runs: image, in lib_fd if that is not -1; NULL: nothing. */
static void remember_exe(struct discovery *d, uint64_t key, int exe_fd, int lib_fd,
			 const struct cpython_image *image, bool seen)
{
	struct known_exe *e = exe_entry(d, key);
	struct py_proc proc;
	struct py_exe exe;

	if (!e || !image || e->seen || (e->image && !seen))
		return;
	fill_proc(&proc, image);
	e->seen = seen;
	if (exe_describe(exe_fd, lib_fd, &proc, &exe))
		return;
	e->image = image;
	e->exe = exe;
	if (d->cb)
		d->cb(d->ctx, key, &e->exe);
}

/* An executable by itself: the interpreter in it, or in the library it will load. */
static void learn_file(struct discovery *d, int fd, const char *path)
{
	const struct known_file *f;
	uint64_t key;
	int lib;

	if (exe_key_of(fd, &key) || u64map_get(&d->exes, key))
		return;
	f = known_file(d, fd);
	if (!f)
		return;
	if (!f->err) {
		remember_exe(d, key, fd, -1, &f->image, true);
		return;
	}
	lib = exe_open_library(fd, path);
	f = lib >= 0 ? known_file(d, lib) : NULL;
	remember_exe(d, key, fd, lib, f && !f->err ? &f->image : NULL, false);
	if (lib >= 0)
		close(lib);
}

void discovery_learn(struct discovery *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	learn_file(d, fd, path);
	close(fd);
}

static void learn_likely(void *ctx, const char *path)
{
	discovery_learn(ctx, path);
}

void discovery_learn_likely(struct discovery *d)
{
	exe_each_likely(learn_likely, d);
}

void discovery_learn_process(struct discovery *d, pid_t tgid, uint64_t key)
{
	char link[64], path[PATH_MAX];
	int fd;

	if (!key || u64map_get(&d->exes, key))
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", tgid);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (proc_exe(tgid, path, sizeof(path)))
		path[0] = '\0';
	learn_file(d, fd, path);
	close(fd);
}

const struct cpython_image *discovery_exe(struct discovery *d, uint64_t key,
					  const struct py_exe **exe)
{
	const struct known_exe *e = u64map_get(&d->exes, key);

	if (!e || !e->image)
		return NULL;
	*exe = &e->exe;
	return e->image;
}

/* What a process really has loaded is better than a guess. */
static void remember_process(struct discovery *d, pid_t tgid, int fd, bool is_library,
			     const struct cpython_image *image)
{
	char link[64];
	uint64_t key;
	int exe;

	snprintf(link, sizeof(link), "/proc/%d/exe", tgid);
	exe = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (exe < 0)
		return;
	if (!exe_key_of(exe, &key))
		remember_exe(d, key, exe, is_library ? fd : -1, image, true);
	close(exe);
}

int discovery_look(struct discovery *d, pid_t tgid, const struct cpython_image **image,
		   struct py_proc *proc, char *why, size_t why_size)
{
	struct look look = { .cnt = 1 };
	int err, result = -ENOENT;
	size_t i;

	if (proc_exe(tgid, look.exe, sizeof(look.exe)))
		look.exe[0] = '\0';
	err = proc_maps(tgid, collect, &look);
	snprintf(why, why_size, "%s", strerror(-err));
	if (err < 0)
		return err;
	for (i = 0; i < look.cnt; i++) {
		struct candidate *c = &look.found[i];
		struct known_file *f;
		int fd;

		if (!c->path[0])
			continue;
		fd = proc_open_mapped(tgid, &c->map);
		if (fd < 0)
			continue;
		f = known_file(d, fd);
		if (f && !f->err)
			remember_process(d, tgid, fd, i, &f->image);
		close(fd);
		if (!f)
			return -ENOMEM;
		if (!f->err) {
			struct py_proc file;

			fill_proc(&file, &f->image);
			*proc = file;
			py_proc_relocate(proc, &file, c->map.start - f->image.first_load_vaddr);
			*image = &f->image;
			return 0;
		}
		if (f->err == -ENOTSUP && result == -ENOENT) {
			snprintf(why, why_size, "%s", f->why);
			result = f->err;
		}
	}
	return result;
}
