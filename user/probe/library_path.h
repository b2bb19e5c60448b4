/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* library_path.h - where this system has a library or a program of a name. */
#ifndef TACHBPF_PROBE_LIBRARY_PATH_H
#define TACHBPF_PROBE_LIBRARY_PATH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The path for a name: of a library that ld.so.cache knows and that is called so
 * (prober_is_called()), else of a program in PATH. A name with a '/' is a path. 0 or -ENOENT.
 */
int library_path(const char *name, char *path, size_t size);

/* The same in the bytes of an ld.so.cache. */
int library_path_in(const uint8_t *cache, size_t bytes, const char *name, char *path, size_t size);

#endif
