/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * jail.h - limits one of our processes: which capabilities it keeps, which system calls it may
 * make, and how much memory it may use.
 */
#ifndef TACHBPF_JAIL_H
#define TACHBPF_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jail {
	uint64_t caps;			/* bits of the capabilities to keep, if present */
	const char *const *calls;	/* names of system calls, ends with NULL; those that
					 * every process needs to allocate, answer and exit are
					 * added */
	const char *const *refused;	/* names of further calls, which fail with EACCES instead
					 * of killing: what libraries try, and can do without.
					 * Ends with NULL; NULL: none. Not for a worker that the
					 * keeper starts: it is in the keeper's jail, too */
	uint64_t memory_bytes;		/* address space; 0: no limit */
	/*
	 * The process may open files for reading only, only below these directories; ends with
	 * NULL. NULL: no limit except calls. Without Landlock the directories do not limit it.
	 */
	const char *const *reads_below;
	bool internet;			/* IPv4 and IPv6 sockets, and netlink for the kernel's
					 * addresses; other sockets fail */
	bool threads;			/* more threads, but no processes */
	bool secret;			/* only root's processes may read its memory */
};

/* Drop all capabilities except these. 0 or -errno. */
int jail_keep_caps(uint64_t caps);

/*
 * If we are root: give up access to files as root's user and groups; permanently if the jail does
 * not allow setfsuid(). The processes that may send us signals stay the same. Call it before
 * jail_enter(). Does nothing if this process, or the one that started it, has already done it.
 */
void jail_leave_files(void);

/* Returns true if jail_leave_files() can do that, or has nothing to do. */
bool jail_can_leave_files(void);

/*
 * For a worker that writes files: as jail.reads_below, and below one more directory it may do all
 * that its user may (NULL: none). Its jail allows the three calls of Landlock. 0 or -errno.
 */
int jail_limit_files(const char *const *reads_below, const char *writes_below);

/* Check that the kernel filters system calls. 0; -errno: jail_enter() works without a filter. */
int jail_filter_works(void);

/*
 * Enter the jail, permanently: the kernel kills the process (SIGSYS) at any other system call. No
 * new privileges can be gained. System calls and memory are not limited under a sanitizer, which
 * makes calls of its own, nor if the kernel, or a filter that is already active, does not permit
 * filters. 0 or -errno.
 */
int jail_enter(const struct jail *jail);

#endif
