/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cgroups.h - the cgroups there are, in every hierarchy that is mounted: v2 has one, v1 one
 * for each set of controllers, a hybrid host both.
 *
 * Knows mounts and directories; who is in a cgroup and what its name means, others know.
 */
#ifndef TACHBPF_CGROUPS_H
#define TACHBPF_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups;

/* Find what is mounted. NULL with errno. */
struct cgroups *cgroups_new(void);
void cgroups_free(struct cgroups *c);

struct cgroup_dir {
	uint32_t hierarchy;	/* as in /proc/PID/cgroup; 0: v2 */
	uint64_t id;		/* the inode, which is the kernel's id; never used again */
	const char *path;	/* as in /proc/PID/cgroup; hostile */
};

/*
 * Call cb for every cgroup, parents first, until it returns non-zero, which is passed on.
 * Those that cannot be looked at are left out. 0 or -errno.
 */
int cgroups_each(struct cgroups *c, int (*cb)(void *ctx, const struct cgroup_dir *dir), void *ctx);

/*
 * Call cb for every cgroup that a process is in, in each hierarchy, and for all above them:
 * innermost first. own: it is the process' own, not one above. Passed on, or -errno; -ESRCH.
 */
int cgroups_of_process(pid_t tgid,
		       int (*cb)(void *ctx, uint32_t hierarchy, const char *path, bool own),
		       void *ctx);

/* The id of a cgroup; 0: not there, or its hierarchy is not mounted. */
uint64_t cgroups_id(struct cgroups *c, uint32_t hierarchy, const char *path);

/*
 * A directory that the user named ("/sys/fs/cgroup/pids/a") as a cgroup: its path ("/a") and its
 * hierarchy. -ENOENT: it is in none of the mounts, and a cgroup's path by itself.
 */
int cgroups_resolve(struct cgroups *c, const char *dir, uint32_t *hierarchy, const char **path);

#endif
