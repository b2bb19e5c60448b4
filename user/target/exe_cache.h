/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exe_cache.h - executables by which a process is known to be Python the moment it
 * executes them, and where to look for some before they run.
 *
 * What is learned here goes into the kernel's map known_exes; this room knows files
 * and struct py_exe, no map.
 */
#ifndef TACHBPF_EXE_CACHE_H
#define TACHBPF_EXE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "cpython/image.h"

struct discovery;
struct exe_cache;
struct proc_info;

/* Called for every executable that is found to run an interpreter we can walk. */
typedef void (*exe_cache_fn)(void *ctx, uint64_t key, const struct py_exe *exe);

/* NULL with errno. d outlives it. */
struct exe_cache *exe_cache_new(struct discovery *d, exe_cache_fn cb, void *ctx);
void exe_cache_free(struct exe_cache *e);

/* What the executable of this exe_key() runs; NULL: it was not seen, or is no interpreter. */
const struct cpython_image *exe_cache_find(struct exe_cache *e, uint64_t key,
					   const struct py_exe **exe);

/* Learn of executables before they run: one file, or those that a host commonly has. */
void exe_cache_learn(struct exe_cache *e, const char *path);
void exe_cache_learn_likely(struct exe_cache *e);
/* And of what a process executes, if that was not looked at before. */
void exe_cache_learn_process(struct exe_cache *e, pid_t tgid, uint64_t key);
/* The process runs this image and is walked like that: better than any guess. */
void exe_cache_seen(struct exe_cache *e, const struct proc_info *who,
		    const struct cpython_image *image, const struct py_proc *proc);

/* ---- for these, and for tests ---- */

/* exe_key() of an open file. 0 or -errno. */
int exe_key_of(int fd, uint64_t *key);

/*
 * How a process of the executable behind exe_fd will be: its interpreter is in the
 * library lib, or NULL: in the executable itself. proc has addresses as in that file. 0;
 * -ENOENT: it cannot be told beforehand; -errno.
 */
int exe_describe(int exe_fd, const struct elf_file *lib, const struct py_proc *proc,
		 struct py_exe *out);

/*
 * The libpython that the executable behind fd, at path, will most likely load. Its
 * descriptor, -ENOENT if it needs none or it is not found, or -errno. A wrong guess
 * is found out in the process (struct py_exe, id).
 */
int exe_open_library(int fd, const char *path);

/* Call cb for every file in PATH and in common places that is named like an interpreter. */
void exe_each_likely(void (*cb)(void *ctx, const char *path), void *ctx);

#endif
