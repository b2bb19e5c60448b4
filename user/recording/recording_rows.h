/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording_rows.h - what a recording knows of its processes: between
 * recording.c, which fills it, and totals.c, session_json_write.c and summary.c, which say it.
 */
#ifndef TACHBPF_RECORDING_ROWS_H
#define TACHBPF_RECORDING_ROWS_H

#include <limits.h>
#include <time.h>

#include "base/output.h"
#include "base/u64map.h"
#include "recording/recording.h"
#include "recording/replaced.h"
#include "recording/shared_profile.h"
#include "resolve/process.h"

/* One process. */
struct row {
	pid_t tgid;
	char comm[PROC_COMM_MAX];
	char *command;			/* hostile, like comm */
	char version[sizeof(((struct cpython_image *)0)->version)];
	bool free_threaded;		/* the build; it has no GIL */
	char file[OUTPUT_NAME_MAX];	/* "": no sample, no file */
	double begin_s, end_s;		/* since the recording began */
	struct process_stats stats;
	int err;
	struct identity identity;	/* a merged file's: the container of all, if it is one */
	/* A merged file's: its processes with samples, and how many there were in all. */
	struct shared_profile_member *members;
	size_t member_cnt, merged_cnt;
	struct thread_names *names;	/* NULL: none; once the process has ended */
	bool ended;			/* nothing changes any more */
	bool named;			/* its file is the one that the user has named */
};

struct group;

/* A Python that is not supported. */
struct refusal {
	pid_t tgid;
	char comm[PROC_COMM_MAX];
	char why[256];
};

struct recording {
	struct observer observer;
	struct recording_args args;
	char *selection;
	/* recording_place.c's. */
	char path[PATH_MAX];		/* what the user has named */
	char dir_path[PATH_MAX];	/* the directory: path, or with PLACE_COMMAND path.d */
	int dirfd;			/* -1: there is none, or none yet */
	bool made_dir;			/* it was not there before */
	char **named;			/* files beside path, path first; x.1.tach after an exec */
	size_t named_cnt;
	struct replaced replaced;
	struct compressor *compressor;
	uint64_t start_ns, end_ns;
	time_t start_time;
	double missed_pct;
	/* recording_rows.c's. */
	struct row **rows;		/* in order of discovery, but for those on disk */
	size_t row_cnt;
	size_t ended_bytes;		/* of those in memory that have ended, about */
	FILE *ended;			/* NULL: none are on disk */
	size_t ended_cnt;		/* there */
	bool ended_broken;		/* no more can be written there */
	struct u64map names;		/* tgid, or hash of a merged file's comm -> files so far */
	size_t file_cnt;
	struct u64map live;		/* tgid -> struct observed */
	struct refusal *refusals;
	size_t refusal_cnt, refusals_more;
	struct group **groups;		/* merged files under way, by binary and command */
	size_t group_cnt;
	pid_t command_tgid;		/* never merged; 0: none */
	bool command_seen;		/* it was a Python */
	bool ending;			/* what is young now may yet have lived long */
	bool incomplete;		/* a file could not be written */
};

/* ---- recording_rows.c ---- */

/* Seconds since sampling began. */
double recording_since_start(const struct recording *r);
/* Add an empty row. NULL: no memory. */
struct row *recording_new_row(struct recording *r, const char *command);
void recording_remove_row(struct recording *r, struct row *row);
/* The row may be gone afterwards: it was written to disk. */
void recording_row_ended(struct recording *r, struct row *row);
/* Those on disk first. The row lives until each() returns. */
void recording_each_row(const struct recording *r, void (*each)(void *ctx, const struct row *row),
			void *ctx);
size_t recording_row_cnt(const struct recording *r);
void recording_free_rows(struct recording *r);
/* How many files had a name with this key before: the name's sequence number. */
unsigned int recording_name_used(struct recording *r, uint64_t key);

/* ---- recording_place.c ---- */

/* Name the place, make room there, make the directory. 0 or -errno; logs why. */
int recording_open_place(struct recording *r);
void recording_free_place(struct recording *r);
/* The directory's descriptor, which stays the recording's, made when needed; -errno; logs why. */
int recording_dir(struct recording *r);
/* Does the process' profile go to the file that the user has named? */
bool recording_is_named(const struct recording *r, pid_t tgid);
/* A file of that name was made beside path. 0 or -ENOMEM. */
int recording_add_named(struct recording *r, const char *name);
/* The path of a name beside path, in out. NULL with errno: it is too long. */
const char *recording_beside(const struct recording *r, const char *name, char out[PATH_MAX]);
/* session.json in the directory, FILE.json beside each named file. 0 or -errno; logs why. */
int recording_write_session(const struct recording *r, const struct capture_counts *c);

/* ---- session_json_write.c ---- */

/* only: a file's name, of whose process alone it is; NULL: of all. */
void recording_write_json(const struct recording *r, const struct capture_counts *c,
			  const char *only, FILE *out);

/* ---- shared_profile_files.c ---- */

/*
 * The samples of p, which are in the memory sink held (NULL: it has none), go to the file that
 * processes of its kind share. Frees row. 0 or -errno.
 */
int recording_merge(struct recording *r, struct row *row, const struct process *p,
		    const struct sink *held);
int recording_flush_groups(struct recording *r);
int recording_end_groups(struct recording *r);
void recording_free_groups(struct recording *r);

#endif
