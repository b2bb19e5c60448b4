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
	bool find;		/* prober_find() sets it */
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

/* Takes an event (uprobe_event_open()) of function i (USDT: 0), and owns it. 0 or -errno. */
typedef int (*prober_take_fn)(void *ctx, unsigned int i, bool returns, int event);

/*
 * Probe what is wanted. 0; -ENOENT: no file has it; -ESRCH: the process is gone; -ETIMEDOUT: a file
 * did not answer; -EBUSY: try again; other -errno.
 */
int prober_probe(const struct prober_wanted *wanted, prober_take_fn take, void *ctx,
		 struct prober_found *found);

/*
 * Takes a file that has what is wanted, open for reading, which the function owns; places[i]: the
 * offset of function i in it, 0: none, or it is another name of an earlier one. The file chose
 * them. 0 or -errno.
 */
typedef int (*prober_file_fn)(void *ctx, int fd, const uint64_t places[PARSER_FUNCTIONS_MAX]);

/* Find the functions that are wanted, without probing them. As prober_probe(). */
int prober_find(const struct prober_wanted *wanted, prober_file_fn take, void *ctx,
		struct prober_found *found);

/* End it. The events last as long as their descriptors. */
void prober_end(void);

/*
 * Returns true if a file's name, the part of path after the last '/', is `name`, which may be
 * followed by a version: "libc" matches libc.so.6, "python" python3.11.
 */
bool prober_is_called(const char *path, const char *name);

/* The kernel's perf event type for uprobes; -errno: it has none. */
int uprobe_event_type(void);

struct uprobe_place {
	uint64_t offset;	/* of the instruction, in the file */
	uint64_t semaphore;	/* a counter in the file's data that the kernel keeps above 0 in
				 * each process while it is probed (USDT; 4.20); 0: none */
	bool returns;		/* probe the return of the function that begins there */
};

/*
 * Probe a place of a file from now on, only in the threads of the process tgid (0: in all
 * processes); a BPF program is attached to the event later. The kernel opens path. Returns the
 * event or -errno.
 */
int uprobe_event_open(int type, pid_t tgid, const char *path, const struct uprobe_place *place);

#endif
