// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* library_search.c - see library_search.h. */
#include "elf/library_search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Calls use() with dir/name; $ORIGIN in dir is the directory of the file at path. */
static int search_in(const char *dir, size_t dir_len, const char *path, const char *name,
		     library_search_fn use, void *ctx)
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(path, '/');
	int origin_len = slash ? (int)(slash - path) : 0;
	char full[PATH_MAX];
	size_t i, skip = 0;
	int n;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (dir_len >= strlen(words[i]) && !strncmp(dir, words[i], strlen(words[i])))
			skip = strlen(words[i]);
	n = snprintf(full, sizeof(full), "%.*s%.*s/%s", skip ? origin_len : 0, path,
		     (int)(dir_len - skip), dir + skip, name);
	return n > 0 && n < PATH_MAX && full[0] == '/' ? use(ctx, full) : -ENOENT;
}

/* The directories of list are separated by colons. */
static int search_list(const char *list, const char *path, const char *name, library_search_fn use,
		       void *ctx)
{
	int found = -ENOENT;
	size_t len;

	for (; *list && found < 0; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		if (len)
			found = search_in(list, len, path, name, use, ctx);
	}
	return found;
}

int library_search(const char *runpath, const char *path, const char *name, library_search_fn use,
		    void *ctx)
{
	/* Debian and relatives, other distributions, local installations. */
	static const char places[] = "$ORIGIN/../lib:$ORIGIN/../lib64:/usr/local/lib:"
				     "/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
				     "/usr/lib64:/lib64:/usr/lib:/lib";
	int found = search_list(runpath, path, name, use, ctx);

	return found < 0 ? search_list(places, path, name, use, ctx) : found;
}
