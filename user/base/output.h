/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * output.h - creates output files, safely for a root process.
 *
 * No symbolic link is followed in the last component of a path; an existing file is
 * replaced and not written into; what is created under sudo belongs to the user who called
 * it (output_owner()). Everything is private (0600, 0700), like perf.data.
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
 * The user who called sudo, to whom what root creates is given. Only root trusts the variables
 * that say so, because sudo has set them. false: there is none.
 */
bool output_sudo_user(uid_t *uid, gid_t *gid);

/*
 * Whose files are that are created from now on, if not this process' own: those of the user who
 * called sudo, unless output_keep_roots() was called. false: they are our own.
 */
bool output_owner(uid_t *uid, gid_t *gid);
/* Give nothing to the user who called sudo: for places where that user may not write. */
void output_keep_roots(void);

/*
 * All functions that follow log the reason and the remedy in one line when they fail.
 *
 * Open a directory, which is created if it does not exist; its parent must exist. One that
 * has a recording already is refused, so that recordings are neither overwritten nor mixed.
 * Returns the file descriptor or -errno. *made: the directory is new.
 */
int output_create_dir(const char *path, bool *made);

/*
 * Create the file name in dirfd for writing and reading back; an existing regular file is
 * unlinked first. Returns the file descriptor or -errno.
 */
int output_create_file(int dirfd, const char *name);

/*
 * Open a file again that output_create_file() has created and that was closed meanwhile; was: what
 * fstat() said of it then. Returns the file descriptor; -EMFILE, -ENFILE, -ENOMEM; or -ESTALE: it
 * is gone, or another file has its name.
 */
int output_reopen_file(int dirfd, const char *name, const struct stat *was);

/* As output_create_file(), for a path whose directory must exist. */
int output_create_path(const char *path);

/*
 * As output_create_path(), but the file has its final name, and replaces an existing one,
 * only after output_commit(). output_abort() removes it.
 */
struct output_file {
	int fd;				/* -1: not open; output_abort() then does nothing */
	int dirfd;
	char name[OUTPUT_NAME_MAX];	/* final name in dirfd */
	char temp[OUTPUT_NAME_MAX];	/* name until output_commit(); "": none */
};
/* How such a name begins; it ends with ".tmp". A killed process leaves the file. */
#define OUTPUT_TEMP_PREFIX ".tachbpf-"
/*
 * 0 or -errno, which was logged. Only after a successful output_open() or output_reserve(), one of
 * the others is called, once.
 */
int output_open(struct output_file *f, const char *path);
int output_commit(struct output_file *f);
void output_abort(struct output_file *f);

/*
 * As output_open(), for the file called name in dirfd, which stays the caller's; and so many bytes
 * of the disk are its own before they are written. Until output_commit() it has no name, so a
 * killed process leaves nothing behind. A file system that has no such files gives it a temporary
 * name; one that cannot reserve room reserves none.
 */
int output_reserve(struct output_file *f, int dirfd, const char *name, uint64_t bytes);
/*
 * Make the file's own room larger, so that all of it is so many bytes. 0 or -errno, not logged:
 * there may be room later.
 */
int output_reserve_more(const struct output_file *f, uint64_t bytes);

/*
 * The steps of the functions above, for callers that check before they write.
 *
 * Open the directory of path and check it, and copy path's last component to name. If
 * dir_wanted, trailing slashes are dropped. Returns the file descriptor or -errno.
 */
int output_open_parent(const char *path, char name[OUTPUT_NAME_MAX], bool dir_wanted);
/* May root create files in this directory? path: its name, for the message. 0 or -errno. */
int output_check_dir(int dirfd, const char *path);
/* May the file called name be replaced? 0 if there is none, or a regular one; else -errno. */
int output_check_replaceable(int dirfd, const char *name);

/*
 * Would these two paths be the same file, however each is spelled? They need not exist. false if
 * the directory of one cannot be looked at.
 */
bool output_same_file(const char *a, const char *b);

/*
 * Flush stdout. 0, or -errno after logging it; -EPIPE (the reader has gone) is not logged. A
 * pager that has ended is no error: 0.
 */
int output_flush_stdout(void);

/* What profiles' names end with. */
#define OUTPUT_SUFFIX ".tach"

/*
 * "<tgid>-<comm><suffix>" as one component of a path, without characters that a terminal or a
 * shell gives a meaning. seq > 0
 * distinguishes later profiles with the same name: "<tgid>-<comm>.<seq><suffix>".
 */
void output_file_name(char out[OUTPUT_NAME_MAX], uint32_t tgid, const char *comm,
		      unsigned int seq, const char *suffix);

/* "tachbpf-<host>-<UTC time>" */
void output_default_name(char out[OUTPUT_NAME_MAX]);

#endif
