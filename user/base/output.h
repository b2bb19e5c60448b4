/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * output.h - creates the files we write, safely for a root process.
 *
 * No symbolic link is followed in the last component of a path, what exists is
 * replaced rather than written into, and what is created under sudo belongs to
 * the user who called it. Everything is private (0600, 0700), like perf.data.
 */
#ifndef TACHBPF_OUTPUT_H
#define TACHBPF_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

/* Room for output_default_name() and output_file_name(). */
#define OUTPUT_NAME_MAX 256

/*
 * All of these log the reason and the remedy in one line when they fail.
 *
 * The directory's descriptor; made if absent, its parent must exist. One that
 * holds a recording already is refused: nothing recorded is overwritten or mixed.
 * -errno
 */
int output_create_dir(const char *path);

/*
 * Create name in dirfd for writing (and reading back); an existing regular file
 * of that name is unlinked first. The descriptor or -errno.
 */
int output_create_file(int dirfd, const char *name);

/* The same for a path; its directory must exist. */
int output_create_path(const char *path);

/*
 * Like output_create_path(), but path appears only, and replaces what was there,
 * when output_commit() says so; output_abort() leaves no trace.
 */
struct output_file {
	int fd;
	int dirfd;
	char name[OUTPUT_NAME_MAX];	/* what it will be called in dirfd */
	char temp[OUTPUT_NAME_MAX];	/* what it is called until then */
};
int output_open(struct output_file *f, const char *path);
int output_commit(struct output_file *f);
void output_abort(struct output_file *f);

/* Flush stdout. -errno after logging; a reader that went away (-EPIPE) is not logged. */
int output_flush_stdout(void);

/*
 * "<tgid>-<comm>.tach" as one harmless path component; seq > 0 tells later
 * profiles of the same name apart: "<tgid>-<comm>.<seq>.tach".
 */
void output_file_name(char out[OUTPUT_NAME_MAX], uint32_t tgid, const char *comm,
		      unsigned int seq);

/* "tachbpf-<host>-<UTC time>" */
void output_default_name(char out[OUTPUT_NAME_MAX]);

#endif
