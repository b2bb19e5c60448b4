/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replaced.h - what an earlier recording left in the place of a new one: the new one refuses to
 * begin, or, with --force, the old one is kept aside until the new one is finished.
 *
 * Aside is ".NAME.replaced" in the same directory. Only what a recording has written is ever set
 * aside or removed: TACH and Memlyze files, session.json, FILE.json, journals.
 */
#ifndef TACHBPF_REPLACED_H
#define TACHBPF_REPLACED_H

#include <stdbool.h>

#include "base/output.h"

/* What a recording writes to a place PATH. */
enum place_kind {
	PLACE_DIR,		/* PATH is a directory                                       */
	PLACE_FILE,		/* PATH is a file; PATH.json                                 */
	PLACE_COMMAND,		/* PATH is the command's file; PATH.json; PATH.d is a
				 * directory for what the command starts                     */
};

/* Where PATH.d is. */
#define PLACE_DIR_SUFFIX ".d"

struct replaced {
	int dirfd;			/* -1: nothing is aside */
	char name[OUTPUT_NAME_MAX];	/* PATH's last component */
	unsigned int aside;		/* bits of those parts that are */
};

/*
 * Nothing, or nothing but an empty file or directory, may be in the way. force: recordings
 * that are in the way are set aside. 0, or -errno after logging: -EEXIST, -EISDIR, -ENOTDIR:
 * something is in the way. Only after 0, one of the following is called, once.
 */
int replaced_make_room(struct replaced *r, const char *path, enum place_kind kind, bool force);

/* The new recording is finished: remove the old one. */
void replaced_remove(struct replaced *r);
/* Nothing came of the new one, and nothing is left of it: put the old one back. */
void replaced_restore(struct replaced *r);
/* The new one is incomplete: keep the old one where it is, and log where. */
void replaced_keep(struct replaced *r);

/* ---- a directory that an earlier recording has left ---- */

/* Longer than any name: one that does not fit is found when it is used (ENAMETOOLONG). */
#define OLD_NAME_BYTES (OUTPUT_NAME_MAX + 32)

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
