// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * discover.c - finds the CPython in a process' mapped files, and caches what it finds. See
 * discover.h.
 *
 * The interpreter is in the executable, in a library named libpython*, or in any other file
 * that is mapped executable (a plug-in, a program that was started through ld.so); files
 * are inspected in this order. File names have no other influence.
 */
#include "target/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/util.h"
#include "cpython/libc.h"
#include "elf/elf.h"
#include "host/proc.h"
#include "host/remote_mem.h"
#include "target/mapped_files.h"

/* What was found in a file. Files are identified by what stat() shows. */
struct known_file {
	struct stat st;
	struct known_file *next;	/* next file with the same hash */
	int err;			/* of cpython_image_read() */
	char why[DISCOVERY_WHY_MAX];
	struct cpython_image image;
	struct elf_file elf;		/* of an image; the cache owns elf.fd */
	bool self_read;			/* libc_self_below() was tried: */
	int self_err;			/* its result */
	uint16_t self_below;
};

#define FOUND_MAX 8

struct found {
	const struct cpython_image *image;
	struct py_proc proc;
	const struct mapped *file;
	enum ready ready;
};

/* The process that is being inspected. */
struct inspection {
	pid_t tgid;
	struct mapped_files mapped;
	struct found found[FOUND_MAX];
	size_t found_cnt;
	uint64_t runtime_copy, none_copy;	/* the executable's copies; 0: none */
	bool missed;			/* a file could not be opened, so its content is unknown */
	int err;			/* -ENOENT, or -ENOTSUP with a reason in out->why */
	char *why;
};

/*
 * All users can create files. When there are too many files without CPython, they are all
 * forgotten and will be inspected again. CPythons are kept, because processes refer to
 * them; their number is bounded, and so is the number of open ones.
 */
#define OTHERS_MAX 16384
#define IMAGES_MAX 8192
#define IMAGES_OPEN_MAX 1024

struct discovery {
	struct u64map files;		/* hash of identity -> chain of known_file */
	size_t other_cnt, image_cnt;	/* numbers of files without and with a CPython */
	struct inspection cur;		/* too large for the stack */
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
			if (f->image.file)
				close(f->elf.fd);
			free(f);
		}
	u64map_free(&d->files);
	free(d);
}

/* ---- files ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static uint64_t file_key(const struct stat *st)
{
	return hash_u64(st->st_ino ^ hash_u64(st->st_dev));
}

static struct known_file *find_known(struct discovery *d, const struct stat *st, uint64_t *key)
{
	struct known_file *f;

	*key = file_key(st);
	for (f = u64map_get(&d->files, *key); f; f = f->next)
		if (same_file(&f->st, st))
			return f;
	return NULL;
}

/* Keep an image's file open for cpython_image_mem(). */
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

/* The images of a chain; the other files are freed. */
static struct known_file *only_images(struct known_file *f)
{
	struct known_file *kept = NULL, *next;

	for (; f; f = next) {
		next = f->next;
		if (f->err) {
			free(f);
			continue;
		}
		f->next = kept;
		kept = f;
	}
	return kept;
}

static int forget_others(struct discovery *d)
{
	struct u64map images = { .cnt = 0 };
	struct known_file *f;
	size_t pos = 0;
	int err = 0;

	while ((f = u64map_next(&d->files, &pos))) {
		uint64_t key = file_key(&f->st);

		f = only_images(f);
		if (f && !err)
			err = u64map_put(&images, key, f);
	}
	u64map_free(&d->files);
	d->files = images;
	d->other_cnt = 0;
	return err;
}

/* Inspect a file that is not in the cache. NULL: no memory. */
static struct known_file *read_new(struct discovery *d, int fd, const struct stat *st,
				   uint64_t key)
{
	struct known_file *f;

	if (d->other_cnt >= OTHERS_MAX && forget_others(d))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->st = *st;
	f->next = u64map_get(&d->files, key);
	f->err = cpython_image_read(fd, &f->image, f->why, sizeof(f->why));
	if (!f->err && d->image_cnt >= IMAGES_MAX) {
		f->err = -ENOTSUP;
		snprintf(f->why, sizeof(f->why), "more than %d different CPythons have been seen",
			 IMAGES_MAX);
	}
	if (!f->err && d->image_cnt < IMAGES_OPEN_MAX)
		keep_file(f, fd);
	d->image_cnt += !f->err;
	d->other_cnt += !!f->err;
	if (u64map_put(&d->files, key, f)) {
		free(f);
		return NULL;
	}
	return f;
}

/* The cache's entry for an open file. NULL with errno. */
static struct known_file *open_file(struct discovery *d, int fd)
{
	struct known_file *f;
	struct stat st;
	uint64_t key;

	if (fstat(fd, &st))
		return NULL;
	f = find_known(d, &st, &key);
	if (!f && !(f = read_new(d, fd, &st, key)))
		errno = ENOMEM;
	return f;
}

/* The cache's entry for the file of a mapping. NULL with errno. */
static struct known_file *known_file(struct discovery *d, const struct mapped *m)
{
	struct known_file *f;
	struct stat st;
	uint64_t key;
	int fd;

	if (!proc_stat_mapped(d->cur.tgid, &m->map, &st) && (f = find_known(d, &st, &key)))
		return f;
	fd = proc_open_mapped(d->cur.tgid, &m->map);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	f = open_file(d, fd);
	close(fd);
	return f;
}

const struct cpython_image *discovery_image(struct discovery *d, int fd)
{
	const struct known_file *f = open_file(d, fd);

	return f && !f->err ? &f->image : NULL;
}

/* ---- what is in the mapped files ---- */

void discovery_proc(const struct cpython_image *img, struct py_proc *p)
{
	*p = (struct py_proc){
		.runtime = img->runtime_vaddr,
		.tss = img->tss_vaddr,
		.interps = img->interps_vaddr,
		.current = img->current_vaddr,
		.collecting = img->collecting_vaddr,
		.gil = img->gil_vaddr,
		.main_id = img->main_id_vaddr,
		.none = img->none_vaddr,
		.epoch = img->epoch_vaddr,
		.tls_index = img->tls_index_vaddr,
		.tls_off = img->tls_off,
		.tss_key = -1,
		.state = PY_PROC_PYTHON,
		.tstate_how = img->tstate_how,
		.l = img->layout,
	};
	if (!p->none && img->minor >= 13)
		p->none = PY_NONE_NOWHERE;
}

/* The runtime has another address than in the image: move all that is part of it. */
static void move_runtime(struct py_proc *p, uint64_t to)
{
	uint64_t by = to - p->runtime;

	p->runtime += by;
	p->tss += p->tss ? by : 0;
	p->interps += p->interps ? by : 0;
	p->current += p->current ? by : 0;
	p->collecting += p->collecting ? by : 0;
	p->main_id += p->main_id ? by : 0;
}

/*
 * Has this CPython an interpreter: is the runtime's list of interpreters not empty? READY_YES and
 * READY_NO are certain: the list was read, or is not mapped.
 */
static enum ready is_initialised(pid_t tgid, const struct py_proc *p)
{
	uint64_t head = 0;
	int err = remote_mem_read((void *)(intptr_t)tgid, p->interps, &head, sizeof(head));

	if (err)
		return err == -EFAULT ? READY_NO : err == -EBUSY ? READY_BUSY : READY_UNKNOWN;
	return head ? READY_YES : READY_NO;
}

static void add_found(struct inspection *cur, const struct cpython_image *img,
		      const struct mapped *m, uint64_t bias)
{
	struct found *f = &cur->found[cur->found_cnt];
	struct py_proc file;

	if (cur->found_cnt == FOUND_MAX)
		return;
	f->image = img;
	f->file = m;
	discovery_proc(img, &file);
	f->proc = file;
	py_proc_relocate(&f->proc, &file, bias);
	if (cur->runtime_copy)
		move_runtime(&f->proc, cur->runtime_copy);
	if (cur->none_copy)
		f->proc.none = cur->none_copy;
	f->ready = is_initialised(cur->tgid, &f->proc);
	cur->found_cnt++;
}

/* Keep the reason if a file is a Python that is not supported. */
static void keep_refusal(struct inspection *cur, const struct known_file *f, const struct mapped *m)
{
	/* The content of a 32-bit program is unknown; one that is named python counts as Python. */
	bool python = f->err == -ENOTSUP ||
		      (f->err == -ENOEXEC && m->python);

	if (!python || cur->err != -ENOENT)
		return;
	snprintf(cur->why, DISCOVERY_WHY_MAX, "%s", f->why);
	cur->err = -ENOTSUP;
}

/* Inspect one mapped file. 0, or -ENOMEM. */
static int inspect_file(struct discovery *d, const struct mapped *m)
{
	struct inspection *cur = &d->cur;
	struct known_file *f = known_file(d, m);
	uint64_t bias;

	if (!f) {
		cur->missed |= errno != EINVAL;	/* -EINVAL: a device */
		return errno == ENOMEM ? -ENOMEM : 0;
	}
	bias = m->map.start - f->image.first_load_vaddr;
	if (!f->err) {
		add_found(cur, &f->image, m, bias);
	} else if (f->err == -EXDEV) {
		cur->runtime_copy = f->image.runtime_vaddr ? f->image.runtime_vaddr + bias : 0;
		cur->none_copy = f->image.none_vaddr ? f->image.none_vaddr + bias : 0;
	} else {
		keep_refusal(cur, f, m);
	}
	return 0;
}

/*
 * Inspect the executable, then libraries named libpython, and if there is no CPython, all
 * other code.
 */
static int inspect_files(struct discovery *d)
{
	struct inspection *cur = &d->cur;
	struct mapped_files *m = &cur->mapped;
	size_t i;
	int err = 0;

	if (m->exe_at != MAPPED_NOWHERE)
		err = inspect_file(d, &m->files[m->exe_at]);
	for (i = 0; !err && i < m->cnt; i++)
		if (i != m->exe_at && m->files[i].libpython &&
		    !mapped_files_is_other_view(m, &m->files[i]))
			err = inspect_file(d, &m->files[i]);
	if (cur->found_cnt || cur->err != -ENOENT)
		return err;
	for (i = 0; !err && i < m->cnt; i++)
		if (i != m->exe_at && m->files[i].code && !m->files[i].libpython)
			err = inspect_file(d, &m->files[i]);
	return err;
}

static void describe_other(const struct found *taken, const struct found *other, char *out)
{
	char path[4 * sizeof(other->file->path)];
	const char *base = strrchr(other->file->path, '/') + 1;

	snprintf(out, DISCOVERY_WHY_MAX, "a second CPython in it (%s in %.100s) runs, too; only "
		 "%s is profiled", other->image->version,
		 escape_text(base, strlen(base), path, sizeof(path)), taken->image->version);
}

/* The runtime that is walked now stays, unless it is certainly not initialised. */
static int rank(const struct found *f, uint64_t prefer)
{
	if (f->proc.runtime == prefer && f->ready != READY_NO)
		return 3;
	return f->ready == READY_YES ? 2 : f->ready != READY_NO;
}

/*
 * Of several CPythons, choose the preferred one or the first that is initialised; if none
 * is, the first one.
 */
static void choose(const struct inspection *cur, uint64_t prefer, struct discovered *out)
{
	const struct found *taken = &cur->found[0], *f;
	size_t i;

	for (i = 1; i < cur->found_cnt; i++) {
		f = &cur->found[i];
		if (rank(f, prefer) > rank(taken, prefer))
			taken = f;
	}
	out->also[0] = '\0';
	for (i = 0; i < cur->found_cnt && !out->also[0]; i++) {
		f = &cur->found[i];
		if (f->ready == READY_YES && f->proc.runtime != taken->proc.runtime)
			describe_other(taken, f, out->also);
	}
	out->image = taken->image;
	out->proc = taken->proc;
	out->ready = taken->ready;
	out->several = cur->found_cnt > 1;
	out->copied = cur->runtime_copy || cur->none_copy;
}

/* The C library; or the executable, if it is linked statically or will map one. */
static const struct mapped *find_libc(const struct mapped_files *m, bool *seen)
{
	size_t at = m->libc_at != MAPPED_NOWHERE ? m->libc_at : m->exe_at;

	*seen = m->libc_at != MAPPED_NOWHERE;
	return at != MAPPED_NOWHERE ? &m->files[at] : NULL;
}

static int read_self(struct discovery *d, const struct mapped *m, struct known_file *f)
{
	int fd;

	if (f->self_read)
		return 0;
	fd = proc_open_mapped(d->cur.tgid, &m->map);
	if (fd < 0)
		return -EAGAIN;
	f->self_err = libc_self_below(fd, &f->self_below);
	f->self_read = true;
	close(fd);
	return 0;
}

/*
 * Find the distance of pthread_self() below the thread pointer. -EAGAIN: the C library may
 * still be mapped later.
 */
static int find_self(struct discovery *d, struct discovered *out)
{
	bool seen;
	const struct mapped *m = find_libc(&d->cur.mapped, &seen);
	const struct elf_file *file = out->image->file;
	bool will_come = !seen && file && (file->dyn.needs_glibc || file->dyn.needs_musl);
	struct known_file *f = m ? known_file(d, m) : NULL;

	snprintf(out->why, sizeof(out->why), seen || !will_come ?
		 "its C library has no pthread_self() of a known kind" :
		 "it has no C library that is known (yet)");
	if (!f)
		return m && errno == ENOMEM ? -ENOMEM : -EAGAIN;
	if (read_self(d, m, f))
		return -EAGAIN;
	out->proc.self_below = f->self_below;
	if (!f->self_err)
		return 0;
	return will_come ? -EAGAIN : -ENOTSUP;
}

/* Forget the last process. */
static void begin(struct inspection *cur, pid_t tgid, char *why)
{
	cur->tgid = tgid;
	cur->found_cnt = 0;
	cur->runtime_copy = cur->none_copy = 0;
	cur->missed = false;
	cur->err = -ENOENT;
	cur->why = why;
}

/* No Python was found. */
static int say_none(const struct inspection *cur, struct discovered *out, uint64_t *files)
{
	/* A file could not be opened: the next inspection must try again. */
	if (cur->missed)
		*files = 0;
	if (!cur->mapped.cut || cur->err != -ENOENT)
		return cur->err;
	snprintf(out->why, sizeof(out->why), "no Python is in the first %d MiB of its list of "
		 "mappings, and no more of it is read", PROC_MAPS_BYTES_MAX >> 20);
	return -ENOTSUP;
}

int discovery_inspect(struct discovery *d, const struct proc_info *who, uint64_t *files,
		      uint64_t prefer, struct discovered *out)
{
	struct inspection *cur = &d->cur;
	uint64_t before = *files;
	int err;

	begin(cur, who->task, out->why);
	err = mapped_files_read(&cur->mapped, cur->tgid);
	snprintf(out->why, sizeof(out->why), "%s", strerror(-err));
	if (err)
		return err;
	*files = cur->mapped.hash;
	if (before == cur->mapped.hash)
		return -EALREADY;
	err = inspect_files(d);
	if (err)
		return err;
	if (!cur->found_cnt)
		return say_none(cur, out, files);
	choose(cur, prefer, out);
	return out->image->needs_self ? find_self(d, out) : 0;
}
