/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* landlock.h - limits which files a process may open, if the kernel has Landlock (5.13). */
#ifndef TACHBPF_LANDLOCK_H
#define TACHBPF_LANDLOCK_H

/*
 * From now on this process can only read files, and only below these directories (ends with NULL;
 * directories that do not exist are skipped); below another one it can do all that its user may
 * (NULL: none). PR_SET_NO_NEW_PRIVS must be set. 0, also if the kernel has no Landlock; else
 * -errno.
 */
int landlock_limit(const char *const *reads_below, const char *writes_below);

#endif
