/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * jail.h - what a process of ours may still do: which capabilities it has, which system calls it
 * may make, how much memory it may use.
 */
#ifndef TACHBPF_JAIL_H
#define TACHBPF_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jail {
	uint64_t caps;			/* bits of the capabilities that it keeps, if it has them */
	const char *const *calls;	/* names of system calls, ends with NULL; those that every
					 * process needs to allocate, to answer and to end are
					 * added */
	const char *const *refused;	/* names of further calls, which fail with EACCES and do not
					 * kill: what libraries try, and can do without. Ends with
					 * NULL; NULL: none. Not for a worker that the keeper
					 * starts: it is in the keeper's jail, too */
	uint64_t memory_bytes;		/* address space; 0: no limit */
	/*
	 * Directories below which it may open files, for reading only; ends with NULL. Where the
	 * kernel has no Landlock, it may open others for reading, too. NULL: what calls says.
	 */
	const char *const *reads_below;
	bool internet;			/* sockets of IPv4 and IPv6, and to ask the kernel for
					 * its addresses; to make others fails */
	bool threads;			/* more threads, not processes */
	bool secret;			/* no process may look at its memory, but for root's */
};

/* Give up all capabilities but these. 0 or -errno. */
int jail_keep_caps(uint64_t caps);

/*
 * If we are root: give up what its owner and its groups may do with root's files, for good if
 * setfsuid() is not among the system calls of the jail. Whoever may send us signals stays the
 * same. To be called before jail_enter(). Does nothing if a process has done it that has started
 * this one.
 */
void jail_leave_files(void);

/* Can jail_leave_files() do that, or need it not? */
bool jail_can_leave_files(void);

/* Does the kernel filter system calls? 0, or -errno: then jail_enter() goes on without. */
int jail_filter_works(void);

/*
 * Enter the jail, for good: the kernel kills the process (SIGSYS) at any other system call. No
 * new privileges can be gained. Where the kernel, or a filter that is on already, has no filters,
 * and under a sanitizer, which makes calls of its own, there is no filter of system calls and no
 * limit of memory. 0 or -errno.
 */
int jail_enter(const struct jail *jail);

#endif
