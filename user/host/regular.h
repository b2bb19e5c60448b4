/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* regular.h - opens files that others name. */
#ifndef TACHBPF_REGULAR_H
#define TACHBPF_REGULAR_H

#include <stdint.h>

/*
 * Open a regular file for reading. Opening a device can have side effects, and a path chosen by
 * others may lead to one; so the file is checked before it is opened. resolve: as for openat2(2).
 * Returns the file descriptor, which the caller closes; -EINVAL: not a regular file; other -errno.
 * May block forever if a FUSE server does not answer.
 */
int open_regular(int dirfd, const char *path, uint64_t resolve);

#endif
