/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * prober.h - the worker (worker.h) that probes code: it opens the files that a process has mapped,
 * or a file by its path. The parser reads these files (target/parser.h).
 */
#ifndef TACHBPF_PROBER_H
#define TACHBPF_PROBER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/parser.h"
#include "worker/worker.h"

extern const struct worker_kind prober_kind;

#define PROBER_FILES_MAX 8	/* matching files of one process */
#define PROBER_EVENTS_MAX 512	/* opened by one call */
#define PROBER_NAME_BYTES 128
#define PROBER_FILE_BYTES 512
#define PROBER_WAIT_MS 3000	/* limit on the wait for an answer */

/* Which code is probed. */
struct prober_wanted {
	pid_t tgid;		/* the files that this process has mapped ... */
	uint64_t start_ns;	/* ... if it has this start time (0: any) ... */
	char path[PATH_MAX];	/* ... or, if not "", the file at this path */
	bool everywhere;	/* in all processes that have the file, not only in tgid; other
				 * calls do not probe such a file again */
	bool returns;		/* probe returns of functions, too */
	char file[PROBER_FILE_BYTES];	/* limits mapped files to this name (prober_is_called()),
					 * or to this path if it has a '/'; "": no limit */
	/* Functions by their names ... */
	uint32_t cnt;		/* 0: a USDT probe */
	uint32_t needed;	/* a file without one of the first ones has none */
	uint64_t left_out;	/* bit i: function i is only looked for, not probed */
	char names[PARSER_FUNCTIONS_MAX][PARSER_FUNCTION_BYTES];
	/* ... or a USDT probe. */
	char provider[PARSER_FUNCTION_BYTES], probe[PARSER_FUNCTION_BYTES];
};

/* What was found. Names may contain any bytes. */
struct prober_found {
	uint32_t file_cnt;
	char names[PROBER_FILES_MAX][PROBER_NAME_BYTES];	/* paths, maybe cut at the front */
	uint32_t probe_cnt;
	int first_err;		/* why a place is not probed; 0: all places are */
	bool known;		/* everywhere: another call has probed all of them */
};

/* Takes an event (uprobe_event.h) of function i (USDT: 0), and owns it. 0 or -errno. */
typedef int (*prober_take_fn)(void *ctx, unsigned int i, bool returns, int event);

/*
 * Probe what is wanted. 0; -ENOENT: no file has it; -ESRCH: the process is gone; -ETIMEDOUT: a file
 * did not answer; -EBUSY: try again; other -errno.
 */
int prober_probe(const struct prober_wanted *wanted, prober_take_fn take, void *ctx,
		 struct prober_found *found);

/* End it. The events last as long as their descriptors. */
void prober_end(void);

/*
 * Returns true if a file's name, the part of path after the last '/', is `name`, which may be
 * followed by a version: "libc" matches libc.so.6, "python" python3.11.
 */
bool prober_is_called(const char *path, const char *name);

#endif
