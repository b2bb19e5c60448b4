/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * users.h - names, ids and groups of this machine's users.
 *
 * A statically linked binary cannot load the C library's modules for other sources of users (LDAP
 * and similar): it reads only /etc/passwd and /etc/group.
 */
#ifndef TACHBPF_USERS_H
#define TACHBPF_USERS_H

#include <pwd.h>
#include <sys/types.h>

/* The user of this name or uid; NULL: no such user. Valid until the next call of either. */
struct passwd *user_by_name(const char *name);
struct passwd *user_by_uid(uid_t uid);

/* The id of the group of this name. Returns 0, or -ENOENT: no such group. */
int group_by_name(const char *name, gid_t *gid);

/* Replace this process' supplementary groups by gid and the user's own. 0, or -1 with errno. */
int user_take_groups(const char *name, gid_t gid);

#endif
