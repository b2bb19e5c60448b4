/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * privileges.h - what this process may do once everything is loaded: no more than it needs.
 */
#ifndef TACHBPF_PRIVILEGES_H
#define TACHBPF_PRIVILEGES_H

/*
 * Give up all capabilities that recording does not need any more, and the way to get others
 * (no_new_privs). Started commands have theirs already. 0 or -errno.
 */
int privileges_drop(void);

#endif
