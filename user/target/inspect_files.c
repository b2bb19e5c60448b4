// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * inspect_files.c - finds the CPythons in a process' mapped files, and caches the results. See
 * inspect_files.h.
 *
 * The interpreter is in the executable, in a library named libpython*, or in any other file that is
 * mapped executable (a plug-in, a program that was started through ld.so); files are inspected in
 * this order. File names have no other influence.
 */
#include "target/inspect_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lru.h"
#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "cpython/libc.h"
#include "host/proc.h"
#include "target/mapped_files.h"
#include "target/parser.h"

/* What was found in a file. Files are identified by what stat() shows. */
struct known_file {
	struct file_id id;
	struct known_file *next;	/* next file with the same hash */
	int err;			/* of cpython_image_read() */
	char why[INSPECT_WHY_MAX];
	struct cpython_image image;
	struct lru_item lru;		/* in others or in images */
	struct lru_item open;		/* if fd is kept */
	int fd;				/* of an image, for inspected_mem(); -1: not kept */
	bool self_read;			/* libc_self_below() was called: */
	int self_err;			/* its result */
	uint16_t self_below;
	bool tls_read;			/* parser_thread_ctx() was called: */
	int tls_err;			/* its result */
	struct elf_tls tls;
	bool tasks_read;		/* parser_async() was called: */
	int tasks_err;			/* its result */
	struct async_tasks_layout tasks;
};

/* The process that is being inspected. */
struct inspection {
	pid_t tgid;
	struct mapped_files mapped;
	uint64_t runtime_copy, none_copy;	/* addresses of the executable's copies; 0: none */
	bool missed;			/* a file could not be opened, so its content is unknown */
	int err;			/* -ENOENT, or -ENOTSUP with a reason in out->why */
	struct inspected *out;
};

/* All users can create files: limits in total, and for one user. A file takes about 1 KB. */
#ifndef FILES_MAX
#define FILES_MAX 16384		/* without and with a CPython */
#define IMAGES_MAX 2048
#define IMAGES_OPEN_MAX 1024
#endif
#define FILES_OF_USER (FILES_MAX / 4)	/* one process may map 4,160 relevant files */
#define IMAGES_OF_USER (IMAGES_MAX / 8)
#define IMAGES_OPEN_OF_USER (IMAGES_OPEN_MAX / 8)
/* More than one inspection has open at a time; with a low limit, fewer images are kept. */
#define DESCRIPTORS_LEFT 16

struct file_cache {
	struct u64map files;		/* hash of identity -> chain of known_file */
	struct lru others, images;	/* files without and with a CPython */
	struct lru open;		/* images with a descriptor */
	uint32_t owner;			/* user of files that are added now, */
	pid_t owner_of;			/* unless it is this process' user; 0: no process */
	struct inspection cur;		/* too large for the stack */
};

/* ---- files ---- */

static struct file_id id_of(const struct stat *st)
{
	return (struct file_id){
		.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
		.mtime_s = st->st_mtim.tv_sec, .mtime_ns = st->st_mtim.tv_nsec,
	};
}

static bool same_file(const struct file_id *a, const struct file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

static uint64_t file_key(const struct file_id *id)
{
	return hash_u64(id->ino ^ hash_u64(id->dev));
}

static struct lru *list_of(struct file_cache *c, const struct known_file *f)
{
	return f->err ? &c->others : &c->images;
}

static struct known_file *find_known(struct file_cache *c, const struct file_id *id)
{
	struct known_file *f = u64map_get(&c->files, file_key(id));

	while (f && !same_file(&f->id, id))
		f = f->next;
	if (!f)
		return NULL;
	lru_use(list_of(c, f), &f->lru);
	lru_use(&c->open, &f->open);
	return f;
}

static void close_kept(struct file_cache *c, struct known_file *f)
{
	if (!f || f->fd < 0)
		return;
	lru_remove(&c->open, &f->open);
	close(f->fd);
	f->fd = -1;
}

/* Take the file out of its chain. */
static void unchain_file(struct file_cache *c, struct known_file *gone)
{
	uint64_t key = file_key(&gone->id);
	struct known_file *first = u64map_get(&c->files, key), *f;

	if (first != gone) {
		for (f = first; f->next != gone; f = f->next)
			;
		f->next = gone->next;
		return;
	}
	u64map_remove(&c->files, key);
	if (gone->next)		/* a key was removed, so adding cannot fail */
		u64map_put(&c->files, key, gone->next);
}

static void forget_file(struct file_cache *c, struct known_file *f)
{
	if (!f)
		return;
	close_kept(c, f);
	unchain_file(c, f);
	lru_remove(list_of(c, f), &f->lru);
	free(f);
}

/* Returns true if enough descriptors are free for the next files; the lowest are used first. */
static bool leaves_descriptors(int fd)
{
	int spare = fcntl(fd, F_DUPFD_CLOEXEC, fd + DESCRIPTORS_LEFT);

	if (spare >= 0)
		close(spare);
	return spare >= 0;
}

/* The user of files that are added now. */
static uint32_t owner_to_blame(struct file_cache *c)
{
	uint32_t uid;

	if (c->owner_of)
		c->owner = proc_euid(c->owner_of, &uid) ? LRU_OWNER_UNKNOWN : uid;
	c->owner_of = 0;
	return c->owner;
}

/* Keep a descriptor of an image. */
static void keep_open(struct file_cache *c, struct known_file *f, int fd)
{
	close_kept(c, LRU_STRUCT(lru_excess(&c->open, owner_to_blame(c)), struct known_file, open));
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (f->fd >= 0 &&
	    (!leaves_descriptors(f->fd) || lru_add(&c->open, &f->open, owner_to_blame(c)))) {
		close(f->fd);
		f->fd = -1;
	}
}

/* Make room for a file that was read, and add it. 0 or -ENOMEM. */
static int add_file(struct file_cache *c, struct known_file *f)
{
	struct lru *l = list_of(c, f);
	int err;

	forget_file(c, LRU_STRUCT(lru_excess(l, owner_to_blame(c)), struct known_file, lru));
	f->next = u64map_get(&c->files, file_key(&f->id));
	err = lru_add(l, &f->lru, owner_to_blame(c));
	if (!err)
		err = u64map_put(&c->files, file_key(&f->id), f);
	if (err)
		lru_remove(l, &f->lru);
	return err;
}

/* Read a file that is not in the cache. 0 or -errno. */
static int read_new(struct file_cache *c, int fd, const struct file_id *id,
		    struct known_file **out)
{
	struct known_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->id = *id;
	f->fd = -1;
	f->err = parser_image(fd, &f->image, f->why, sizeof(f->why));
	err = f->err == -EBUSY ? -EBUSY : add_file(c, f);
	if (err) {
		free(f);
		return err;
	}
	if (!f->err)
		keep_open(c, f, fd);
	*out = f;
	return 0;
}

/* The cache's entry for an open file. 0 or -errno. */
static int open_file(struct file_cache *c, int fd, struct known_file **out)
{
	struct file_id id;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	id = id_of(&st);
	*out = find_known(c, &id);
	if (!*out)
		return read_new(c, fd, &id, out);
	if (!(*out)->err && (*out)->fd < 0)
		keep_open(c, *out, fd);
	return 0;
}

/* The cache's entry for the file of a mapping. 0 or -errno. */
static int known_file(struct file_cache *c, const struct mapped *m, struct known_file **out)
{
	struct file_id id;
	struct stat st;
	int fd, err;

	if (!proc_stat_mapped(c->cur.tgid, &m->map, &st)) {
		id = id_of(&st);
		*out = find_known(c, &id);
		if (*out && ((*out)->err || (*out)->fd >= 0))
			return 0;
	}
	fd = proc_open_mapped(c->cur.tgid, &m->map);
	if (fd < 0)
		return fd;
	err = open_file(c, fd, out);
	close(fd);
	return err;
}

int file_cache_image(struct file_cache *c, int fd, const struct cpython_image **image,
		     struct file_id *id)
{
	struct known_file *f;
	int err = open_file(c, fd, &f);

	if (err || f->err)
		return err ? err : -ENOENT;
	*image = &f->image;
	*id = f->id;
	return 0;
}

/* The process' mapping of the file; NULL: none. */
static const struct mapped *find_mapped(const struct inspection *cur, const struct file_id *id)
{
	const struct mapped *m;
	struct file_id its;
	struct stat st;

	for (m = cur->mapped.files; m < cur->mapped.files + cur->mapped.cnt; m++) {
		if (proc_stat_mapped(cur->tgid, &m->map, &st))
			continue;
		its = id_of(&st);
		if (same_file(&its, id))
			return m;
	}
	return NULL;
}

int file_cache_fd(struct file_cache *c, const struct file_id *id, pid_t about)
{
	struct known_file *f = find_known(c, id);
	const struct mapped *m;
	int err;

	if (f && f->fd >= 0)
		return f->fd;
	c->cur.tgid = proc_living_task(about);
	err = c->cur.tgid ? mapped_files_read(&c->cur.mapped, c->cur.tgid) : -ENOENT;
	m = err ? NULL : find_mapped(&c->cur, id);
	if (!err)
		err = m ? known_file(c, m, &f) : -ENOENT;
	if (!err && f->fd < 0)
		err = -ENOENT;
	return err ? err : f->fd;
}

struct file_cache *file_cache_new(void)
{
	struct file_cache *c = calloc(1, sizeof(*c));

	if (c) {
		lru_init(&c->others, FILES_MAX, FILES_OF_USER);
		lru_init(&c->images, IMAGES_MAX, IMAGES_OF_USER);
		lru_init(&c->open, IMAGES_OPEN_MAX, IMAGES_OPEN_OF_USER);
	}
	return c;
}

void file_cache_set_owner(struct file_cache *c, uint32_t owner)
{
	c->owner = owner;
	c->owner_of = 0;
}

void file_cache_set_process(struct file_cache *c, pid_t tgid)
{
	c->owner_of = tgid;
}

/* ---- what is in the mapped files ---- */

void py_proc_of_image(const struct cpython_image *img, struct py_proc *p)
{
	*p = (struct py_proc){
		.runtime = img->runtime_vaddr,
		.tss = img->tss_vaddr,
		.interps = img->interps_vaddr,
		.current = img->current_vaddr,
		.collecting = img->collecting_vaddr,
		.gc_stats = img->gc_stats_vaddr,
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

/* The runtime has another address than in the image: move all addresses inside it. */
static void move_runtime(struct py_proc *p, uint64_t to)
{
	uint64_t by = to - p->runtime;

	p->runtime += by;
	p->tss += p->tss ? by : 0;
	p->interps += p->interps ? by : 0;
	p->current += p->current ? by : 0;
	p->collecting += p->collecting ? by : 0;
	p->gc_stats += p->gc_stats ? by : 0;
	p->main_id += p->main_id ? by : 0;
}

static void add_found(struct inspection *cur, const struct known_file *f, const struct mapped *m,
		      uint64_t bias)
{
	struct inspected_python *p = &cur->out->pythons[cur->out->python_cnt];
	struct py_proc file;

	if (cur->out->python_cnt == INSPECT_PYTHONS_MAX)
		return;
	p->file = f->id;
	p->image = f->image;
	snprintf(p->name, sizeof(p->name), "%s", strrchr(m->path, '/') + 1);
	py_proc_of_image(&f->image, &file);
	p->proc = file;
	py_proc_relocate(&p->proc, &file, bias);
	if (cur->runtime_copy)
		move_runtime(&p->proc, cur->runtime_copy);
	if (cur->none_copy)
		p->proc.none = cur->none_copy;
	cur->out->python_cnt++;
}

/* Keep the reason if a file is an unsupported Python. */
static void keep_refusal(struct inspection *cur, const struct known_file *f, const struct mapped *m)
{
	/* The content of a 32-bit program is unknown; one that is named python counts as Python. */
	bool python = f->err == -ENOTSUP || (f->err == -ENOEXEC && m->python);

	if (!python || cur->err != -ENOENT)
		return;
	snprintf(cur->out->why, INSPECT_WHY_MAX, "%s", f->why);
	cur->err = -ENOTSUP;
}

/* Inspect one mapped file. 0, -ENOMEM or -EBUSY. */
static int inspect_file(struct file_cache *c, const struct mapped *m)
{
	struct inspection *cur = &c->cur;
	struct known_file *f;
	int err = known_file(c, m, &f);
	uint64_t bias;

	if (err) {
		cur->missed |= err != -EINVAL;	/* -EINVAL: a device */
		return err == -ENOMEM || err == -EBUSY ? err : 0;
	}
	bias = m->map.start - f->image.first_load_vaddr;
	if (!f->err) {
		add_found(cur, f, m, bias);
	} else if (f->err == -EXDEV) {
		cur->runtime_copy = f->image.runtime_vaddr ? f->image.runtime_vaddr + bias : 0;
		cur->none_copy = f->image.none_vaddr ? f->image.none_vaddr + bias : 0;
	} else {
		keep_refusal(cur, f, m);
	}
	return 0;
}

/*
 * Inspect the executable, then libraries named libpython; if they contain no CPython, all other
 * code.
 */
static int inspect_mapped(struct file_cache *c)
{
	struct inspection *cur = &c->cur;
	struct mapped_files *m = &cur->mapped;
	size_t i;
	int err = 0;

	if (m->exe_at != MAPPED_NOWHERE)
		err = inspect_file(c, &m->files[m->exe_at]);
	for (i = 0; !err && i < m->cnt; i++)
		if (i != m->exe_at && m->files[i].libpython &&
		    !mapped_files_is_other_view(m, &m->files[i]))
			err = inspect_file(c, &m->files[i]);
	if (cur->out->python_cnt || cur->err != -ENOENT)
		return err;
	for (i = 0; !err && i < m->cnt; i++)
		if (i != m->exe_at && m->files[i].code && !m->files[i].libpython)
			err = inspect_file(c, &m->files[i]);
	return err;
}

/* The C library; or the executable, if it is linked statically or will map one. */
static const struct mapped *find_libc(const struct mapped_files *m, bool *seen)
{
	size_t at = m->libc_at != MAPPED_NOWHERE ? m->libc_at : m->exe_at;

	*seen = m->libc_at != MAPPED_NOWHERE;
	return at != MAPPED_NOWHERE ? &m->files[at] : NULL;
}

/* Find the distance of pthread_self() below the thread pointer: out->self_below, self_err. */
static int find_self(struct file_cache *c)
{
	struct inspected *out = c->cur.out;
	const struct mapped *m = find_libc(&c->cur.mapped, &out->libc_seen);
	struct known_file *f;
	int fd, err;

	out->self_err = -EAGAIN;
	if (!m)
		return 0;
	err = known_file(c, m, &f);
	if (err)
		return err == -ENOMEM || err == -EBUSY ? err : 0;
	if (!f->self_read) {
		fd = proc_open_mapped(c->cur.tgid, &m->map);
		if (fd < 0)
			return 0;
		f->self_err = parser_self_below(fd, &f->self_below);
		f->self_read = f->self_err != -EBUSY;
		close(fd);
	}
	out->self_err = f->self_err;
	out->self_below = f->self_below;
	return f->self_read ? 0 : -EBUSY;
}

static bool needs_self(const struct inspected *out)
{
	size_t i;

	for (i = 0; i < out->python_cnt; i++)
		if (out->pythons[i].image.needs_self)
			return true;
	return false;
}

/* Forget the last process. */
static void begin_inspection(struct inspection *cur, pid_t tgid, struct inspected *out)
{
	cur->tgid = tgid;
	cur->runtime_copy = cur->none_copy = 0;
	cur->missed = false;
	cur->err = -ENOENT;
	cur->out = out;
	out->files = 0;
	out->otel.cnt = 0;
	out->python_cnt = 0;
}

/* Report that no Python was found. */
static int say_none(const struct inspection *cur)
{
	/* A file could not be opened: the next inspection must try again. */
	if (cur->missed)
		cur->out->files = 0;
	if (!cur->mapped.cut || cur->err != -ENOENT)
		return cur->err;
	snprintf(cur->out->why, INSPECT_WHY_MAX, "no Python was found in the first %d MiB of its "
		 "list of mappings, and the rest is not read", PROC_MAPS_BYTES_MAX >> 20);
	return -ENOTSUP;
}

/* Look for the thread context's variable in a file. 0: *tls; -ENOENT; -EBUSY; other -errno. */
static int tls_of(struct file_cache *c, const struct mapped *m, struct elf_tls *tls)
{
	struct known_file *f;
	int err = known_file(c, m, &f), fd;

	if (err)
		return err;
	if (!f->tls_read) {
		fd = proc_open_mapped(c->cur.tgid, &m->map);
		if (fd < 0)
			return fd;
		f->tls_err = parser_thread_ctx(fd, &f->tls);
		f->tls_read = f->tls_err != -EBUSY;
		close(fd);
	}
	*tls = f->tls;
	return f->tls_err;
}

/* The C library of a file that does not name one. */
static bool has_musl(const struct mapped_files *m)
{
	return m->libc_at != MAPPED_NOWHERE && strstr(m->files[m->libc_at].path, "/ld-musl-");
}

/*
 * The i-th of the process' files with code, the executable first; NULL: the i-th is not one, or was
 * the executable. i goes from 0 to m->cnt.
 */
static const struct mapped *code_file(const struct mapped_files *m, size_t i)
{
	size_t at = i ? i - 1 : m->exe_at;

	if (at >= m->cnt || (i && (at == m->exe_at || !m->files[at].code)))
		return NULL;
	return &m->files[at];
}

int inspect_thread_ctx(struct file_cache *c, pid_t task, struct inspected_tls *out)
{
	struct mapped_files *m = &c->cur.mapped;
	const struct mapped *f = NULL;
	size_t i;
	int err, none = -ENOENT;

	c->cur.tgid = task;
	err = mapped_files_read(m, task);
	if (err)
		return err;
	for (i = 0; i <= m->cnt; i++) {
		f = code_file(m, i);
		if (!f)
			continue;
		err = tls_of(c, f, &out->tls);
		if (!err)
			break;
		if (err == -EBUSY || err == -ENOMEM)
			none = err;
	}
	if (i > m->cnt)
		return none;
	out->bias = f->map.start - out->tls.first_load;
	out->musl = out->tls.musl || (!out->tls.glibc && has_musl(m));
	return 0;
}

/* Look for asyncio's section in a file. 0, -EBUSY or another -errno in f->tasks_err. */
static void read_tasks(struct file_cache *c, const struct mapped *m, struct known_file *f)
{
	int fd;

	if (f->tasks_read)
		return;
	fd = proc_open_mapped(c->cur.tgid, &m->map);
	f->tasks_err = fd < 0 ? fd : parser_async(fd, &f->tasks);
	f->tasks_read = fd >= 0 && f->tasks_err != -EBUSY;
	if (fd >= 0)
		close(fd);
}

/* Add what one file contains to *out. 0, or the -errno after which another try may find more. */
static int add_async(struct file_cache *c, const struct mapped *m, struct async_layout *out,
		     bool *python)
{
	struct known_file *f;
	int err = known_file(c, m, &f);

	if (err)
		return err == -EBUSY || err == -ENOMEM ? err : 0;
	if (!f->err && !*python) {
		*python = true;
		out->coro = f->image.coro;
	}
	if (out->task.task_bytes)
		return 0;
	read_tasks(c, m, f);
	if (!f->tasks_err)
		out->task = f->tasks;
	return f->tasks_err == -EBUSY ? -EBUSY : 0;
}

int inspect_async(struct file_cache *c, pid_t task, struct async_layout *out)
{
	struct mapped_files *m = &c->cur.mapped;
	const struct mapped *f;
	bool python = false;
	size_t i;
	int err, none = -ENOENT;

	*out = (struct async_layout){ 0 };
	c->cur.tgid = task;
	err = mapped_files_read(m, task);
	for (i = 0; !err && i <= m->cnt && !(python && out->task.task_bytes); i++) {
		f = code_file(m, i);
		if (f && add_async(c, f, out, &python))
			none = -EBUSY;
	}
	if (err)
		return err;
	if (python && !out->coro.gen_frame)
		return -EOPNOTSUPP;
	out->valid = python && out->task.task_bytes;
	return out->valid ? 0 : none;
}

static void say_exe(const struct mapped_files *m, struct inspected *out)
{
	const struct proc_map *exe = m->exe_at < m->cnt ? &m->files[m->exe_at].map : NULL;

	out->exe_dev = exe ? exe->dev : 0;
	out->exe_ino = exe ? exe->inode : 0;
}

/* Which program the process executes; 0: unknown, or an exec is in progress. */
static uint64_t program_of(pid_t task)
{
	struct proc_stat st;

	return proc_stat(task, &st) ? 0 : st.program;
}

/* Returns true if everything that was found is of one program, which is complete. */
static bool is_steady(const struct inspection *cur)
{
	struct proc_stat now;

	return proc_stat(cur->tgid, &now) || (!now.in_exec && now.program == cur->out->program);
}

int inspect_files(struct file_cache *c, const struct proc_info *who, uint64_t before,
		  struct inspected *out)
{
	struct inspection *cur = &c->cur;
	int err;

	begin_inspection(cur, who->task, out);
	out->program = program_of(cur->tgid);
	out->seen_ns = now_ns();
	err = mapped_files_read(&cur->mapped, cur->tgid);
	snprintf(out->why, sizeof(out->why), "%s", strerror(-err));
	if (err)
		return err;
	out->files = cur->mapped.hash;
	out->otel = cur->mapped.otel;
	say_exe(&cur->mapped, out);
	if (before == out->files)
		return -EALREADY;
	err = inspect_mapped(c);
	if (err)
		return err;
	out->copied = cur->runtime_copy || cur->none_copy;
	if (!out->python_cnt)
		return say_none(cur);
	err = needs_self(out) ? find_self(c) : 0;
	if (err || is_steady(cur))
		return err;
	out->files = out->seen_ns = 0;
	return -EAGAIN;
}
