// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * exes.c - see exes.h.
 */
#include "exes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpython/elf_link.h"
#include "util.h"

int exe_key_of(int fd, uint64_t *key)
{
	uint64_t head[EXE_HEAD / 8] = { 0 };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* A shorter file's buffer is zero behind its end (fs/exec.c, prepare_binprm()). */
	if (pread(fd, head, sizeof(head), 0) < 0)
		return -errno;
	*key = exe_key(st.st_ino, (uint64_t)st.st_size, head);
	return 0;
}

int exe_describe(int exe_fd, int lib_fd, const struct py_proc *proc, struct py_exe *out)
{
	struct elf_file exe, lib;
	int err = elf_file_open(&exe, exe_fd);

	*out = (struct py_exe){ .proc = *proc };
	if (!err)
		err = elf_link_phdrs(&exe, &out->phdr);
	if (err || lib_fd < 0)
		return err;
	err = elf_file_open(&lib, lib_fd);
	if (!err)
		err = elf_link_slot(&exe, &lib, &out->slot, &out->symbol);
	if (!err)
		err = elf_link_identity(&lib, &out->id_at, out->id, sizeof(out->id));
	return err;
}

/* ---- libraries ---- */

static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* dir/name, with $ORIGIN in dir being the directory of path. */
static int open_in(const char *dir, size_t dir_len, const char *path, const char *name)
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
	const char *slash = strrchr(path, '/');
	int origin_len = slash ? (int)(slash - path) : 0;
	char full[PATH_MAX];
	size_t i, skip = 0;
	int n;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (dir_len >= strlen(words[i]) && !strncmp(dir, words[i], strlen(words[i])))
			skip = strlen(words[i]);
	n = snprintf(full, sizeof(full), "%.*s%.*s/%s", skip ? origin_len : 0, path,
		     (int)(dir_len - skip), dir + skip, name);
	return n > 0 && n < PATH_MAX && full[0] == '/' ? open_regular(full) : -1;
}

/* A list of directories with colons between them. */
static int open_in_list(const char *list, const char *path, const char *name)
{
	size_t len;
	int fd = -1;

	for (; *list && fd < 0; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		if (len)
			fd = open_in(list, len, path, name);
	}
	return fd;
}

int exe_open_library(int fd, const char *path)
{
	/* Debian and its like, the others, and what is installed by hand. */
	static const char places[] = "$ORIGIN/../lib:$ORIGIN/../lib64:/usr/local/lib:"
				     "/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
				     "/usr/lib64:/lib64:/usr/lib:/lib";
	char name[NAME_MAX], runpath[PATH_MAX];
	struct elf_file f;
	int err = elf_file_open(&f, fd), lib;

	if (!err)
		err = elf_link_needed(&f, "libpython", name, sizeof(name));
	if (err)
		return err;
	elf_link_runpath(&f, runpath, sizeof(runpath));
	lib = open_in_list(runpath, path, name);
	if (lib < 0)
		lib = open_in_list(places, path, name);
	return lib < 0 ? -ENOENT : lib;
}

/* ---- likely places ---- */

/* python, python3, python3.11, python3.13t, python3.11-dbg, pypy no */
static bool is_likely_name(const char *path)
{
	static const char prefix[] = "python";
	const char *base = strrchr(path, '/'), *p;

	base = base ? base + 1 : path;
	if (strncmp(base, prefix, sizeof(prefix) - 1))
		return false;
	p = base + sizeof(prefix) - 1;
	p += strspn(p, "0123456789.");
	p += strspn(p, "tdmu");
	return !*p || !strcmp(p, "-dbg");
}

struct likely {
	void (*cb)(void *ctx, const char *path);
	void *ctx;
	dev_t dev[256];		/* files seen: python3 is mostly a link to python3.X */
	ino_t ino[256];
	size_t cnt;
};

static void offer(struct likely *l, const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	size_t i;

	if (!is_likely_name(path) || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    !(st.st_mode & 0111) || l->cnt == ARRAY_SIZE(l->dev))
		return;
	for (i = 0; i < l->cnt; i++)
		if (l->dev[i] == st.st_dev && l->ino[i] == st.st_ino)
			return;
	l->dev[l->cnt] = st.st_dev;
	l->ino[l->cnt++] = st.st_ino;
	if (realpath(path, real))	/* $ORIGIN is the file's directory, not a link's */
		l->cb(l->ctx, real);
}

static void offer_matches(struct likely *l, const char *pattern)
{
	glob_t found;
	size_t i;

	if (glob(pattern, GLOB_NOSORT | GLOB_TILDE, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++)
		offer(l, found.gl_pathv[i]);
	globfree(&found);
}

static void offer_path(struct likely *l)
{
	const char *path = getenv("PATH"), *end;
	char pattern[PATH_MAX];
	size_t len;

	for (; path && *path; path = *end ? end + 1 : end) {
		len = strcspn(path, ":");
		end = path + len;
		if (*path == '/' && (size_t)snprintf(pattern, sizeof(pattern), "%.*s/python*",
						     (int)len, path) < sizeof(pattern))
			offer_matches(l, pattern);
	}
}

void exe_each_likely(void (*cb)(void *ctx, const char *path), void *ctx)
{
	static const char *const patterns[] = {
		"/usr/bin/python*", "/usr/local/bin/python*", "/bin/python*",
		"/opt/*/bin/python*",
		"/opt/*/*/bin/python*",			/* conda's environments, pyenv in /opt */
		"/usr/local/*/bin/python*",
		"~/.pyenv/versions/*/bin/python*", "/home/*/.pyenv/versions/*/bin/python*",
		"~/*conda3/bin/python*", "/home/*/*conda3/bin/python*",
		"~/.local/share/uv/python/*/bin/python*",
		"/home/*/.local/share/uv/python/*/bin/python*",
	};
	struct likely *l = calloc(1, sizeof(*l));
	size_t i;

	if (!l)
		return;
	l->cb = cb;
	l->ctx = ctx;
	offer_path(l);
	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		offer_matches(l, patterns[i]);
	free(l);
}
