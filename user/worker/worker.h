/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * worker.h - calls functions in another process, which is given up if it does not answer.
 *
 * Who opens, reads or parses what others name can wait for ever: behind a file or a page there may
 * be a FUSE server or a userfaultfd that never answers, and not even a signal ends that wait. So a
 * worker does it: a process with few rights (jail.h), with none of our files open, and with memory
 * that it shares with us for the input and the output of its functions. A worker that was given
 * up ends when the kernel lets it; another one takes its place.
 *
 * Workers are started by the keeper, a process that has the rights which they need, and which
 * does nothing else; so the program itself can give these rights up. Without a keeper a worker
 * is started by its client itself.
 *
 * All functions must be called from one thread only.
 */
#ifndef TACHBPF_WORKER_H
#define TACHBPF_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "worker/jail.h"

/*
 * So many workers of one place may be blocked; so many by one user's processes; and the last
 * ones only by root's, which others do not control.
 */
#define WORKER_STUCK_MAX 32
#define WORKER_STUCK_OF_USER 2
#define WORKER_STUCK_OF_ROOT 4

/* Descriptors that a call can pass to the worker. */
#define WORKER_FDS_MAX 2

/*
 * A function that a worker runs. shared: its input, which it replaces by its output. fds: what the
 * call passed, WORKER_FDS_MAX of them, -1: none; closed afterwards. Its result is the call's: 0
 * or -errno.
 */
typedef int (*worker_fn)(void *shared, const int *fds);

struct worker_kind {
	const char *name;		/* of the process: "tachbpf-reader" */
	const char *does;		/* for users, in a few words */
	const struct jail *jail;
	const worker_fn *functions;
	unsigned int function_cnt;
	size_t shared_bytes;
	/* The user of a process, who may block some of the workers only; NULL: nobody asks. */
	uint32_t (*owner)(pid_t about);
};

/* A place for one worker of a kind; zero but for kind: none was started. */
struct worker {
	const struct worker_kind *kind;
	pid_t pid;			/* 0: none */
	int fd, pidfd, memory;		/* memory: of shared; -1: not kept */
	void *shared;
	uint32_t calls;
	struct stuck *stuck;		/* WORKER_STUCK_MAX entries; NULL: not yet needed */
};

/*
 * Start the keeper of these kinds, before any right is given up. kinds must stay valid. 0 or
 * -errno; without a keeper nothing but the rights of the program is different.
 */
int keeper_start(const struct worker_kind *const kinds[], size_t cnt);
/* End the keeper, and with it all workers that it started. */
void keeper_end(void);
/* What the keeper of these kinds keeps: what its workers need. */
#define KEEPER_NAME "tachbpf-keeper"
uint64_t keeper_caps(const struct worker_kind *const kinds[], size_t cnt);
/* The keeper's pid; 0: there is none. */
pid_t keeper_pid(void);
/*
 * 0; or -ECHILD: the keeper was killed, and all its workers with it. Whoever has given up the
 * rights that they need can start no other.
 */
int keeper_check(void);

/*
 * May the worker be asked about this process (0: about none, who can be blamed)? If so, start the
 * worker if there is none. 0; -ETIMEDOUT: something of the process has blocked a worker a short
 * time ago; -EUSERS: processes of the same user block as many workers as they may; -EBUSY: too
 * many are blocked at all; other -errno. Try again later.
 */
int worker_ready(struct worker *w, pid_t about);

/*
 * Call a function of a worker that is ready: the input is in w->shared, the output will be there.
 * fds: WORKER_FDS_MAX descriptors, -1: none; NULL: none at all. Returns the function's result, or
 * -ETIMEDOUT: no answer came in time; the worker still works, and w->shared shows how far it came.
 * -EPIPE: the worker has ended.
 */
int worker_call(struct worker *w, unsigned int function, const int *fds, int timeout_ms);

/*
 * Start a worker whose first function never ends, and gives no answer: it gets a socket
 * (SOCK_SEQPACKET) as fds[0] and the descriptor `passed` (-1: none) as fds[1]. *fd: our end, which
 * does not block, and is the caller's. 0 or -errno: there is no worker. End it by worker_give_up().
 */
int worker_converse(struct worker *w, int passed, int *fd);

/* Wait another time for the answer of a call that had not come in time. As worker_call(). */
int worker_wait(struct worker *w, int timeout_ms);

/* Does the worker only wait for a CPU? */
bool worker_is_runnable(const struct worker *w);

/*
 * The bytes that were asked of disks for the worker since it was started; what a FUSE server brings
 * does not count. 0 also if we have not the rights to know.
 */
uint64_t worker_disk_bytes(const struct worker *w);

/*
 * Give up the worker, which did not answer about this process. blame: it will not be asked about
 * that process for a second, twice as long the next time. Otherwise the machine was slow.
 */
void worker_give_up(struct worker *w, pid_t about, bool blame);

/* End the worker. The next worker_ready() starts another. */
void worker_end(struct worker *w);

/*
 * The same of one that has ended by itself or was killed, which counts and is logged; worker_call()
 * and worker_wait() do it.
 */
void worker_lost(struct worker *w);
/* How many have ended so, in all. Those that end with the keeper do not count. */
uint64_t worker_lost_cnt(void);

/*
 * A worker can work for another worker: its owner passes these descriptors to its user by a call.
 * The owner alone gives the worker up.
 */
void worker_descriptors(const struct worker *w, int fds[WORKER_FDS_MAX]);
/*
 * In the user: from now on call the worker behind these descriptors, which stay the caller's. After
 * worker_end(), the worker goes on until its owner ends it. 0 or -errno.
 */
int worker_adopt(struct worker *w, const int fds[WORKER_FDS_MAX], pid_t pid);

#endif
