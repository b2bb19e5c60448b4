/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * output.h - creates output files, safely for a root process.
 *
 * No symbolic link is followed in the last component of a path; an existing file is replaced and
 * not written into; files created under sudo are given to the user who called it (output_owner()).
 * Everything is private (0600, 0700), like perf.data.
 */
#ifndef TACHBPF_OUTPUT_H
#define TACHBPF_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* Room for output_default_name() and output_file_name(). */
#define OUTPUT_NAME_MAX 256

/*
 * Returns the user who called sudo, and to whom root's new files are given. Only root trusts the
 * variables for this, because sudo has set them. false: there is none.
 */
bool output_sudo_user(uid_t *uid, gid_t *gid);

/*
 * Returns the owner of files created from now on, if not this process's own: the user who called
 * sudo, unless output_keep_roots() was called. false: they are our own.
 */
bool output_owner(uid_t *uid, gid_t *gid);
/* Gives nothing to the user who called sudo: for places where that user may not write. */
void output_keep_roots(void);

/*
 * All functions below log the reason and the remedy in one line when they fail.
 *
 * Opens a directory, which is created if it does not exist; its parent must exist. One that already
 * contains a recording is refused, so that recordings are neither overwritten nor mixed. Returns
 * the file descriptor or -errno. *made: the directory is new.
 */
int output_create_dir(const char *path, bool *made);

/*
 * Creates the file name in dirfd for writing and reading back; an existing regular file is unlinked
 * first. Returns the file descriptor or -errno.
 */
int output_create_file(int dirfd, const char *name);

/*
 * Reopens a file that output_create_file() has created and that was closed since; was: its fstat()
 * then. Returns the file descriptor; -EMFILE, -ENFILE, -ENOMEM; or -ESTALE: it is gone, or another
 * file has its name.
 */
int output_reopen_file(int dirfd, const char *name, const struct stat *was);

/* As output_create_file(), for a path whose directory must exist. */
int output_create_path(const char *path);

/*
 * As output_create_path(), but the file gets its final name, and replaces an existing one, only in
 * output_commit(). output_abort() removes it.
 */
struct output_file {
	int fd;				/* -1: not open; output_abort() then does nothing */
	int dirfd;
	char name[OUTPUT_NAME_MAX];	/* final name in dirfd */
	char temp[OUTPUT_NAME_MAX];	/* name until output_commit(); "": none */
};
/* Prefix of such a name; it ends with ".tmp". A killed process leaves the file. */
#define OUTPUT_TEMP_PREFIX ".tachbpf-"
/*
 * Return 0 or -errno, which was logged. Exactly one of the others is called after a successful
 * output_open() or output_reserve().
 */
int output_open(struct output_file *f, const char *path);
int output_commit(struct output_file *f);
void output_abort(struct output_file *f);

/*
 * As output_open(), for the file called name in dirfd, which the caller keeps; reserves this many
 * bytes on the disk before they are written. Until output_commit() the file has no name, so a
 * killed process leaves nothing behind. On a file system without such files it has a temporary
 * name; on one that cannot reserve space, nothing is reserved.
 */
int output_reserve(struct output_file *f, int dirfd, const char *name, uint64_t bytes);
/*
 * Extends the reserved space to this many bytes in total. Returns 0 or -errno, not logged: there
 * may be room later.
 */
int output_reserve_more(const struct output_file *f, uint64_t bytes);

/*
 * The steps of the functions above, for callers that check before they write.
 *
 * Opens the directory of path and checks it, and copies path's last component to name. If
 * dir_wanted, trailing slashes are dropped. Returns the file descriptor or -errno.
 */
int output_open_parent(const char *path, char name[OUTPUT_NAME_MAX], bool dir_wanted);
/* Returns 0 if root may create files in this directory, or -errno. path: for the message. */
int output_check_dir(int dirfd, const char *path);
/* Returns 0 if the file called name may be replaced (none, or a regular one), or -errno. */
int output_check_replaceable(int dirfd, const char *name);

/*
 * Returns true if these two paths would be the same file, however they are spelled. They need not
 * exist. false if a directory cannot be read.
 */
bool output_same_file(const char *a, const char *b);

/*
 * Flushes stdout. Returns 0, or -errno after logging it; -EPIPE (the reader has gone) is not
 * logged. A pager that has ended is no error: 0.
 */
int output_flush_stdout(void);

/* The suffix of profiles' names. */
#define OUTPUT_SUFFIX ".tach"

/*
 * Makes "<tgid>-<comm><suffix>", one component of a path, without characters that are special to a
 * terminal or a shell. seq > 0 distinguishes later profiles with the same name:
 * "<tgid>-<comm>.<seq><suffix>".
 */
void output_file_name(char out[OUTPUT_NAME_MAX], uint32_t tgid, const char *comm,
		      unsigned int seq, const char *suffix);

/* Makes "tachbpf-<host>-<UTC time>". */
void output_default_name(char out[OUTPUT_NAME_MAX]);

#endif
