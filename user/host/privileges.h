/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* privileges.h - which rights this process keeps, and which it gives up. */
#ifndef TACHBPF_PRIVILEGES_H
#define TACHBPF_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

/* The capabilities (bits) out of these that a recording keeps. */
uint64_t privileges_for_recording(uint64_t has);

/*
 * Returns true if the user who called sudo may create what is at path: a file, or with is_dir a
 * directory that may contain files. NULL: a new one in the current directory. Also true without
 * sudo, and for what belongs to that user.
 */
bool privileges_user_may_create(const char *path, bool is_dir);

/*
 * For a recording, when everything is loaded and attached, before it looks at anything that others
 * control: give up all capabilities except those for BPF maps and perf events, and the ability to
 * gain others (no_new_privs). If files belong to the user who called sudo (output_owner()), they
 * are created with that user's rights from now on. Workers and commands that were started before
 * keep their rights. 0 or -errno.
 */
int privileges_drop_for_recording(void);

/* For a program that only reads: give up all capabilities, and the ability to gain others. */
int privileges_drop_all(void);

#endif
