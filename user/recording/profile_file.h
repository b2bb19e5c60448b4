/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_file.h - one profile while it is written: its file, the journal beside it, its sink.
 *
 * The journal is what `tachbpf recover` reads when a recording was killed.
 */
#ifndef TACHBPF_PROFILE_FILE_H
#define TACHBPF_PROFILE_FILE_H

#include <sys/types.h>

#include "model/sink.h"

struct cpython_image;
struct recording;
struct row;

struct profile_file {
	struct recording *recording;	/* outlives it */
	struct row *row;		/* what session.json says of it; gets the file's name */
	struct sink *sink;		/* NULL: nothing is written yet */
	struct profile_meta meta;	/* the sink keeps a pointer to it */
	int fd, journal_fd;		/* -1: none */
	int err;			/* the first one; nothing is written after it */
};

/* Nothing is opened yet. comm lives as long as the profile. tgid 0: of several processes. */
void profile_file_init(struct profile_file *f, struct recording *r, struct row *row,
		       const struct cpython_image *image, pid_t tgid, const char *comm);

/* The profile goes to this sink, which is its own from then on. 0 or -errno. */
int profile_file_begin(struct profile_file *f, struct sink *sink,
		       const struct profile_tables *tables);

/* Create the file and the journal, and write the profile there. 0 or -errno; logs why. */
int profile_file_create(struct profile_file *f, const struct profile_tables *tables);

/* 0 or -errno, the same for ever after the first error. */
int profile_file_event(struct profile_file *f, const struct event *ev);
int profile_file_flush(struct profile_file *f);

/* The end: write what the sink still has, close everything. 0 or the first -errno; logs why. */
int profile_file_end(struct profile_file *f);

/* Close everything without an end: what is written is for `tachbpf recover`. */
void profile_file_abandon(struct profile_file *f);

#endif
