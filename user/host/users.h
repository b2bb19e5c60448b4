/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * users.h - names, numbers and groups of this machine's users.
 *
 * A binary that is linked statically cannot load the C library's modules for other sources of
 * users (LDAP and similar): it reads /etc/passwd and /etc/group only.
 */
#ifndef TACHBPF_USERS_H
#define TACHBPF_USERS_H

#include <pwd.h>
#include <sys/types.h>

/* The user of this name or number; NULL: there is none. Valid until the next call of either. */
struct passwd *user_by_name(const char *name);
struct passwd *user_by_uid(uid_t uid);

/* Replace this process' supplementary groups by gid and the user's own. 0, or -1 with errno. */
int user_take_groups(const char *name, gid_t gid);

#endif
