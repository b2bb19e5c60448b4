/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dated_dir.h - a directory in which the agent makes entries whose names have a time: how many
 * are there, and the oldest go.
 *
 * The directory belongs to root or to us, nobody else may write to it, and one agent at a time
 * uses it. No symbolic link in it is followed. An entry's age is by its name; one whose time is
 * in the future (the clock has gone back) counts as the oldest.
 */
#ifndef TACHBPF_AGENT_DATED_DIR_H
#define TACHBPF_AGENT_DATED_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* "YYYYMMDDTHHMMSSZ" and NUL. */
#define DATED_BYTES 17
#define DATED_LEN (DATED_BYTES - 1)

/* A time as text, UTC; years 1970 to 9999, others become the nearest. */
void dated_text(time_t t, char out[DATED_BYTES]);
/* Does text begin with such a time? Then it is in *t. */
bool dated_parse(const char *text, time_t *t);

struct dated_kind {
	const char *what;	/* for messages: "TACH recordings" */
	mode_t type;		/* S_IFREG or S_IFDIR; others are not ours */
	/* Is this the name of an entry of ours, and of what time? */
	bool (*time_of)(const char *name, time_t *t);
	/* Remove the entry. 0; or -errno: it stays, and does not count. */
	int (*remove)(int dirfd, const char *name);
};

struct dated_dir;

/*
 * Open the directory, which is made (0700) if it is not there, with the last part of the path to
 * it. From then on root's files stay root's (output_keep_roots()). NULL with errno; logs why.
 * EBUSY: another agent uses it.
 */
struct dated_dir *dated_dir_open(const char *path, const struct dated_kind *kind);
void dated_dir_close(struct dated_dir *d);
/* The descriptor of the directory, which stays *d's. */
int dated_dir_fd(const struct dated_dir *d);

/* An entry was made. */
void dated_dir_added(struct dated_dir *d);
/*
 * Remove the oldest entries until at most keep are there. skip: one that is not finished, and does
 * not count; NULL: none. *removed: how many were; NULL is allowed. Returns how many could not be
 * removed: they stay, and count no more.
 *
 * The directory is read the first time, and when 512 entries were removed since it was read.
 */
uint32_t dated_dir_keep(struct dated_dir *d, uint64_t keep, const char *skip, uint64_t *removed);

#endif
