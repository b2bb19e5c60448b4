/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exe_cache.h - executables that are known to run Python, so that a process is recognised as Python
 * at its exec, some even before they first run; and executables that are known not to, so that
 * their execs cost little.
 *
 * The callbacks put the findings into the maps known_exes and other_exes. This file knows files and
 * struct py_exe, but no map.
 */
#ifndef TACHBPF_EXE_CACHE_H
#define TACHBPF_EXE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "cpython/image.h"

struct discovery;
struct exe_cache;
struct proc_info;

/*
 * Called for every executable that is found to run a supported interpreter; and with exe NULL when
 * it is forgotten, because there are too many: at most MAX_EXES are known at a time.
 */
typedef void (*exe_cache_fn)(void *ctx, uint64_t key, const struct py_exe *exe);
/*
 * Called with `other` true for every executable that is not Python, needs no libpython, and has had
 * no process that became Python; with false when this no longer holds, or when it is forgotten. At
 * most MAX_OTHER_EXES are known at a time.
 */
typedef void (*exe_cache_other_fn)(void *ctx, const struct exe_file *file, bool other);

/* NULL with errno. d must outlive it. Freed by exe_cache_free(). */
struct exe_cache *exe_cache_new(struct discovery *d, exe_cache_fn python, exe_cache_other_fn other,
				void *ctx);
void exe_cache_free(struct exe_cache *e);

/*
 * The image that the executable with this exe_key() runs, and its description in *exe, both valid
 * until the next call of a function that learns. NULL: it was not inspected, or runs no supported
 * interpreter.
 */
const struct cpython_image *exe_cache_find(struct exe_cache *e, uint64_t key,
					   const struct py_exe **exe);

/* Returns true if the file is known not to be Python, and no process of it became one. */
bool exe_cache_is_other(struct exe_cache *e, const struct exe_file *file);

/* Inspect executables that are common on hosts, before they run. */
void exe_cache_learn_likely(struct exe_cache *e);
/*
 * Inspect the executable of a process, unless that was done before. uid: the effective user of the
 * process, who can use only a part of the cache. key, file: of its exec.
 */
void exe_cache_learn_process(struct exe_cache *e, pid_t tgid, uint32_t uid, uint64_t key,
			     const struct exe_file *file);
/* The process was found to run this image with this description, which replaces any guess. */
void exe_cache_seen(struct exe_cache *e, const struct proc_info *who,
		    const struct cpython_image *image, const struct py_proc *proc);

/* ---- for the functions above, and for tests ---- */

struct learned_exe;
/*
 * Remember what an executable runs; owner: the user in whose process that was found. What was seen
 * in a process replaces a guess.
 */
void exe_cache_take(struct exe_cache *e, const struct learned_exe *learned, uint32_t owner);

#endif
