/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mapped_files.h - which of the files that a process has mapped may be a Python: its executable,
 * files named libpython, and other code. Knows no file's content.
 */
#ifndef TACHBPF_MAPPED_FILES_H
#define TACHBPF_MAPPED_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/otel_signs.h"
#include "host/proc.h"

/* A file whose beginning a process has mapped. */
struct mapped {
	struct proc_map map;
	char path[256];			/* truncated; map.path points to it */
	bool code;			/* part of it is mapped executable */
	bool libpython, python, libc;	/* according to its name */
};

/*
 * Limits on files of a process. A program can map as many files with data as it likes: they do not
 * count. The executable, the C library and files named libpython have reserved places. Of other
 * code, a browser maps 250 files, a desktop program 400.
 */
#define MAPPED_CODE_MAX 4096
#define MAPPED_LIBPYTHON_MAX 64
#define MAPPED_MAX (MAPPED_CODE_MAX + MAPPED_LIBPYTHON_MAX + 3)
#define MAPPED_NOWHERE MAPPED_MAX

struct mapped_files {
	struct mapped files[MAPPED_MAX];	/* in order of address */
	size_t cnt;
	size_t exe_at, libc_at;		/* indices; MAPPED_NOWHERE: not found */
	uint64_t hash;			/* of these mappings */
	struct otel_mappings otel;	/* where a process context may be; not part of the hash */
	bool cut;			/* the list in /proc was too long to be read completely */
	/* While the list is read: */
	char exe[PATH_MAX];		/* the executable's path; "": unknown */
	uint64_t phdr;			/* address of its program headers; 0: unknown */
	size_t code_cnt, libpython_cnt, phdr_at;
	struct mapped last;		/* the last file whose beginning was mapped */
	size_t last_at;			/* its index; MAPPED_NOWHERE: it has no place so far */
};

/* Read the mappings of the process into *m. 0 or -errno, as proc_maps(). */
int mapped_files_read(struct mapped_files *m, pid_t tgid);
/*
 * The same from a file with the text of /proc/PID/maps. exe: the executable's path, "": unknown;
 * phdr: AT_PHDR, 0: unknown.
 */
int mapped_files_read_text(struct mapped_files *m, const char *path, const char *exe,
			   uint64_t phdr);

/* Returns true if f is a mapping without code, of a file whose code is mapped elsewhere. */
bool mapped_files_is_other_view(const struct mapped_files *m, const struct mapped *f);

#endif
