/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inspect_source.h - reads a Python source file as a process sees it. For the inspector
 * (inspector.h), in which it runs: a file system may never answer.
 *
 * The process chooses the path, and our report shows the text to others. So only a regular file
 * that looks like Python is read (formats/source_text.h), below the process' root, and only if the
 * process' own user may read it and enter each directory on the way.
 */
#ifndef TACHBPF_INSPECT_SOURCE_H
#define TACHBPF_INSPECT_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define INSPECT_SOURCE_BYTES_MAX (512 * 1024)

struct source_wanted {
	pid_t tgid;		/* below the root of this process; 0: below our own root */
	uint64_t start_ns;	/* its start (process_start_ns()): another process is refused */
	bool of_user;		/* with the rights of uid alone, of a process that has ended;
				 * otherwise with those of tgid */
	uint32_t uid;
	char path[PATH_MAX];	/* absolute */
};

struct source_found {
	uint64_t mtime_ns;	/* since 1970 */
	uint32_t len;
	uint8_t text[INSPECT_SOURCE_BYTES_MAX];
};

/*
 * 0: *out. -EACCES: the user may not read it. -ENOEXEC: it does not look like Python. -EINVAL: it
 * is not a regular file, or the path is not absolute. -EFBIG: it is larger than
 * INSPECT_SOURCE_BYTES_MAX. -ESRCH: there is no such process. Other -errno: it cannot be opened.
 */
int inspect_source(const struct source_wanted *wanted, struct source_found *out);

#endif
