/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_set.h - the profiles named on a command line: files of any readable format, and
 * directories of recordings with their session.json.
 *
 * A damaged file does not hide the others: it is reported in one line, the others are processed,
 * and the set remembers that something failed.
 */
#ifndef TACHBPF_PROFILE_SET_H
#define TACHBPF_PROFILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"
#include "model/reader.h"
#include "model/service_map.h"
#include "recording/session_json.h"

struct profile_region;
struct sample_filter;
struct sample_filter_options;

/* A recording's directory. */
struct profile_dir {
	char *path;
	struct session_json *session;	/* NULL: none */
};

struct profile_file {
	char *path;
	char *shown;			/* path, escaped for terminals */
	const char *name;		/* path's last component */
	struct session_process process;	/* from FILE.json or session.json, or else the name */
	/* Owners of process.comm and .container if they are not from session.json: */
	char *comm, *container;
	struct thread_names *names;	/* owner of process.thread_names; NULL: another */
	struct named_service *service;	/* NULL: unknown */
	const struct session_json *session;	/* NULL: none */
	bool beside;			/* session is FILE.json: only for this file */
};

struct profile_set {
	struct profile_file *files;
	size_t file_cnt, file_cap;
	struct profile_dir *dirs;
	size_t dir_cnt, dir_cap;
	struct session_json **beside;	/* FILE.json of files; beside_cnt of them */
	size_t beside_cnt, beside_cap;
	struct profile_file **inner;	/* entries from profile_set_inner() */
	size_t inner_cnt, inner_cap;
	struct reader_args reader_args;	/* set by profile_set_open() */
	char *type;	/* owner of reader_args.type if it is the first file's; NULL: another is */
	bool many;	/* there may be several profiles: output must name them */
	bool failed;	/* something could not be read and was reported */
	bool quiet;	/* damaged samples were reported before: do not repeat it */
	const struct sample_filter_options *filter;	/* NULL: everything; set after opening */
	struct sample_filter *running;	/* of profile_set_run(), kept across profiles */
	bool part;	/* profile_set_part() */
	struct service_map services;	/* of the processes that share the file ... */
	const char *services_of;	/* ... of this path; NULL: none yet */
	size_t skipped, visited;	/* profile_set_each(): profiles, unwanted ones and others */
	size_t other_types;		/* profile_set_each(): files without the type of args */
};

/* Returns the file argument of session_json_losses() for it. */
const char *profile_file_losses_of(const struct profile_file *file);

/* Returns the mode of the file's samples; mode: the one in its header. */
enum profile_mode profile_file_mode(const struct profile_file *file, enum profile_mode mode);

/*
 * Completes meta with the process and the host, and stats (unless NULL) with the losses, from the
 * file's name and session.json. platform: storage for meta->platform.
 */
#define PROFILE_PLATFORM_BYTES 128
void profile_file_context(const struct profile_file *file, struct profile_meta *meta,
			  struct profile_stats *stats, char platform[PROFILE_PLATFORM_BYTES]);

/*
 * Passes on the regions beside the file, or those of its process beside its directory, in the
 * order of regions_each(), as far as the filter (NULL: all) accepts them; meta: of the profile.
 * Adds to *lost how many were not kept. A damaged file has none, after a warning. 0, or the error
 * of each().
 */
int profile_file_regions(const struct profile_file *file,
			 const struct sample_filter_options *filter,
			 const struct profile_meta *meta,
			 int (*each)(void *ctx, const struct profile_region *region), void *ctx,
			 uint64_t *lost);

/*
 * Finds the files of cnt paths; args (NULL: defaults) says how they are read. What belongs to a
 * profile, such as session.json and FILE.json, is skipped if a shell pattern matched it, too.
 * Returns 0, or -errno after logging if there is nothing to read. The caller must call
 * profile_set_free() in both cases.
 */
int profile_set_open(struct profile_set *set, char *const *paths, size_t cnt,
		     const struct reader_args *args);
void profile_set_free(struct profile_set *set);

/*
 * Returns the services of the processes that share a file, from session.json; NULL: no memory.
 * Valid until the next call.
 */
const struct service_map *profile_set_services(struct profile_set *set,
					       const struct profile_file *file);

/* Returns the service of one of several processes in a file; NULL: unknown. */
const struct profile_service *profile_set_service_of(struct profile_set *set,
						     const struct profile_file *file,
						     uint32_t tgid);
/* Sets the file's service, which is copied, if it has a name. Returns 0 or -ENOMEM. */
int profile_file_set_service(struct profile_file *f, const struct profile_service *s);

/* Sorts the files by container; those without a container come first. */
void profile_set_order(struct profile_set *set);

/*
 * Makes *part a set of cnt of the set's files, starting with this number, to be read in another
 * thread at the same time as other parts. The set must outlive it, and must not change meanwhile.
 * Then profile_set_join_part() adds the part's results to the set and leaves the part empty;
 * profile_set_free_part() discards them. Entries of files stay in place.
 */
void profile_set_part(const struct profile_set *set, size_t first, size_t cnt,
		      struct profile_set *part);
int profile_set_join_part(struct profile_set *set, struct profile_set *part);
void profile_set_free_part(struct profile_set *part);
/* After the last part: logs an error if the filter accepted no profile. */
void profile_set_end(struct profile_set *set);

/*
 * Makes an entry for one of several processes in a file; container: its label, NULL: none. The
 * entry is valid until profile_set_free(), and has no command. NULL: no memory.
 */
struct profile_file *profile_set_inner(struct profile_set *set, const struct profile_file *file,
				       uint32_t tgid, const char *comm, const char *container);

/*
 * Opens every file in turn and calls visit() for each profile in it whose process the filter
 * accepts; r has that profile selected. An error of visit() ends the loop and is returned. file
 * stays valid until profile_set_free(). Files that cannot be opened are reported, and set
 * set->failed.
 */
int profile_set_each(struct profile_set *set,
		     int (*visit)(void *ctx, const struct profile_file *file, struct reader *r),
		     void *ctx);

/*
 * For visit(): reader_run() through the filter, which supports neither kept_1 nor runs. Damaged
 * samples are logged and set set->failed; the samples before them count, and 0 is returned. Other
 * errors are returned: -errno.
 */
int profile_set_run(struct profile_set *set, const struct profile_file *file,
		    struct reader *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx);

#endif
