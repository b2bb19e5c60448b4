// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cgroups.c - mounts and directories of cgroup file systems. See cgroups.h.
 */
#include "host/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"

#define HIERARCHIES_MAX 32
#define CGROUP_FILE_BYTES 65536
/* Limit on directories: systemd lets users create as many cgroups as they like. */
#define DIRS_MAX 1000000
#define DEPTH_MAX 64

struct mount {
	uint32_t hierarchy;
	char *dir;		/* mount point */
	char *root;		/* the cgroup that is mounted there; "" for the hierarchy's root */
};

struct cgroups {
	struct mount mounts[HIERARCHIES_MAX];
	size_t cnt;
};

/* ---- /proc/PID/cgroup ---- */

/* Split "9:name=systemd:/a" into its parts. Returns false if the line has another form. */
static bool split_line(char *line, uint32_t *hierarchy, char **controllers, char **path)
{
	char *end;

	*hierarchy = (uint32_t)strtoul(line, &end, 10);
	if (end == line || *end != ':')
		return false;
	*controllers = end + 1;
	*path = strchr(end + 1, ':');
	if (!*path)
		return false;
	*(*path)++ = '\0';
	return **path == '/';
}

static void cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), cut = sizeof(mark) - 1;

	if (len > cut && !strcmp(path + len - cut, mark))
		path[len - cut] = '\0';
}

static int each_above(char *path, uint32_t hierarchy,
		      int (*cb)(void *ctx, uint32_t hierarchy, const char *path, bool own),
		      void *ctx)
{
	char *slash;
	int err = cb(ctx, hierarchy, path, true);

	while (!err && path[1]) {
		slash = strrchr(path, '/');
		slash[slash == path] = '\0';
		err = cb(ctx, hierarchy, path, false);
	}
	return err;
}

int cgroups_of_process(pid_t tgid,
		       int (*cb)(void *ctx, uint32_t hierarchy, const char *path, bool own),
		       void *ctx)
{
	char *text = malloc(CGROUP_FILE_BYTES), *line, *next, *controllers, *path;
	uint32_t hierarchy;
	ssize_t n;
	int err = 0;

	if (!text)
		return -ENOMEM;
	n = proc_read(tgid, "cgroup", text, CGROUP_FILE_BYTES);
	if (n < 0)
		err = (int)n;
	for (line = text; !err && n > 0 && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (!split_line(line, &hierarchy, &controllers, &path))
			continue;
		cut_deleted(path);
		err = each_above(path, hierarchy, cb, ctx);
	}
	free(text);
	return err;
}

/* ---- mounts ---- */

/* Returns true if a mount has all of names (separated by commas) among its options. */
static bool has_all(const char *names, const char *options)
{
	const char *p, *o;
	size_t len;
	bool found;

	for (p = names; *p; p += len + !!p[len]) {
		len = strcspn(p, ",");
		found = false;
		for (o = options; *o; o += strcspn(o, ",") + !!o[strcspn(o, ",")])
			found |= strcspn(o, ",") == len && !memcmp(o, p, len);
		if (!found)
			return false;
	}
	return *names;
}

/* Read /proc/self/cgroup; freed by the caller. NULL: there is none. */
static char *read_own(void)
{
	char *text = malloc(CGROUP_FILE_BYTES);

	if (text && proc_read(0, "cgroup", text, CGROUP_FILE_BYTES) > 0)
		return text;
	free(text);
	return NULL;
}

/* The number of the hierarchy that has these mount options; 0: not found. own: of read_own(). */
static uint32_t hierarchy_of(const char *own, const char *options)
{
	char *text = own ? strdup(own) : NULL, *line, *next, *controllers, *path;
	uint32_t hierarchy, found = 0;

	for (line = text; line && !found && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		if (split_line(line, &hierarchy, &controllers, &path) &&
		    has_all(controllers, options))
			found = hierarchy;
	}
	free(text);
	return found;
}

/* Decode mountinfo's \ooo for spaces, tabs, newlines and backslashes. */
static void unescape_mount(char *s)
{
	char *out = s;
	int c;

	for (; *s; s++) {
		if (*s == '\\' && sscanf(s + 1, "%3o", &c) == 1) {
			*out++ = (char)c;
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* "36 25 0:30 ROOT DIR rw,nosuid - cgroup cgroup rw,pids" (proc_pid_mountinfo(5)) */
static void add_mount(struct cgroups *c, char *line, const char *own)
{
	char root[PATH_MAX], dir[PATH_MAX], type[32], *rest = strstr(line, " - ");
	struct mount *m = &c->mounts[c->cnt];
	uint32_t hierarchy = 0;
	size_t i;

	if (c->cnt == HIERARCHIES_MAX || !rest ||
	    sscanf(line, "%*s %*s %*s %4095s %4095s", root, dir) != 2 ||
	    sscanf(rest, " - %31s", type) != 1)
		return;
	if (!strcmp(type, "cgroup")) {
		rest[strcspn(rest, "\n")] = '\0';
		hierarchy = hierarchy_of(own, strrchr(rest, ' ') + 1);
	} else if (strcmp(type, "cgroup2")) {
		return;
	}
	if (!strcmp(type, "cgroup") && !hierarchy)
		return;
	for (i = 0; i < c->cnt; i++)
		if (c->mounts[i].hierarchy == hierarchy)
			return;		/* the first mount usually shows most of it */
	unescape_mount(root);
	unescape_mount(dir);
	*m = (struct mount){ hierarchy, strdup(dir), strdup(strcmp(root, "/") ? root : "") };
	if (m->dir && m->root) {
		c->cnt++;
		return;
	}
	free(m->dir);
	free(m->root);
}

struct cgroups *cgroups_new(void)
{
	struct cgroups *c = calloc(1, sizeof(*c));
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *own = read_own();
	size_t size = 0;

	while (c && f && getline(&line, &size, f) > 0)
		add_mount(c, line, own);
	free(line);
	free(own);
	if (f)
		fclose(f);
	return c;
}

void cgroups_free(struct cgroups *c)
{
	size_t i;

	for (i = 0; c && i < c->cnt; i++) {
		free(c->mounts[i].dir);
		free(c->mounts[i].root);
	}
	free(c);
}

/* ---- directories ---- */

struct walk {
	int (*cb)(void *ctx, const struct cgroup_dir *dir);
	void *ctx;
	uint32_t hierarchy;
	uint32_t left;		/* how many more directories may be visited */
	char path[PATH_MAX];	/* of the current cgroup; "" at a hierarchy's root */
};

static int walk_dir(struct walk *w, int fd, size_t len, int depth);

static int walk_entry(struct walk *w, int parent, const char *name, size_t len, int depth)
{
	size_t add = strlen(name);
	int fd;

	if (!w->left || depth == DEPTH_MAX || len + add + 2 > sizeof(w->path))
		return 0;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;	/* the directory has been removed */
	w->left--;
	snprintf(w->path + len, sizeof(w->path) - len, "/%s", name);
	return walk_dir(w, fd, len + add + 1, depth + 1);
}

/* Closes fd. */
static int walk_dir(struct walk *w, int fd, size_t len, int depth)
{
	struct cgroup_dir dir = { .hierarchy = w->hierarchy, .path = len ? w->path : "/" };
	struct dirent *e;
	struct stat st;
	int err;
	DIR *d;

	if (fstat(fd, &st)) {
		close(fd);
		return 0;
	}
	dir.id = st.st_ino;
	err = w->cb(w->ctx, &dir);
	/* Each child cgroup adds a link to its parent's directory; files do not. */
	d = !err && st.st_nlink > 2 ? fdopendir(fd) : NULL;
	if (!d) {
		close(fd);
		return err;
	}
	while (!err && (e = readdir(d)))
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = walk_entry(w, dirfd(d), e->d_name, len, depth);
	closedir(d);
	return err;
}

int cgroups_each(struct cgroups *c, int (*cb)(void *ctx, const struct cgroup_dir *dir), void *ctx)
{
	struct walk w = { .cb = cb, .ctx = ctx, .left = DIRS_MAX };
	int err = 0, fd;
	size_t i;

	for (i = 0; !err && i < c->cnt; i++) {
		w.hierarchy = c->mounts[i].hierarchy;
		snprintf(w.path, sizeof(w.path), "%s", c->mounts[i].root);
		fd = open(c->mounts[i].dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			err = walk_dir(&w, fd, strlen(w.path), 0);
	}
	return err;
}

/* The part of path below prefix: "" or "/..."; NULL: path is not below it. */
static const char *path_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(path, prefix, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path + len;
}

/* Write a cgroup's directory to out. Returns false if it is not mounted, or the path too long. */
static bool dir_of(const struct cgroups *c, uint32_t hierarchy, const char *path,
		   char out[2 * PATH_MAX])
{
	const char *rest;
	size_t i;

	for (i = 0; i < c->cnt; i++) {
		const struct mount *m = &c->mounts[i];

		if (m->hierarchy != hierarchy)
			continue;
		rest = path_below(path, m->root);
		return rest && snprintf(out, 2 * PATH_MAX, "%s%s", m->dir, rest) < 2 * PATH_MAX;
	}
	return false;
}

uint64_t cgroups_id(struct cgroups *c, uint32_t hierarchy, const char *path)
{
	char full[2 * PATH_MAX];
	struct stat st;

	if (!dir_of(c, hierarchy, path, full) || stat(full, &st) || !S_ISDIR(st.st_mode))
		return 0;
	return st.st_ino;
}

bool cgroups_read(struct cgroups *c, uint32_t hierarchy, const char *path, const char *name,
		  char *out, size_t size)
{
	char full[2 * PATH_MAX];
	ssize_t n = -1;
	int dir, fd = -1;

	if (!dir_of(c, hierarchy, path, full))
		return false;
	dir = open(full, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, out, size - 1);
	if (n >= 0)
		out[n] = '\0';
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return n >= 0;
}

int cgroups_resolve(struct cgroups *c, const char *dir, uint32_t *hierarchy, const char **path)
{
	const struct mount *best = NULL;
	const char *rest;
	size_t i;

	for (i = 0; i < c->cnt; i++)
		if (path_below(dir, c->mounts[i].dir) && !c->mounts[i].root[0] &&
		    (!best || strlen(c->mounts[i].dir) > strlen(best->dir)))
			best = &c->mounts[i];
	if (!best)
		return -ENOENT;
	rest = path_below(dir, best->dir);
	*hierarchy = best->hierarchy;
	*path = *rest ? rest : "/";
	return 0;
}
