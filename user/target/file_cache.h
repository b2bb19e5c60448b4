/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file_cache.h - what the parser has found in files (parser.h), also in those without a CPython:
 * each is read once. When there are too many, the least recently used file is dropped, and is read
 * again when it is needed. For the inspector (inspector.h): an open may block forever.
 */
#ifndef TACHBPF_FILE_CACHE_H
#define TACHBPF_FILE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/lru.h"
#include "bpf/abi_async.h"
#include "cpython/image.h"
#include "elf/elf_tls.h"
#include "host/proc.h"

#define INSPECT_WHY_MAX 256

/* Identifies a file, and its content as far as stat() shows it. */
struct file_id {
	uint64_t dev, ino, size;
	int64_t mtime_s, mtime_ns;
};
struct file_id file_id_of(const struct stat *st);
bool file_id_same(const struct file_id *a, const struct file_id *b);

/* What only some files are asked for. */
enum file_question { FILE_SELF_BELOW, FILE_THREAD_CTX, FILE_ASYNC, FILE_QUESTION_CNT };

/* What was found in a file. */
struct known_file {
	struct file_id id;
	struct known_file *next;	/* next file with the same hash */
	int err;			/* of parser_image(); 0: image is set */
	char why[INSPECT_WHY_MAX];	/* message of err */
	struct cpython_image image;
	struct lru_item lru;		/* in others or in images */
	struct lru_item open;		/* if fd is kept */
	int fd;				/* of an image; -1: not kept */
	struct {
		bool known;
		int err;
	} answers[FILE_QUESTION_CNT];	/* the following fields are set if their err is 0 */
	uint16_t self_below;		/* FILE_SELF_BELOW: parser_self_below() */
	struct elf_tls tls;		/* FILE_THREAD_CTX: parser_thread_ctx() */
	struct async_tasks_layout tasks;	/* FILE_ASYNC: parser_async() */
};

struct file_cache;
/* NULL with errno. */
struct file_cache *file_cache_new(void);
/* From now on, new files belong to processes of this user, who can use only a part of the cache. */
void file_cache_set_owner(struct file_cache *cache, uint32_t owner);
/* The same for the effective user of a process, looked up when the first new file comes. */
void file_cache_set_process(struct file_cache *cache, pid_t tgid);

/*
 * The CPython in an open file. 0: sets *image, which the cache owns until the next call, and *id;
 * -ENOENT: there is no supported one; other -errno.
 */
int file_cache_image(struct file_cache *cache, int fd, const struct cpython_image **image,
		     struct file_id *id);
/* The file, if it is known; NULL: it is not. The cache owns it until the next call. */
struct known_file *file_cache_find(struct file_cache *cache, const struct file_id *id);
/*
 * The file of a process' mapping, which is read if it is not known. 0: *out, which the cache owns
 * until the next call; -EBUSY: not read in time; other -errno.
 */
int file_cache_mapped(struct file_cache *cache, pid_t tgid, const struct proc_map *map,
		      struct known_file **out);
/*
 * Asks the parser about the file of this mapping, once. 0: the answer is in *f; -EBUSY: not read in
 * time, or another -errno of the parser or of opening the file. f->answers[q].known: ask no more.
 */
int file_cache_ask(struct known_file *f, enum file_question q, pid_t tgid,
		   const struct proc_map *map);

#endif
