/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspect_files.h - finds the CPythons in the files that a process has mapped. For the inspector
 * (inspector.h), in which it runs: it opens files that others name, which may block forever.
 *
 * The parser reads each file once (parser.h), and its result is cached, also if the file contains
 * no CPython. When there are too many, the least recently used file is dropped, and is read again
 * when it is needed.
 */
#ifndef TACHBPF_INSPECT_FILES_H
#define TACHBPF_INSPECT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/abi_async.h"
#include "cpython/image.h"
#include "elf/elf_tls.h"
#include "host/otel_signs.h"
#include "host/proc.h"

#define INSPECT_WHY_MAX 256
#define INSPECT_NAME_MAX 128
#define INSPECT_PYTHONS_MAX 8

/* Identifies a file, and its content as far as stat() shows it. */
struct file_id {
	uint64_t dev, ino, size;
	int64_t mtime_s, mtime_ns;
};

struct inspected_python {
	struct file_id file;
	struct cpython_image image;
	struct py_proc proc;		/* all except self_below, start_ns, ident, exec_pages */
	char name[INSPECT_NAME_MAX];	/* of the file, hostile */
};

struct inspected {
	struct inspected_python pythons[INSPECT_PYTHONS_MAX];	/* in the order of their mappings */
	uint32_t python_cnt;
	uint64_t files;			/* hash of all mapped files */
	uint64_t program;		/* proc_stat.program; 0: unknown */
	uint64_t seen_ns;		/* time of the inspection (CLOCK_MONOTONIC); 0: unknown */
	uint64_t exe_dev, exe_ino;	/* of the executable, as in proc_map; 0: unknown */
	struct otel_mappings otel;	/* where a process context may be; also without a Python */
	bool copied;			/* the executable has a copy of the runtime or of None */
	bool libc_seen;			/* the C library is mapped */
	int32_t self_err;		/* error of libc_self_below(), or -EAGAIN */
	uint16_t self_below;
	char why[INSPECT_WHY_MAX];	/* message of an error; hostile bytes are escaped */
};

struct file_cache;
/* NULL with errno. */
struct file_cache *file_cache_new(void);
/* From now on, new files belong to processes of this user, who can use only a part of the cache. */
void file_cache_set_owner(struct file_cache *cache, uint32_t owner);
/* The same for the effective user of a process, looked up when the first new file comes. */
void file_cache_set_process(struct file_cache *cache, pid_t tgid);

/*
 * Inspect a process. before: out->files of the last inspection of this process, 0: none. 0: *out is
 * filled. -ENOENT: no Python in it so far. -EALREADY: as -ENOENT, and its files are those of the
 * last inspection. -ENOTSUP: an unsupported Python; out->why has the reason. -EAGAIN: there is a
 * Python, but the process has executed another program meanwhile. -ESRCH: no such process. -EBUSY:
 * a file could not be read in time. Other -errno: it could not be inspected; out->why has the
 * reason.
 */
int inspect_files(struct file_cache *cache, const struct proc_info *who, uint64_t before,
		  struct inspected *out);

/* The file with the variable OTEL_THREAD_CTX_SYMBOL in a process. */
struct inspected_tls {
	struct elf_tls tls;
	uint64_t bias;			/* the file's load bias */
	bool musl;			/* the process' C library is musl */
};

/*
 * Find it: in the executable, or in the first file of /proc/PID/maps that has code and the
 * variable. task: proc_living_task(). 0; -ENOENT: no file has it so far; -EBUSY: a file could not
 * be read in time; -ESRCH; other -errno. Files are read once, as by inspect_files().
 */
int inspect_thread_ctx(struct file_cache *cache, pid_t task, struct inspected_tls *out);

/*
 * Find where asyncio keeps its tasks in a process: in the files of inspect_thread_ctx(), in the
 * same order. 0: *out, which is valid; -ENOENT: asyncio is not loaded so far, or no CPython;
 * -EOPNOTSUPP: a CPython below 3.14, which does not provide it; -EBUSY, -ESRCH and others as there.
 */
int inspect_async(struct file_cache *cache, pid_t task, struct async_layout *out);

/*
 * The CPython in an open file. 0: sets *image, which the cache owns until the next call, and *id;
 * -ENOENT: there is no supported one; other -errno.
 */
int file_cache_image(struct file_cache *cache, int fd, const struct cpython_image **image,
		     struct file_id *id);
/*
 * A descriptor of a file with a CPython, owned by the cache until the next call. If none is kept,
 * the file is opened again where this process has it mapped. -ENOENT: there is none; other -errno.
 */
int file_cache_fd(struct file_cache *cache, const struct file_id *id, pid_t about);
/*
 * Fill in what is needed to walk a process of this image, with addresses as in the file
 * (py_proc_relocate()), except self_below, which depends on the process' C library.
 */
void py_proc_of_image(const struct cpython_image *img, struct py_proc *p);

#endif
