/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cgroups.h - lists the cgroups of all mounted hierarchies: v2 has one, v1 one per set of
 * controllers, a hybrid host both.
 *
 * Knows mounts and directories. It does not know which processes are in a cgroup, or what its name
 * means.
 */
#ifndef TACHBPF_CGROUPS_H
#define TACHBPF_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups;

/* Find the mounted hierarchies. NULL with errno. Freed by cgroups_free(). */
struct cgroups *cgroups_new(void);
void cgroups_free(struct cgroups *c);

struct cgroup_dir {
	uint32_t hierarchy;	/* as in /proc/PID/cgroup; 0: v2 */
	uint64_t id;		/* inode number, which is the kernel's id; never reused */
	const char *path;	/* as in /proc/PID/cgroup; hostile */
};

/*
 * Call cb for every cgroup, parents first, until it returns non-zero; returns that value. Cgroups
 * that cannot be read are skipped. Otherwise 0 or -errno.
 */
int cgroups_each(struct cgroups *c, int (*cb)(void *ctx, const struct cgroup_dir *dir), void *ctx);

/*
 * Call cb for every cgroup of a process, in each hierarchy, and for all cgroups above it, innermost
 * first, until cb returns non-zero; returns that value. own: the process itself is in this cgroup,
 * not in one below it. Otherwise 0 or -errno; -ESRCH: no such process.
 */
int cgroups_of_process(pid_t tgid,
		       int (*cb)(void *ctx, uint32_t hierarchy, const char *path, bool own),
		       void *ctx);

/* The id of a cgroup; 0: it does not exist, or its hierarchy is not mounted. */
uint64_t cgroups_id(struct cgroups *c, uint32_t hierarchy, const char *path);

/*
 * Read the file called name of a cgroup: at most size - 1 bytes, NUL-terminated. Returns false if
 * there is none, or the hierarchy is not mounted.
 */
bool cgroups_read(struct cgroups *c, uint32_t hierarchy, const char *path, const char *name,
		  char *out, size_t size);

/*
 * Find the cgroup of a directory that the user named ("/sys/fs/cgroup/pids/a"). Sets *path ("/a"),
 * which points into dir, and *hierarchy. -ENOENT: dir is below no cgroup mount, so it is already a
 * cgroup's path.
 */
int cgroups_resolve(struct cgroups *c, const char *dir, uint32_t *hierarchy, const char **path);

#endif
