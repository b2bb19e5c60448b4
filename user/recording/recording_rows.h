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
	char path[PATH_MAX];
	char *selection;
	int dirfd;			/* -1: single file */
	bool made_dir;			/* it was not there before */
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
	bool ending;			/* what is young now may yet have lived long */
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
