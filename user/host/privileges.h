/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* privileges.h - gives up privileges that are not needed once everything is loaded. */
#ifndef TACHBPF_PRIVILEGES_H
#define TACHBPF_PRIVILEGES_H

/*
 * Give up all capabilities that recording does not need any more, and the ability to gain
 * others (no_new_privs). Commands that were started before keep theirs. 0 or -errno.
 */
int privileges_drop(void);

#endif
