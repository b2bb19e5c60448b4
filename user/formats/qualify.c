// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* qualify.c - adds modules to names of functions. See qualify.h. */
#include "formats/qualify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/intern.h"

/* Upper bound of directories in a name; beyond it the file's number is added. */
#define DEPTH_MAX 8

struct qualifier {
	struct intern *names;	/* names in use */
	struct buf files;	/* u32: the file of each name */
};

struct qualifier *qualifier_new(void)
{
	struct qualifier *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->names = intern_new();
	if (!q->names) {
		free(q);
		errno = ENOMEM;
		return NULL;
	}
	return q;
}

void qualifier_free(struct qualifier *q)
{
	if (!q)
		return;
	intern_free(q->names);
	buf_free(&q->files);
	free(q);
}

/* The module name of a path: "pkg.mod" for "/x/pkg/mod.py", with the last depth components. */
static char *module_name(const char *path, unsigned int depth)
{
	const char *start = path + strlen(path);
	char *name, *p;
	size_t len;

	while (start > path && (start[-1] != '/' || --depth))
		start--;
	name = strdup(start);
	if (!name)
		return NULL;
	len = strlen(name);
	if (len > 3 && !strcmp(name + len - 3, ".py"))
		name[len - 3] = '\0';
	for (p = name; (p = strchr(p, '/')); p++)
		*p = '.';
	return name;
}

/*
 * Readers merge functions by name alone, so a name belongs to one file. 1: it belongs to
 * this file now.
 */
static int claim(struct qualifier *q, const char *name, uint32_t file)
{
	uint32_t id;
	int err = intern_string(q->names, name, strlen(name), &id);

	if (!err && (size_t)id * sizeof(file) == q->files.len)
		err = buf_add(&q->files, &file, sizeof(file));
	if (err)
		return err;
	return ((uint32_t *)(void *)q->files.data)[id] == file;
}

int qualify_name(struct qualifier *q, uint32_t file, const char *path, const char *func,
		 char **name)
{
	unsigned int depth, parts = 1;
	const char *p;
	char *module;
	int mine = 0;

	for (p = path; parts < DEPTH_MAX && (p = strchr(p, '/')); p++)
		parts++;
	for (depth = 1; !mine && depth <= parts + 1; depth++) {
		/*
		 * After the last try: the paths differ further up, or only in characters
		 * that were replaced.
		 */
		module = module_name(path, depth);
		if (!module)
			return -ENOMEM;
		if (depth > parts)
			mine = asprintf(name, "%s.%s#%u", module, func, file) < 0 ? -ENOMEM : 1;
		else if (asprintf(name, "%s.%s", module, func) < 0)
			mine = -ENOMEM;
		else
			mine = claim(q, *name, file);
		free(module);
		if (!mine)
			free(*name);
		if (mine <= 0)
			*name = NULL;
	}
	return mine < 0 ? mine : 0;
}
