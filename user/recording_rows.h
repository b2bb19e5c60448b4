/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recording_rows.h - what a recording knows of its processes: between
 * recording.c, which fills it, and summary.c, which prints it.
 */
#ifndef TACHBPF_RECORDING_ROWS_H
#define TACHBPF_RECORDING_ROWS_H

#include <limits.h>
#include <time.h>

#include "output.h"
#include "recording.h"
#include "u64map.h"

/* One process. */
struct row {
	pid_t tgid;
	char comm[PROC_COMM_MAX];
	char *command;			/* hostile, like comm */
	char version[sizeof(((struct cpython_image *)0)->version)];
	char file[OUTPUT_NAME_MAX];	/* "": no sample, no file */
	int fd;
	int journal_fd;			/* -1: none */
	double begin_s, end_s;		/* since the recording began */
	struct process_stats stats;
	int err;
};

/* A Python that is not supported. */
struct refusal {
	pid_t tgid;
	char comm[PROC_COMM_MAX];
	char why[256];
};

struct recording {
	struct recording_args args;
	char path[PATH_MAX];
	char *selection;
	int dirfd;			/* -1: single file */
	bool made_dir;			/* it was not there before */
	struct compressor *compressor;
	uint64_t start_ns, end_ns;
	time_t start_time;
	double sample_rate, missed_pct;
	struct row **rows;		/* in order of discovery */
	size_t row_cnt, file_cnt;
	struct u64map live;		/* tgid -> struct row */
	struct refusal *refusals;
	size_t refusal_cnt;
};

#endif
