/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replaced.h - files of an earlier recording in the place of a new one: the new one is refused or,
 * with --force, the old one is set aside until the new one is finished.
 *
 * Files set aside are named ".NAME.replaced" in the same directory. Only files written by a
 * recording are ever set aside or removed: TACH and Memlyze files, session.json, FILE.json, the
 * sources next to them, journals.
 */
#ifndef TACHBPF_REPLACED_H
#define TACHBPF_REPLACED_H

#include <stdbool.h>

#include "base/output.h"

/* The files of a recording at PATH. */
enum place_kind {
	PLACE_DIR,		/* PATH is a directory                                       */
	PLACE_FILE,		/* PATH is a file; PATH.json, PATH.sources.json              */
	PLACE_COMMAND,		/* PATH is the command's file, as above; PATH.d is a directory for
				 * processes that the command starts */
};

/* The suffix of PATH.d. */
#define PLACE_DIR_SUFFIX ".d"

struct replaced {
	int dirfd;			/* -1: nothing is set aside */
	char name[OUTPUT_NAME_MAX];	/* PATH's last component */
	unsigned int aside;		/* bits of the parts that are set aside */
};

/*
 * Makes room: an empty file or directory may exist; with force, existing recordings are set aside.
 * 0, or -errno after logging: -EEXIST, -EISDIR, -ENOTDIR: something else exists there. Only after 0
 * must one of the following be called, once.
 */
int replaced_make_room(struct replaced *r, const char *path, enum place_kind kind, bool force);

/* The new recording is finished: removes the old one. */
void replaced_remove(struct replaced *r);
/* The new recording failed and left nothing: restores the old one. */
void replaced_restore(struct replaced *r);
/* The new recording is incomplete: keeps the old one set aside, and logs where. */
void replaced_keep(struct replaced *r);

/* ---- a directory of an earlier recording ---- */

/* Longer than any name: one that does not fit is found when it is used (ENAMETOOLONG). */
#define OLD_NAME_BYTES (OUTPUT_NAME_MAX + 32)

/*
 * Finds an entry of a directory that is not part of a recording: its name is in other; "": all are.
 * *entries: entries examined. 0 or -errno.
 */
int old_recording_find_other(int parent, const char *name, char other[OLD_NAME_BYTES],
			     size_t *entries);
/*
 * Removes the recording's files and the directory. 0; -ENOTEMPTY: something else is in it; -EPERM:
 * it belongs to another user, which was logged; -ENOTDIR, -ELOOP: it is not a directory; other
 * -errno.
 */
int old_recording_remove(int parent, const char *name);

#endif
