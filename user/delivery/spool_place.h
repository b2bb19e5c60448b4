/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spool_place.h - opens, checks and locks the spool's directory. */
#ifndef TACHBPF_SPOOL_PLACE_H
#define TACHBPF_SPOOL_PLACE_H

/*
 * Open the directory, which is created (0700) with its parent if it does not exist. It must be a
 * directory, no link, that belongs to us and that nobody else may look into; its parent must be
 * root's or ours. Lock it. 0 and two descriptors, the caller's; or -errno, which was logged with
 * the remedy. -EBUSY: another process has the lock.
 */
int spool_place_open(const char *path, int *dirfd, int *lock);

#endif
