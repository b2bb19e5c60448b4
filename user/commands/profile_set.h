/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_set.h - the profiles that a command line names: files of any format
 * that is read, and the directories of recordings with what session.json says
 * about them.
 *
 * One damaged file does not hide the others: it is reported in one line, the
 * rest is processed, and the set remembers that something failed.
 */
#ifndef TACHBPF_PROFILE_SET_H
#define TACHBPF_PROFILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"
#include "model/reader.h"
#include "recording/session_json.h"

struct sample_filter_options;
struct tach_reader;

/* A recording's directory. */
struct profile_dir {
	char *path;
	struct session_json *session;	/* NULL: has none */
};

struct profile_file {
	char *path;
	char *shown;			/* path, escaped for terminals */
	const char *name;		/* path's last component */
	struct session_process process;	/* from session.json, else from the name */
	char *comm;			/* what process.comm points to if not from session.json */
	char *container;		/* likewise */
	const struct session_json *session;	/* NULL: none */
};

struct profile_set {
	struct profile_file *files;
	size_t file_cnt;
	struct profile_dir *dirs;
	size_t dir_cnt;
	struct profile_file **inner;	/* files that hold several profiles or processes: one for each */
	size_t inner_cnt;
	struct reader_args reader_args;	/* how files are read; set by profile_set_open() */
	bool many;	/* several profiles are possible: tell them apart */
	bool failed;	/* something could not be read, and was reported */
	bool quiet;	/* damaged samples have been told of: not again */
	const struct sample_filter_options *filter;	/* NULL: everything; set it after opening */
};

/*
 * What the file's name and session.json know beyond what is in it: meta's process
 * and host, and losses (stats NULL: not asked). platform: room for meta->platform.
 */
#define PROFILE_PLATFORM_BYTES 128
void profile_file_context(const struct profile_file *file, struct profile_meta *meta,
			  struct profile_stats *stats, char platform[PROFILE_PLATFORM_BYTES]);

/*
 * Find the files of cnt paths; args (NULL: defaults) says how they are read. 0, or
 * -errno after logging when there is nothing left to read. profile_set_free() either
 * way.
 */
int profile_set_open(struct profile_set *set, char *const *paths, size_t cnt,
		     const struct reader_args *args);
void profile_set_free(struct profile_set *set);

/* Files of one container one after the other, those of none first. */
void profile_set_order(struct profile_set *set);

/*
 * An entry for one of several processes in a file (container: its label, NULL: none); valid until profile_set_free(). NULL: no
 * memory. file's command is kept if it is the same for all of them.
 */
struct profile_file *profile_set_inner(struct profile_set *set, const struct profile_file *file,
				       uint32_t tgid, const char *comm, const char *container);

/*
 * Open every file in turn and call visit() for each profile in it whose process the
 * filter wants, with the reader at that profile; its error ends the walk and is
 * returned. file stays valid until profile_set_free(). Files that cannot be opened
 * set set->failed.
 */
int profile_set_each(struct profile_set *set,
		     int (*visit)(void *ctx, const struct profile_file *file, struct reader *r),
		     void *ctx);

/*
 * reader_run() for visit(), through the filter: damaged samples are logged and set
 * set->failed, and what came before them counts (0). Other errors are returned.
 */
int profile_set_run(struct profile_set *set, const struct profile_file *file,
		    struct reader *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx);

#endif
