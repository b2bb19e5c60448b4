/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hot_files.h - the source files in a recording's stacks, and the processes that had them. A path
 * of two processes is one file only if both see the same files: they are in one file_world.
 */
#ifndef TACHBPF_HOT_FILES_H
#define TACHBPF_HOT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"
#include "recording/sources_file.h"

struct recording;

/* What a process sees: this machine's own root; a container's; or only its own. */
struct file_world {
	bool ours;
	uint32_t alive_tgid;	/* one of its processes that outlived the recording; 0: none */
	uint64_t alive_ns;	/* its start */
};

struct hot_process {
	const struct file_world *world;	/* NULL: it is not known what it sees */
	uint32_t tgid, uid;	/* its effective user */
	uint64_t alive_ns;	/* its start, if it outlived the recording; 0: it has ended */
};

#define HOT_FILE_PROCESSES 4

struct hot_file {
	struct string_ref path;		/* owned */
	const struct file_world *world;
	const struct hot_process *had[HOT_FILE_PROCESSES];	/* some of those that had it */
	uint32_t had_cnt;
	uint64_t self, total;		/* weight of samples, as in a report by line */
	uint32_t entered;		/* frames of it in the stack that is being read */
	uint32_t places;		/* bits: paths of hot_files_read() whose profiles have it */
	struct saved_source saved;	/* its pids only, if the world is not ours */
};

struct hot_files {
	struct u64map processes;	/* tgid -> struct hot_process */
	struct u64map worlds;		/* hash -> struct file_world */
	struct u64map by_path;		/* hash of path and world -> struct hot_file */
	struct hot_file **list;		/* hottest first, after hot_files_sort() */
	size_t cnt, cap;
	uint64_t weight;		/* of all samples */
	uint64_t events;
};

/* Reads which processes the recording has. 0 or -ENOMEM; hot_files_free() frees in any case. */
int hot_files_begin(struct hot_files *h, const struct recording *r);
/*
 * Adds the samples of the profiles at a path of the recording; place: its number, below 32. Stops
 * at deadline_ns (now_ns()): what was read until then counts. Logs nothing. 0 or -errno.
 */
int hot_files_read(struct hot_files *h, char *path, unsigned int place, uint64_t deadline_ns);
/* Sorts the list, and drops files that are in few samples. */
void hot_files_sort(struct hot_files *h);
void hot_files_free(struct hot_files *h);

#endif
