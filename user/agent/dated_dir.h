/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * dated_dir.h - a directory in which the agent makes entries with a time in their names: counts
 * them, and removes the oldest.
 *
 * The directory belongs to root or to us, nobody else may write to it, and one agent at a time uses
 * it. No symbolic link in it is followed. An entry's age is taken from its name; one whose time is
 * in the future (the clock was set back) counts as the oldest.
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

/* Formats a time in UTC. Years before 1970 or after 9999 become the nearest one. */
void dated_text(time_t t, char out[DATED_BYTES]);
/* Returns true if text begins with such a time, which is then in *t. */
bool dated_parse(const char *text, time_t *t);

struct dated_kind {
	const char *what;	/* for messages: "TACH recordings" */
	mode_t type;		/* S_IFREG or S_IFDIR; others are not ours */
	/* Returns true if this is the name of one of our entries; *t is its time then. */
	bool (*time_of)(const char *name, time_t *t);
	/* Removes the entry. Returns 0; or -errno: it stays, and does not count. */
	int (*remove)(int dirfd, const char *name);
};

struct dated_dir;

/*
 * Opens the directory, making it (0700), and its parent, if missing. From then on root's files stay
 * root's (output_keep_roots()). Returns NULL with errno after logging. EBUSY: another agent uses
 * it.
 */
struct dated_dir *dated_dir_open(const char *path, const struct dated_kind *kind);
void dated_dir_close(struct dated_dir *d);
/* Returns the directory's descriptor, which stays d's. */
int dated_dir_fd(const struct dated_dir *d);

/* Counts an entry that was made. */
void dated_dir_added(struct dated_dir *d);
/*
 * Removes the oldest entries until at most keep are left. skip: an unfinished one that does not
 * count; NULL: none. *removed: the number removed; may be NULL. Returns how many could not be
 * removed: they stay, and no longer count.
 *
 * The directory is read the first time, and again after 512 entries have been removed.
 */
uint32_t dated_dir_keep(struct dated_dir *d, uint64_t keep, const char *skip, uint64_t *removed);

#endif
