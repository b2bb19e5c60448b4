// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * exe_cache.c - see exe_cache.h.
 */
#include "target/exe_cache.h"

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

#include "base/u64map.h"
#include "base/util.h"
#include "elf/elf_link.h"
#include "host/proc.h"
#include "target/discover.h"

/* An executable, and what is known about the interpreter that it runs. */
struct known_exe {
	const struct cpython_image *image;	/* NULL: no interpreter, or
						 * one that is not supported */
	struct py_exe exe;
	bool seen;	/* found in a process; otherwise its library is a guess */
};

/*
 * Upper bound, more than any host has in use. An executable beyond it is inspected each
 * time it runs.
 */
#define MAX_EXES_SEEN 65536

struct exe_cache {
	struct discovery *discovery;
	struct u64map by_key;		/* exe_key() -> struct known_exe */
	exe_cache_fn cb;
	void *ctx;
};

struct exe_cache *exe_cache_new(struct discovery *d, exe_cache_fn cb, void *ctx)
{
	struct exe_cache *e = calloc(1, sizeof(*e));

	if (e) {
		e->discovery = d;
		e->cb = cb;
		e->ctx = ctx;
	}
	return e;
}

void exe_cache_free(struct exe_cache *e)
{
	struct known_exe *known;
	size_t pos = 0;

	if (!e)
		return;
	while ((known = u64map_next(&e->by_key, &pos)))
		free(known);
	u64map_free(&e->by_key);
	free(e);
}

const struct cpython_image *exe_cache_find(struct exe_cache *e, uint64_t key,
					   const struct py_exe **exe)
{
	const struct known_exe *known = u64map_get(&e->by_key, key);

	if (!known || !known->image)
		return NULL;
	*exe = &known->exe;
	return known->image;
}

static struct known_exe *entry(struct exe_cache *e, uint64_t key)
{
	struct known_exe *known = u64map_get(&e->by_key, key);

	if (known || e->by_key.cnt >= MAX_EXES_SEEN)
		return known;
	known = calloc(1, sizeof(*known));
	if (known && u64map_put(&e->by_key, key, known)) {
		free(known);
		known = NULL;
	}
	return known;
}

static bool is_same_file(int a, int b)
{
	struct stat st_a, st_b;

	return !fstat(a, &st_a) && !fstat(b, &st_b) && st_a.st_dev == st_b.st_dev &&
	       st_a.st_ino == st_b.st_ino;
}

/*
 * Remember what an executable runs. image NULL: no supported interpreter. of: a process that runs
 * it, or NULL. Where self_below is needed, only a process shows which C library counts.
 */
static void remember(struct exe_cache *e, uint64_t key, int exe_fd,
		     const struct cpython_image *image, bool seen, const struct py_proc *of)
{
	struct known_exe *known = entry(e, key);
	const struct elf_file *lib;
	struct py_proc proc;
	struct py_exe exe;

	if (!known || !image || !image->file || known->seen || (known->image && !seen) ||
	    (image->needs_self && !of))
		return;
	lib = is_same_file(exe_fd, image->file->fd) ? NULL : image->file;
	known->seen = seen;
	discovery_proc(image, &proc);
	proc.self_below = of ? of->self_below : 0;
	if (exe_describe(exe_fd, lib, &proc, &exe))
		return;
	known->image = image;
	known->exe = exe;
	if (e->cb)
		e->cb(e->ctx, key, &known->exe);
}

/*
 * Inspect an executable that does not run: the interpreter is in it, or in the library that
 * it will load.
 */
static void learn_file(struct exe_cache *e, int fd, const char *path)
{
	const struct cpython_image *image;
	uint64_t key;
	int lib;

	if (exe_key_of(fd, &key) || u64map_get(&e->by_key, key))
		return;
	image = discovery_image(e->discovery, fd);
	if (image) {
		remember(e, key, fd, image, true, NULL);
		return;
	}
	lib = exe_open_library(fd, path);
	remember(e, key, fd, lib < 0 ? NULL : discovery_image(e->discovery, lib), false,
		 NULL);
	if (lib >= 0)
		close(lib);
}

void exe_cache_learn(struct exe_cache *e, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	learn_file(e, fd, path);
	close(fd);
}

static void learn_likely(void *ctx, const char *path)
{
	exe_cache_learn(ctx, path);
}

void exe_cache_learn_likely(struct exe_cache *e)
{
	exe_each_likely(learn_likely, e);
}

static int open_exe(pid_t task)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/exe", task);
	return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void exe_cache_learn_process(struct exe_cache *e, pid_t tgid, uint64_t key)
{
	char path[PATH_MAX];
	int fd;

	if (!key || u64map_get(&e->by_key, key))
		return;
	fd = open_exe(proc_living_task(tgid));
	if (fd < 0)
		return;
	if (proc_exe(tgid, path, sizeof(path)))
		path[0] = '\0';
	learn_file(e, fd, path);
	close(fd);
}

void exe_cache_seen(struct exe_cache *e, const struct proc_info *who,
		    const struct cpython_image *image, const struct py_proc *proc)
{
	int fd = open_exe(who->task);
	uint64_t key;

	if (fd < 0)
		return;
	if (!exe_key_of(fd, &key))
		remember(e, key, fd, image, true, proc);
	close(fd);
}

/* ---- the description of an executable ---- */

int exe_key_of(int fd, uint64_t *key)
{
	uint64_t head[EXE_HEAD / 8] = { 0 };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/*
	 * If the file is shorter, the kernel's buffer is zero behind its end (fs/exec.c,
	 * prepare_binprm()).
	 */
	if (pread(fd, head, sizeof(head), 0) < 0)
		return -errno;
	*key = exe_key(st.st_ino, (uint64_t)st.st_size, head);
	return 0;
}

int exe_describe(int exe_fd, const struct elf_file *lib, const struct py_proc *proc,
		 struct py_exe *out)
{
	struct elf_file exe;
	int err = elf_file_open(&exe, exe_fd);

	*out = (struct py_exe){ .proc = *proc };
	out->proc.state = PY_PROC_OTHER;
	if (!err)
		err = elf_link_phdrs(&exe, &out->phdr);
	if (err || !lib)
		return err;
	err = elf_link_slot(&exe, lib, &out->slot, &out->symbol);
	if (!err)
		err = elf_link_identity(lib, &out->id_at, out->id, sizeof(out->id));
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

/* Open dir/name; $ORIGIN in dir is the directory of path. */
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

/* Open name in the first directory of list that has it; directories are separated by colons. */
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
	/* Debian and relatives, other distributions, local installations. */
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

/* ---- likely interpreters ---- */

/* Matches python, python3, python3.11, python3.13t and python3.11-dbg, but not pypy. */
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
	dev_t dev[256];		/* files seen so far: python3 is mostly a link to python3.X */
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
	if (realpath(path, real))	/* $ORIGIN is the directory of the file, not of a link */
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
		"/opt/*/*/bin/python*",			/* conda environments, pyenv in /opt */
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
