/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording_rows.h - the state of a recording, with a row for each process or shared file. Only for
 * the files of this room: recording.c fills it in; totals.c, session_json_write.c and summary.c
 * report it.
 */
#ifndef TACHBPF_RECORDING_ROWS_H
#define TACHBPF_RECORDING_ROWS_H

#include <limits.h>
#include <time.h>

#include "base/link.h"
#include "base/output.h"
#include "base/u64map.h"
#include "base/util.h"
#include "recording/recording.h"
#include "recording/remarks.h"
#include "recording/replaced.h"
#include "recording/sums.h"
#include "resolve/process.h"

/* One process of a merged file. Times are since the recording began. */
struct shared_profile_member {
	pid_t tgid;
	uint32_t samples;
	float begin_s, end_s;
	uint64_t alive_ns;		/* as row.alive_ns */
	struct identity identity;
	uint32_t lost[LOSS_CNT];	/* by enum loss_cause; without those of the file */
	uint32_t service;		/* as row.service */
};

/* One process, or one file that processes share (a merged file). */
struct row {
	pid_t tgid;
	char comm[PROC_COMM_MAX];
	const char *command;		/* from shared_text_get(); untrusted, like comm */
	char version[sizeof(((struct cpython_image *)0)->version)];
	bool free_threaded;		/* a build without GIL */
	char file[OUTPUT_NAME_MAX];	/* "": there is no file, because there is no sample */
	double begin_s, end_s;		/* since the recording began */
	uint64_t alive_ns;		/* it outlived the recording: process_start_ns(); 0: not */
	struct process_stats stats;
	struct memory_sums memory;	/* --mode mem */
	int err;			/* of its file */
	bool lost;			/* an error that affects only this row was reported */
	struct identity identity;	/* merged file: the container, if all members share it */
	uint32_t service;		/* row_service_number(); 0: unknown, or a merged file */
	struct shared_profile_member *members;	/* merged file: processes with samples */
	size_t member_cnt;
	size_t merged_cnt;		/* merged file: all its processes; otherwise 0 */
	unsigned int in_group;		/* shared files: the group that it belongs to, 0: none; */
	size_t member_at;		/* and its index there */
	struct thread_names *names;	/* set when the process has ended; NULL: none */
	struct losses_of_threads *losses;	/* as names; also in stats.lost */
	uint64_t kept;			/* samples in its file when it was finished */
	bool ended;			/* the row no longer changes */
	bool named;			/* its file was named by the user */
};

/* Returns true if the row's file could not be created: its lost samples have another cause then. */
static inline bool row_has_no_file(const struct row *row)
{
	return row->err && !row->file[0];
}

/* Returns the losses in s by a cause. no_file: there is no file to write to. */
static inline uint64_t row_lost(const struct process_stats *s, enum loss_cause cause, bool no_file)
{
	if (cause == LOSS_NO_FILE)
		return no_file ? s->lost[LOSS_WRITE] : 0;
	return cause == LOSS_WRITE && no_file ? 0 : s->lost[cause];
}

struct group;
struct profile_file;

/* A file that the user has named, or after an exec x.1.tach next to it. */
struct named_file {
	char *name;
	struct output_file json;	/* its FILE.json, to be written at the end; fd -1: none */
};

/* profile_file.c: profiles whose files are open, by their last use. */
struct open_files {
	struct profile_file *newest, *oldest;
	size_t cnt;
};

struct recording {
	struct observer observer;
	struct recording_args args;
	char *selection;
	char *trigger;			/* NULL: none */
	/* recording_place.c sets these: */
	char path[PATH_MAX];		/* the path given by the user */
	char dir_path[PATH_MAX];	/* the directory: path, or with PLACE_COMMAND path.d */
	int dirfd;			/* -1: none, or none yet */
	bool made_dir;			/* the directory is new */
	struct named_file *named;	/* path's, and after an exec x.1.tach next to it */
	size_t named_cnt, named_cap;
	struct output_file session;	/* session.json, to be written at the end; fd -1: none */
	uint64_t session_bytes, session_reserved;	/* its approximate size, and the room
							 * reserved for it */
	struct replaced replaced;
	struct compressor *compressor;
	struct job_thread *joins;	/* of all TACH files */
	uint64_t start_ns, end_ns;
	time_t start_time;
	uint64_t utc_us;		/* the time of day minus CLOCK_MONOTONIC, at the start */
	double missed_pct;
	/* Only recording_rows.c changes these: */
	struct row **rows;		/* rows in memory, in the order of discovery */
	size_t row_cnt, row_cap;
	size_t ended_bytes;		/* approximate size of the ended rows in memory */
	FILE *ended;			/* rows on disk; NULL: none */
	size_t ended_cnt;		/* number of rows on disk */
	bool ended_broken;		/* no more rows can be written to disk */
	struct intern *services;	/* row_service.h; NULL: none was named */
	struct u64map names;		/* tgid, or hash of a merged file's comm -> files so far */
	size_t file_cnt;
	uint64_t bytes;			/* in the profiles' files, as of the last flush of each */
	struct open_files open, shared_open;	/* shared_open: of merged files */
	struct buf late_files;		/* memory_file.c */
	struct link *busy;		/* struct observed: those that on_tick() visits */
	struct u64map live;		/* tgid -> struct observed */
	struct remarks remarks;
	struct group **groups;		/* open merged files */
	size_t group_cnt, group_cap;
	unsigned int groups_made;
	pid_t command_tgid;		/* never shares a file; 0: none */
	bool command_seen;		/* the command was a Python process */
	bool ending;			/* sampling has ended: a young process no longer shares a
					 * file, because it might have lived on */
	bool incomplete;		/* a file could not be written */
	uint64_t lost_cnt;		/* processes that are lost, and the first one's reason */
	int lost_err;
	uint64_t lost_said[2];		/* bits: errors that were reported */
};

/* ---- recording_lost.c ---- */

/*
 * Judges an error of a row's profile. If it affects only this profile, the row counts as lost, each
 * kind of error is reported once, and 0 is returned: the recording goes on. Otherwise returns err:
 * the recording ends. 0 stays 0.
 */
int recording_judge_error(struct recording *r, struct row *row, int err);
/* Logs that a row's file cannot be written; with terse only the first error of its kind. */
void recording_log_write_error(struct recording *r, const struct row *row, int err);
/* Returns what the user can do about an error of one profile: "; ..." or "". */
const char *recording_lost_remedy(int err);

/* ---- recording_rows.c ---- */

/*
 * Return the seconds since sampling began, for now and for a time (CLOCK_MONOTONIC). Not below 0.
 */
double recording_since_start(const struct recording *r);
double recording_seconds(const struct recording *r, uint64_t at_ns);
/* Adds an empty row. NULL: no memory. */
struct row *recording_new_row(struct recording *r, const char *command);
/* Removes a row and frees it. */
void recording_remove_row(struct recording *r, struct row *row);
/* The row no longer changes. It may be written to disk and freed. */
void recording_row_ended(struct recording *r, struct row *row);
/* Calls each() for all rows, first those on disk. The row is valid until each() returns. */
void recording_each_row(const struct recording *r, void (*each)(void *ctx, const struct row *row),
			void *ctx);
/* Returns the number of rows, in memory and on disk. */
size_t recording_row_cnt(const struct recording *r);
void recording_free_rows(struct recording *r);
/* Returns a sequence number for a file name: how many files already have a name with this key. */
unsigned int recording_name_used(struct recording *r, uint64_t key);

/* ---- recording_place.c ---- */

/*
 * Sets row->file: "PID-COMM.tach", if it has no name yet; or, for a process whose file the user
 * named, that name. A second profile, after an exec, is "x.1.tach" next to "x.tach", so that
 * neither the first one nor one of an earlier recording is overwritten, unless the first one has no
 * sample.
 */
void recording_name_row(struct recording *r, struct row *row);
/* Chooses the place, makes room there, creates the directory. 0 or -errno; logs why. */
int recording_open_place(struct recording *r);
void recording_free_place(struct recording *r);
/* Returns the directory, created when needed; owned by the recording. Or -errno; logs why. */
int recording_dir(struct recording *r);
/* Returns true if the process' profile goes to the file that the user has named. */
bool recording_is_named(const struct recording *r, pid_t tgid);
/* A file of this name was created next to path: reserves its FILE.json. 0 or -errno; logs why. */
int recording_add_named(struct recording *r, const char *name);
/* Reserves room in session.json, if it exists, for a row with this command. */
void recording_reserve_row(struct recording *r, const char *command);
/* Returns the path of a name next to path, in out. NULL with errno: it is too long. */
const char *recording_beside(const struct recording *r, const char *name, char out[PATH_MAX]);
/* Sets out to the journal of a row's file: its path, or its name in r->dirfd. False: too long. */
bool recording_journal(const struct recording *r, const struct row *row, char out[PATH_MAX]);
/*
 * Writes session.json in the directory and FILE.json next to each named file, each atomically. 0 or
 * -errno; logs why. To be called once.
 */
int recording_write_session(struct recording *r, const struct capture_counts *c);

/* ---- session_json_write.c ---- */

/* only: write only the process of this file; NULL: all processes. */
void recording_write_json(const struct recording *r, const struct capture_counts *c,
			  const char *only, FILE *out);

/* ---- shared_profile_files.c ---- */

/*
 * Writes the samples of an ended process to the file that it shares with similar ones. They are in
 * the memory sink `held`; NULL: it has none. Frees row. 0 or -errno.
 */
int recording_merge(struct recording *r, struct row *row, const struct process *p,
		    const struct sink *held);
/*
 * Writes samples of a process that is still alive, this many, from the memory sink `held` to such a
 * file. Only the membership of row changes. 0 or -errno.
 */
int recording_share(struct recording *r, struct row *row, const struct process *p,
		    const struct sink *held, uint64_t samples);
/* Writes buffered data of shared files. 0 or the first -errno. */
int recording_flush_groups(struct recording *r);
/* Finishes all shared files. 0 or the first -errno. */
int recording_end_groups(struct recording *r);
/* Closes and frees all shared files without finishing them. */
void recording_free_groups(struct recording *r);

#endif
