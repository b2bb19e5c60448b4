/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* landlock.h - which files a process of ours may open, as far as the kernel has Landlock (5.13). */
#ifndef TACHBPF_LANDLOCK_H
#define TACHBPF_LANDLOCK_H

/*
 * From now on this process reads files below these directories only (ends with NULL; one that does
 * not exist is left out), and changes none. PR_SET_NO_NEW_PRIVS must be set. 0, also where the
 * kernel has no Landlock; else -errno.
 */
int landlock_read_below(const char *const *dirs);

#endif
