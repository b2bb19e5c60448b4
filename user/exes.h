/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exes.h - executables by which a process is known to be Python the moment it
 * executes them, and where to look for some before they run.
 *
 * What is learned here goes into the kernel's map known_exes; this room knows files
 * and struct py_exe, no map.
 */
#ifndef TACHBPF_EXES_H
#define TACHBPF_EXES_H

#include <stddef.h>
#include <stdint.h>

#include "../bpf/abi.h"
#include "cpython/image.h"

/* exe_key() of an open file. 0 or -errno. */
int exe_key_of(int fd, uint64_t *key);

/*
 * How a process of the executable behind exe_fd will be: its interpreter is img, which
 * is in the library behind lib_fd, or in the executable itself if that is -1. proc has
 * img's addresses as in its file. 0; -ENOENT: it cannot be told beforehand; -errno.
 */
int exe_describe(int exe_fd, int lib_fd, const struct py_proc *proc, struct py_exe *out);

/*
 * The libpython that the executable behind fd, at path, will most likely load. Its
 * descriptor, -ENOENT if it needs none or it is not found, or -errno. A wrong guess
 * is found out in the process (struct py_exe, id).
 */
int exe_open_library(int fd, const char *path);

/* Call cb for every file in PATH and in common places that is named like an interpreter. */
void exe_each_likely(void (*cb)(void *ctx, const char *path), void *ctx);

#endif
