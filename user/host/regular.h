/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* regular.h - opens files that others name. */
#ifndef TACHBPF_REGULAR_H
#define TACHBPF_REGULAR_H

#include <stdint.h>

/*
 * Open a regular file for reading. Even to open a device can have an effect, and a path of others
 * may lead to one; so the file is looked at before it is opened. resolve: as of openat2(2). Returns
 * the file descriptor, which the caller closes; -EINVAL: it is not regular; other -errno. May wait
 * for ever, if a FUSE server does not answer.
 */
int open_regular(int dirfd, const char *path, uint64_t resolve);

#endif
