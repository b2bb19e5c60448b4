/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spool_place.h - opens, checks and locks the spool's directory. */
#ifndef TACHBPF_SPOOL_PLACE_H
#define TACHBPF_SPOOL_PLACE_H

/*
 * Opens the directory, which is created (0700) with its parent if it does not exist. It must be a
 * directory, not a link, that belongs to us and that nobody else may read; its parent must be
 * root's or ours. Locks it. Returns 0 and two descriptors, owned by the caller; or -errno, which
 * was logged with the remedy. -EBUSY: another process has the lock.
 */
int spool_place_open(const char *path, int *dirfd, int *lock);

#endif
