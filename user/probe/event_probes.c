// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* event_probes.c - see event_probes.h. */
#include "probe/event_probes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/text.h"
#include "base/util.h"
#include "probe/prober.h"

static void fill_wanted(const struct event_spec *spec, struct prober_wanted *w)
{
	memset(w, 0, sizeof(*w));
	if (spec->kind == EVENT_UPROBE) {
		w->cnt = 1;
		w->needed = 1;
		snprintf(w->names[0], sizeof(w->names[0]), "%s", spec->what);
	} else {
		snprintf(w->provider, sizeof(w->provider), "%s", spec->group);
		snprintf(w->probe, sizeof(w->probe), "%s", spec->what);
	}
}

static void say_found(const struct event_spec *spec, const struct prober_found *found)
{
	char text[4 * PROBER_NAME_BYTES];
	uint32_t i;

	for (i = 0; i < found->file_cnt; i++) {
		escape_text(found->names[i], strlen(found->names[i]), text, sizeof(text));
		log_debug("-e %s: it is in %s", spec->name, text);
	}
	if (found->first_err)
		log_warn("-e %s: some places could not be probed: %s", spec->name,
			 strerror(-found->first_err));
}

/* Advice for an error; "": none. */
static const char *remedy_for(const struct event_spec *spec, int err)
{
	switch (err) {
	case -ENOENT:
		return spec->kind == EVENT_USDT ?
			       "it has no such USDT probe (`readelf -n FILE` lists them)" :
			       "it has no function of this name (`nm -D FILE` lists them)";
	case -ETIMEDOUT:
		return "a file does not answer";
	case -EMFILE:
		return "too many open files: raise the limit (ulimit -n)";
	case -ESRCH:
		return "the process has exited";
	case -EOPNOTSUPP:
	case -ENODEV:
		return "the kernel cannot probe it (CONFIG_UPROBE_EVENTS)";
	case -E2BIG:
		return "it is in too many places";
	default:
		return strerror(-err);
	}
}

static int probe_event(const struct event_spec *spec, const struct prober_wanted *w,
		       prober_take_fn take, void *ctx)
{
	struct prober_found found;
	int err = prober_probe(w, take, ctx, &found);

	if (!err && found.file_cnt && !found.probe_cnt)
		err = found.first_err ? found.first_err : -ENOENT;
	else if (!err)
		say_found(spec, &found);
	return err;
}

int event_probe_process(const struct event_spec *spec, pid_t tgid, uint64_t start_ns,
			bool everywhere, prober_take_fn take, void *ctx)
{
	struct prober_wanted w;
	int err;

	fill_wanted(spec, &w);
	w.tgid = tgid;
	w.start_ns = start_ns;
	w.everywhere = everywhere;
	snprintf(w.file, sizeof(w.file), "%s", spec->file);
	err = probe_event(spec, &w, take, ctx);
	if (err == -ENOENT && strchr(spec->file, '/')) {	/* other path, or not mapped yet */
		snprintf(w.path, sizeof(w.path), "%s", spec->file);
		err = probe_event(spec, &w, take, ctx);
		if (err)
			log_error("-e %s: %s: %s", spec->name, spec->file, remedy_for(spec, err));
		return err;
	}
	if (err == -ENOENT && *spec->file)
		log_error("-e %s: of the files that process %d has mapped and that are called %s*: "
			  "%s", spec->name, tgid, spec->file, remedy_for(spec, err));
	else if (err)
		log_error("-e %s: process %d cannot be probed: %s", spec->name, tgid,
			  err == -ENOENT ? "none of its files has such a probe (`readelf -n FILE` "
					   "lists them)" : remedy_for(spec, err));
	return err;
}

/*
 * The path for a name: of a library that ld.so.cache knows and that is called so
 * (prober_is_called()), else of a program in PATH. A name with a '/' is a path. 0 or -ENOENT.
 */
static int library_path(const char *name, char *path, size_t size);

int event_probe_file(const struct event_spec *spec, prober_take_fn take, void *ctx)
{
	struct prober_wanted w;
	int err;

	fill_wanted(spec, &w);
	w.everywhere = true;
	if (!*spec->file) {
		log_error("-e %s: no file: with -p, the files that the process has mapped are "
			  "searched; otherwise use usdt:FILE:%s:%s, with a path or the name of a "
			  "library",
			  spec->name, spec->group, spec->what);
		return -EINVAL;
	}
	err = library_path(spec->file, w.path, sizeof(w.path));
	if (err) {
		log_error("-e %s: neither ld.so.cache nor PATH contains %s: use its path, or -p "
			  "PID to search the files that the process has mapped", spec->name,
			  spec->file);
		return err;
	}
	err = probe_event(spec, &w, take, ctx);
	if (err)
		log_error("-e %s: %s: %s", spec->name, w.path, remedy_for(spec, err));
	return err;
}

/*
 * The format of ld.so.cache: glibc 2.36, sysdeps/generic/dl-cache.h, struct cache_file_new. In a
 * file that starts with an older cache, it follows at a multiple of 8.
 */
#define CACHE_FILE "/etc/ld.so.cache"
#define CACHE_BYTES_MAX (64u << 20)
#define CACHE_MAGIC "glibc-ld.so.cache1.1"
#define CACHE_HEAD_BYTES 48

struct entry {
	int32_t flags;
	uint32_t name, path;	/* from the beginning of the cache */
	uint32_t osversion;
	uint64_t hwcap;
};

/* FLAG_ELF_LIBC6, and FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64 */
#if defined(__aarch64__)
#define OWN_FLAGS 0x0a03
#else
#define OWN_FLAGS 0x0303
#endif

/* The string at an offset; NULL: it does not end within the cache. */
static const char *string_at(const uint8_t *cache, size_t bytes, uint32_t at)
{
	if (at >= bytes || !memchr(cache + at, '\0', bytes - at))
		return NULL;
	return (const char *)cache + at;
}

/* As library_path(), in the bytes of an ld.so.cache. */
static int library_path_in(const uint8_t *cache, size_t bytes, const char *name, char *path,
			   size_t size)
{
	const uint8_t *at = memmem(cache, bytes, CACHE_MAGIC, strlen(CACHE_MAGIC));
	const char *found, *is;
	struct entry e;
	uint32_t cnt, i;

	if (!at)
		return -ENOENT;
	bytes -= (size_t)(at - cache);
	if (bytes < CACHE_HEAD_BYTES)
		return -ENOENT;
	memcpy(&cnt, at + strlen(CACHE_MAGIC), sizeof(cnt));
	for (i = 0; i < cnt && CACHE_HEAD_BYTES + (i + 1ull) * sizeof(e) <= bytes; i++) {
		memcpy(&e, at + CACHE_HEAD_BYTES + i * sizeof(e), sizeof(e));
		is = string_at(at, bytes, e.name);
		found = string_at(at, bytes, e.path);
		if (e.flags != OWN_FLAGS || !is || !found || !prober_is_called(is, name))
			continue;
		return snprintf(path, size, "%s", found) < (int)size ? 0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

static int in_cache(const char *name, char *path, size_t size)
{
	int fd = open(CACHE_FILE, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct buf text = { 0 };

	if (!err)
		err = buf_add_file(&text, fd, CACHE_BYTES_MAX);
	if (fd >= 0)
		close(fd);
	if (!err)
		err = library_path_in(text.data, text.len, name, path, size);
	buf_free(&text);
	return err;
}

static int in_directories(const char *list, const char *name, char *path, size_t size)
{
	size_t len;

	for (; *list; list += len + (list[len] == ':')) {
		len = strcspn(list, ":");
		if (*list == '/' &&
		    snprintf(path, size, "%.*s/%s", (int)len, list, name) < (int)size &&
		    !access(path, X_OK))
			return 0;
	}
	return -ENOENT;
}

static int library_path(const char *name, char *path, size_t size)
{
	const char *directories = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size ? 0 : -ENAMETOOLONG;
	if (!in_cache(name, path, size))
		return 0;
	return in_directories(directories ? directories : "/usr/bin:/bin", name, path, size);
}

/* ---- tracepoints ---- */

/*
 * Where tracefs is not mounted (a container, a minimal system), a private instance is created, and
 * mounted nowhere: fsmount(2).
 */

/* Limit on names of a directory that are compared with the user's: syscalls has 700. */
#define NAMES_MAX 4096

static int fsopen_tracefs(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), fd;

	if (context < 0)
		return -errno;
	fd = syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) ? -1 :
	     (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		fd = -errno;
	close(context);
	return fd;
}

/* Open the directory `events`. Descriptor or -errno. */
static int open_events(void)
{
	int fd = open("/sys/kernel/tracing/events", O_RDONLY | O_DIRECTORY | O_CLOEXEC), root;

	if (fd < 0)
		fd = open("/sys/kernel/debug/tracing/events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	root = fsopen_tracefs();
	if (root < 0)
		return root;
	fd = openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd;
}

/* The id of the tracepoint, or -errno. */
static long read_id(int events, const struct event_spec *spec)
{
	char path[2 * EVENT_PART_BYTES + 8], text[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/id", spec->group, spec->what);
	fd = openat(events, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		n = n ? -errno : -ENODATA;
	close(fd);
	if (n < 0)
		return n;
	text[n] = '\0';
	return strtol(text, NULL, 10);
}

/* ---- what the user may have meant ---- */

struct names {
	char *list[NAMES_MAX];
	size_t cnt;
};

/* cli_name_fn */
static const char *name_at(const void *ctx, size_t i)
{
	const struct names *names = ctx;

	return i < names->cnt ? names->list[i] : NULL;
}

/* List the names of the folders in a folder of events. */
static void list_names(int events, const char *folder, struct names *names)
{
	int fd = openat(events, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && names->cnt < NAMES_MAX && (e = readdir(dir)))
		if (e->d_name[0] != '.' && e->d_type == DT_DIR)
			names->list[names->cnt++] = strdup(e->d_name);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	while (names->cnt && !names->list[names->cnt - 1])	/* out of memory */
		names->cnt--;
}

/* There is no such tracepoint: log the names that are similar. */
static void say_unknown(int events, const struct event_spec *spec)
{
	bool has_group = !faccessat(events, spec->group, F_OK, 0);
	const char *word = has_group ? spec->what : spec->group, *near;
	struct names names = { .cnt = 0 };

	list_names(events, has_group ? spec->group : ".", &names);
	near = cli_nearest(word, strlen(word), name_at, &names);
	if (near && has_group)
		log_error("-e %s: the kernel has no such tracepoint: did you mean %s:%s?",
			  spec->name, spec->group, near);
	else if (near)
		log_error("-e %s: the kernel has no tracepoints %s:*: did you mean %s:%s?",
			  spec->name, spec->group, near, spec->what);
	else
		log_error("-e %s: the kernel has no such tracepoint; `perf list tracepoint` and "
			  "/sys/kernel/tracing/events (tracefs) list them", spec->name);
	while (names.cnt)
		free(names.list[--names.cnt]);
}

static int open_event(long id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)id,
		.sample_period = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void log_failure(const struct event_spec *spec, int err)
{
	log_error("-e %s: cannot attach to the tracepoint: %s%s", spec->name, strerror(-err),
		  err == -EPERM || err == -EACCES ?
			  " (a seccomp filter, lockdown=confidentiality, or no access to tracefs)" :
		  err == -ENODEV || err == -ENOENT ?
			  " (the kernel was built without tracefs: CONFIG_FTRACE)" : "");
}

int tracepoint_open(const struct event_spec *spec)
{
	int events = open_events(), fd;
	long id;

	if (events < 0) {
		log_failure(spec, events);
		return events;
	}
	id = read_id(events, spec);
	fd = id < 0 ? (int)id : open_event(id);
	if (id == -ENOENT)
		say_unknown(events, spec);
	else if (fd < 0)
		log_failure(spec, fd);
	close(events);
	return fd;
}
