/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * source_text.h - reads Python source files whose names came with a profile.
 */
#ifndef TACHBPF_SOURCE_TEXT_H
#define TACHBPF_SOURCE_TEXT_H

#include "base/util.h"

#define SOURCE_MAX_BYTES (4 * 1024 * 1024)

/* The numbers are part of the heat map's data: docs/format-heatmap.md. */
enum source_state {
	SOURCE_READ = 0,
	SOURCE_NOT_WANTED = 1,	/* --no-source */
	SOURCE_MISSING = 2,	/* not there, or not readable */
	SOURCE_NO_FILE = 3,	/* a directory, device, pipe ..., or not an absolute path */
	SOURCE_TOO_LARGE = 4,	/* itself, or with those before it */
	SOURCE_NO_PYTHON = 5,	/* neither named like Python source nor a Python script */
};

/*
 * The text of a file, appended to b if the state is SOURCE_READ. The path is
 * hostile: only regular files that look like Python are read, so that a profile
 * cannot make a report carry another file's content away. -ENOMEM, or a state.
 */
int source_read(const char *path, size_t len, struct buf *b);

#endif
