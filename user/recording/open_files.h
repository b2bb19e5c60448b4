/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * open_files.h - which profiles of a recording have their file and journal open. There may be more
 * profiles than descriptors: those that were written longest ago are closed, and opened again when
 * they are written.
 *
 * A file that the user has named always stays open, and is not in the list.
 */
#ifndef TACHBPF_OPEN_FILES_H
#define TACHBPF_OPEN_FILES_H

#include "recording/profile_file.h"

/*
 * Close others until there are descriptors for one more profile. 0, or -errno (-EMFILE: too few
 * are left although all are closed).
 */
int open_files_make_room(struct recording *r);
/* It was opened, by now, or was used: it is the last one to be closed. */
void open_files_add(struct profile_file *f);
/* It will be closed by the caller, for good. No error if it is not in the list. */
void open_files_remove(struct profile_file *f);
/* Open the profile's file and journal if they are closed. 0 or -errno. */
int open_files_ready(struct profile_file *f);

#endif
