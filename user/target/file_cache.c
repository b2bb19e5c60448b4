// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* file_cache.c - see file_cache.h. */
#include "target/file_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/util.h"
#include "target/parser.h"

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
};

struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){
		.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
		.mtime_s = st->st_mtim.tv_sec, .mtime_ns = st->st_mtim.tv_nsec,
	};
}

bool file_id_same(const struct file_id *a, const struct file_id *b)
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

struct known_file *file_cache_find(struct file_cache *c, const struct file_id *id)
{
	struct known_file *f = u64map_get(&c->files, file_key(id));

	while (f && !file_id_same(&f->id, id))
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
	id = file_id_of(&st);
	*out = file_cache_find(c, &id);
	if (!*out)
		return read_new(c, fd, &id, out);
	if (!(*out)->err && (*out)->fd < 0)
		keep_open(c, *out, fd);
	return 0;
}

int file_cache_mapped(struct file_cache *c, pid_t tgid, const struct proc_map *map,
		      struct known_file **out)
{
	struct file_id id;
	struct stat st;
	int fd, err;

	if (!proc_stat_mapped(tgid, map, &st)) {
		id = file_id_of(&st);
		*out = file_cache_find(c, &id);
		if (*out && ((*out)->err || (*out)->fd >= 0))
			return 0;
	}
	fd = proc_open_mapped(tgid, map);
	if (fd < 0)
		return fd;
	err = open_file(c, fd, out);
	close(fd);
	return err;
}

/* Asks the parser. Sets the answer in *f. 0 or -errno. */
static int ask_parser(struct known_file *f, enum file_question q, int fd)
{
	switch (q) {
	case FILE_SELF_BELOW:
		return parser_self_below(fd, &f->self_below);
	case FILE_THREAD_CTX:
		return parser_thread_ctx(fd, &f->tls);
	default:
		return parser_async(fd, &f->tasks);
	}
}

int file_cache_ask(struct known_file *f, enum file_question q, pid_t tgid,
		   const struct proc_map *map)
{
	int fd;

	if (f->answers[q].known)
		return f->answers[q].err;
	fd = proc_open_mapped(tgid, map);
	if (fd < 0)
		return fd;
	f->answers[q].err = ask_parser(f, q, fd);
	f->answers[q].known = f->answers[q].err != -EBUSY;
	close(fd);
	return f->answers[q].err;
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
