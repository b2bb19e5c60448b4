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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpython/libc.h"
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
	bool self_read;			/* as a C library: */
	int self_err;			/* of libc_self_below() */
	uint16_t self_below;
};

struct discovery {
	struct u64map files;		/* hash of identity -> chain of known_file */
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
	struct candidate libc;			/* path "": not seen */
	char exe[PATH_MAX];			/* "": not known */
	bool exe_seen;
};

struct discovery *discovery_new(void)
{
	return calloc(1, sizeof(struct discovery));
}

void discovery_free(struct discovery *d)
{
	struct known_file *f, *next;
	size_t pos = 0;

	if (!d)
		return;
	while ((f = u64map_next(&d->files, &pos)))
		for (; f; f = next) {
			next = f->next;
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

/* The file behind fd, looked at as a CPython now or before. NULL: no memory. */
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
	} else if (!look->libc.path[0] && libc_is_name(base + 1)) {
		keep(&look->libc, m);
	}
	return 0;
}

static void fill_proc(struct py_proc *p, const struct cpython_image *img, uint64_t bias)
{
	*p = (struct py_proc){
		.runtime = img->runtime_vaddr + bias,
		.none = img->none_vaddr ? img->none_vaddr + bias : 0,
		.epoch = img->epoch_vaddr ? img->epoch_vaddr + bias : 0,
		.tls_index = img->tls_index_vaddr ? img->tls_index_vaddr + bias : 0,
		.tls_off = img->tls_off,
		.tss_key = -1,
		.state = PY_PROC_PYTHON,
		.tstate_how = img->tstate_how,
		.l = img->layout,
	};
}

/*
 * How far below the thread pointer pthread_self() is: asks the C library, or the program
 * itself if it has one in it. One that is not mapped yet may still come.
 */
static int find_self(struct discovery *d, pid_t tgid, struct look *look, struct py_proc *proc,
		     char *why, size_t why_size)
{
	bool seen = look->libc.path[0];
	struct candidate *c = seen ? &look->libc : &look->found[0];
	int fd = c->path[0] ? proc_open_mapped(tgid, &c->map) : -ENOENT;
	struct known_file *f;

	snprintf(why, why_size, seen ? "its C library has no pthread_self() of a known kind" :
				       "it has no C library that is known (yet)");
	if (fd < 0)
		return -EAGAIN;
	f = known_file(d, fd);
	if (f && !f->self_read) {
		f->self_err = libc_self_below(fd, &f->self_below);
		f->self_read = true;
	}
	close(fd);
	if (!f)
		return -ENOMEM;
	proc->self_below = f->self_below;
	if (!f->self_err)
		return 0;
	return seen ? -ENOTSUP : -EAGAIN;
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
		close(fd);
		if (!f)
			return -ENOMEM;
		if (!f->err) {
			fill_proc(proc, &f->image, c->map.start - f->image.first_load_vaddr);
			*image = &f->image;
			return f->image.needs_self ?
				       find_self(d, tgid, &look, proc, why, why_size) : 0;
		}
		if (f->err == -ENOTSUP && result == -ENOENT) {
			snprintf(why, why_size, "%s", f->why);
			result = f->err;
		}
	}
	return result;
}
