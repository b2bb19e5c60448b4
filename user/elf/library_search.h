/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* library_search.h - where the dynamic linker most likely finds a library. Opens nothing. */
#ifndef TACHBPF_LIBRARY_SEARCH_H
#define TACHBPF_LIBRARY_SEARCH_H

/* Returns a negative value if the library is not at this path. */
typedef int (*library_search_fn)(void *ctx, const char *path);

/*
 * Calls use() with each path at which a library may be that the file at path needs, best first,
 * until it returns 0 or more; returns that. Else a negative value. runpath: DT_RUNPATH of the file.
 * Hostile text.
 */
int library_search(const char *runpath, const char *path, const char *name, library_search_fn use,
		   void *ctx);

#endif
