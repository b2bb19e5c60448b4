/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * old_recording.h - what an earlier recording has left in a directory: is it a recording's, and
 * removing it.
 *
 * Only what a recording has written counts and is ever removed: TACH and Memlyze files,
 * session.json, FILE.json, journals. No symbolic link is followed.
 */
#ifndef TACHBPF_OLD_RECORDING_H
#define TACHBPF_OLD_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/output.h"

/* Longer than any name: one that does not fit is found when it is used (ENAMETOOLONG). */
#define OLD_NAME_BYTES (OUTPUT_NAME_MAX + 32)

bool old_recording_is_regular(int dirfd, const char *name);
/*
 * Is it a TACH or a Memlyze file; an empty one; or a TACH file whose recording was killed, with its
 * journal?
 */
bool old_recording_is_profile(int dirfd, const char *name);
/* Is it the journal of names of a Memlyze file? */
bool old_recording_is_names(int dirfd, const char *name);
/* Has the directory a recording, whatever else there is? */
bool old_recording_is_there(int parent, const char *name);
/*
 * What of a directory is not a recording's: the name of the first in other; "": all is. *entries:
 * how many were looked at. 0 or -errno.
 */
int old_recording_find_other(int parent, const char *name, char other[OLD_NAME_BYTES],
			     size_t *entries);
/*
 * Remove the recording's files, and the directory. 0; -ENOTEMPTY: something else is in it; -EPERM:
 * it is another user's, which was logged; -ENOTDIR, -ELOOP: it is no directory; other -errno.
 */
int old_recording_remove(int parent, const char *name);

#endif
