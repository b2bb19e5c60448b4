/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sources_file.h - the source texts that a recording keeps: sources.json in its directory, or
 * FILE.sources.json next to a file that the user named.
 *
 *   { "version": 1,
 *     "sources": [ { "path": "/srv/app.py", "changed": false, "pids": [ 12 ],
 *                    "text": "import time\n..." }, ... ] }
 *
 * "pids": the processes that had this file, if their root was not the recording machine's own;
 * without it, this machine's. "changed": the file was changed after sampling began, so what ran may
 * differ. The hottest file comes first.
 */
#ifndef TACHBPF_SOURCES_FILE_H
#define TACHBPF_SOURCES_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_ref.h"

#define SOURCES_FILE_NAME "sources.json"
#define SOURCES_BESIDE_SUFFIX ".sources.json"

/* Limits of a file, also when it is read: files, bytes of each and of all, processes of one. */
#define SAVED_SOURCES_MAX 64
#define SAVED_SOURCE_BYTES (512u * 1024)
#define SAVED_SOURCES_BYTES (4u * 1024 * 1024)
#define SAVED_PIDS_MAX 256

struct saved_source {
	struct string_ref path, text;	/* any bytes; owned by the list */
	uint32_t *pids;
	uint32_t pid_cnt;		/* 0: of a process whose root was the machine's own */
	bool changed;
};

/* Zero-initialise; freed by saved_sources_free(). */
struct saved_sources {
	struct saved_source *list;
	size_t cnt, cap, bytes;
};

/* Adds a copy. 0; -E2BIG: it is beyond a limit, and nothing was added; -ENOMEM. */
int saved_sources_add(struct saved_sources *s, const struct saved_source *source);
/* Adds a process to one of the list; beyond the limit it is left out. 0 or -ENOMEM. */
int saved_source_add_pid(struct saved_source *source, uint32_t pid);
void saved_sources_free(struct saved_sources *s);

/* Returns where the texts of a recording are: a directory or a file. False: too long. */
bool sources_path(const char *recording, bool is_dir, char out[PATH_MAX]);

/* Writes the file at this path, which appears when it is complete. 0 or -errno; logs why. */
int saved_sources_write(const struct saved_sources *s, const char *path);

/*
 * Adds what the file dirfd/name has, which may be anything: what is not in the form above is left
 * out. 0; -ENOENT; -EBADMSG: it is not such a file; other -errno. Logs nothing.
 */
int saved_sources_read(struct saved_sources *s, int dirfd, const char *name);
#endif
