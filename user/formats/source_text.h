/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* source_text.h - reads the Python source files that a profile names. */
#ifndef TACHBPF_SOURCE_TEXT_H
#define TACHBPF_SOURCE_TEXT_H

#include "base/util.h"

#define SOURCE_MAX_BYTES (4 * 1024 * 1024)

/* The numbers are part of the heat map's data format: docs/format-heatmap.md. */
enum source_state {
	SOURCE_READ = 0,
	SOURCE_NOT_WANTED = 1,	/* --no-source */
	SOURCE_MISSING = 2,	/* not there, or unreadable */
	SOURCE_NO_FILE = 3,	/* a directory, device, pipe ..., or not an absolute path */
	SOURCE_TOO_LARGE = 4,	/* by itself, or together with the files before it */
	SOURCE_NO_PYTHON = 5,	/* neither named as Python source nor a Python script */
};

/*
 * Reads a file's text; appended to b if the result is SOURCE_READ. The path may be hostile: only
 * regular files that look like Python are read, so that a profile cannot make a report contain
 * another file's content. Returns an enum source_state, or -ENOMEM.
 */
int source_read(const char *path, size_t len, struct buf *b);
/* The same for a file that is open for reading, of at most max bytes; it stays open. */
int source_read_open(int fd, size_t max, struct buf *b);

#endif
