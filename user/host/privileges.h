/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * privileges.h - what rights this process keeps, and what it gives up.
 */
#ifndef TACHBPF_PRIVILEGES_H
#define TACHBPF_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

/* Which of these capabilities a recording keeps (bits). */
uint64_t privileges_for_recording(uint64_t has);

/*
 * May the user who called sudo create what is at path: a file, or is_dir, a directory in which
 * there may be files? NULL: a new one in the current directory. true without sudo, and for what
 * belongs to that user.
 */
bool privileges_user_may_create(const char *path, bool is_dir);

/*
 * For a recording, once everything is loaded and attached, before anything is looked at that
 * others control: give up all capabilities but those for BPF maps and perf events, and the
 * ability to gain others (no_new_privs). If files belong to the user who called sudo
 * (output_owner()), they are created with that user's rights from now on. Workers and commands
 * that were started before keep their own rights. 0 or -errno.
 */
int privileges_drop_for_recording(void);

/* For a program that only reads: give up all capabilities, and the ability to gain others. */
int privileges_drop_all(void);

#endif
