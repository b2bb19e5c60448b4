/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * prober.h - the worker (worker.h) that probes code: it opens what a process has mapped, or a file
 * by its path. The parser reads these files (target/parser.h).
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

#define PROBER_FILES_MAX 8	/* files with what is wanted, of one process */
#define PROBER_EVENTS_MAX 512	/* that one call opens */
#define PROBER_NAME_BYTES 128
#define PROBER_FILE_BYTES 512
#define PROBER_WAIT_MS 3000	/* how long an answer may take */

/* Which code is probed. */
struct prober_wanted {
	pid_t tgid;		/* of this process ... */
	uint64_t start_ns;	/* ... if it is this one (0: whatever it is) what it has mapped now ... */
	char path[PATH_MAX];	/* ... or, if this is not "", the file at this path */
	bool everywhere;	/* in all processes that have the file, not in tgid alone; what one
				 * call has probed so, others do not probe again */
	bool returns;		/* where functions return */
	char file[PROBER_FILE_BYTES];	/* of what is mapped: only files of this name
					 * (prober_is_called()), or of this path if it has a '/'; "":
					 * all */
	/* Functions by their names ... */
	uint32_t cnt;		/* 0: a USDT probe */
	uint32_t needed;	/* a file without one of the first so many has none */
	uint64_t left_out;	/* bit i: function i is not probed, only looked for */
	char names[PARSER_FUNCTIONS_MAX][PARSER_FUNCTION_BYTES];
	/* ... or a USDT probe. */
	char provider[PARSER_FUNCTION_BYTES], probe[PARSER_FUNCTION_BYTES];
};

/* What was found. Names have any bytes. */
struct prober_found {
	uint32_t file_cnt;
	char names[PROBER_FILES_MAX][PROBER_NAME_BYTES];	/* paths; the begin may be cut */
	uint32_t probe_cnt;
	int first_err;		/* why a place is not probed; 0: all are */
	bool known;		/* everywhere: all were probed by another call */
};

/* Takes an event (uprobe_event.h) of function i (USDT: 0), which it owns. 0 or -errno. */
typedef int (*prober_take_fn)(void *ctx, unsigned int i, bool returns, int event);

/*
 * Probe what is wanted. 0; -ENOENT: no file has it; -ESRCH: the process is gone; -ETIMEDOUT: a file
 * did not answer; -EBUSY: try again; other -errno.
 */
int prober_probe(const struct prober_wanted *wanted, prober_take_fn take, void *ctx,
		 struct prober_found *found);

/* End it. The events stay as long as their descriptors. */
void prober_end(void);

/*
 * Does a file's name, the part behind the last '/' of path, begin with `name`, and is what follows
 * a version? "libc" is libc.so.6, "python" is python3.11.
 */
bool prober_is_called(const char *path, const char *name);

#endif
