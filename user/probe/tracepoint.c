// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tracepoint.c - see tracepoint.h.
 *
 * Where tracefs is not mounted (a container, a minimal system), a private instance is created, and
 * mounted nowhere: fsmount(2).
 */
#include "probe/tracepoint.h"

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
#include "base/util.h"

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
