/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parquet_child.h - the Python process that makes Parquet of rows (parquet_rows.h) by pyarrow. Its
 * program is parquet_script.py, which is embedded in ours.
 *
 * It is the python3 in PATH, or TACHBPF_PYTHON, in isolated mode; under sudo it runs as the user
 * who called sudo.
 */
#ifndef TACHBPF_PARQUET_CHILD_H
#define TACHBPF_PARQUET_CHILD_H

#include <signal.h>
#include <sys/types.h>

struct parquet_child {
	pid_t pid;	/* 0: none */
	int rows;	/* a pipe to it; writing fails with EPIPE when it has ended */
	struct sigaction pipe_was;	/* SIGPIPE's; ignored until the end */
};

/*
 * Starts it. It writes to fd or, if fd is -1, below the directory dirfd; both stay the caller's.
 * Returns 0, or -errno after logging.
 */
int parquet_child_start(struct parquet_child *c, int fd, int dirfd);

/*
 * Ends the rows, and waits until it has written everything. err: why there are no more rows, or 0.
 * Returns 0, -errno, or SINK_REPORTED after logging why it failed. Its reason has priority over
 * -EPIPE.
 */
int parquet_child_end(struct parquet_child *c, int err);

#endif
