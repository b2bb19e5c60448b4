/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * worker.h - calls functions in another process, which is given up if it does not answer.
 *
 * Opening, reading or parsing what others name can block forever: a file or a page may be backed by
 * a FUSE server or a userfaultfd that never answers, and not even a signal ends that wait. So a
 * worker does it: a process with few rights (jail.h) and none of our open files, which shares
 * memory with us for the input and output of its functions. A worker that was given up ends when
 * the kernel lets it; another one takes its place.
 *
 * Workers are started by the keeper, a process that holds the rights they need and does nothing
 * else; so the program itself can give these rights up. Without a keeper, the client starts the
 * worker itself.
 *
 * Call all functions from the same thread.
 */
#ifndef TACHBPF_WORKER_H
#define TACHBPF_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "worker/jail.h"

/*
 * Limits on blocked workers of one place: in total, for processes of one user, and the reserve for
 * root's processes, which others do not control.
 */
#define WORKER_STUCK_MAX 32
#define WORKER_STUCK_OF_USER 2
#define WORKER_STUCK_OF_ROOT 4

/* Descriptors that a call can pass to the worker. */
#define WORKER_FDS_MAX 2

/*
 * A function that a worker runs. shared: its input, which it replaces with its output. fds: the
 * WORKER_FDS_MAX descriptors that the call passed, -1: none; closed afterwards. Returns the call's
 * result: 0 or -errno.
 */
typedef int (*worker_fn)(void *shared, const int *fds);

struct worker_kind {
	const char *name;		/* of the process, such as "tachbpf-reader" */
	const char *does;		/* for users, in a few words */
	const struct jail *jail;
	const worker_fn *functions;
	unsigned int function_cnt;
	size_t shared_bytes;
	/* The user of a process, who may block only some of the workers; NULL: no such limit. */
	uint32_t (*owner)(pid_t about);
};

/* A place for one worker of a kind; zero except for kind: no worker was started. */
struct worker {
	const struct worker_kind *kind;
	pid_t pid;			/* 0: none */
	int fd, pidfd, memory;		/* memory: of shared; -1: not kept */
	void *shared;
	uint32_t calls;
	struct stuck *stuck;		/* WORKER_STUCK_MAX entries; NULL: not needed so far */
};

/*
 * Start the keeper for these kinds, before any right is given up. kinds must stay valid. 0 or
 * -errno; without a keeper, only the rights of the program differ.
 */
int keeper_start(const struct worker_kind *const kinds[], size_t cnt);
/* End the keeper, and with it all workers that it started. */
void keeper_end(void);
/* The keeper's process name, and the capabilities that workers of these kinds need. */
#define KEEPER_NAME "tachbpf-keeper"
uint64_t keeper_caps(const struct worker_kind *const kinds[], size_t cnt);
/* The keeper's pid; 0: no keeper. */
pid_t keeper_pid(void);
/*
 * 0; or -ECHILD: the keeper was killed, and all its workers with it. A program that has given up
 * the rights that workers need cannot start new ones.
 */
int keeper_check(void);

/*
 * Check whether the worker may be asked about this process (0: about no process, so that none can
 * be blamed), and start a worker if there is none. 0; -ETIMEDOUT: something in the process blocked
 * a worker recently; -EUSERS: processes of the same user block as many workers as they may; -EBUSY:
 * too many workers are blocked in total; other -errno. Try again later.
 */
int worker_ready(struct worker *w, pid_t about);

/*
 * Call a function of a worker that is ready. The input is in w->shared, which then has the output.
 * fds: WORKER_FDS_MAX descriptors, -1: none; NULL: none at all. Returns the function's result, or
 * -ETIMEDOUT: no answer came in time; the worker still works, and w->shared shows its progress.
 * -EPIPE: the worker has ended.
 */
int worker_call(struct worker *w, unsigned int function, const int *fds, int timeout_ms);

/*
 * Start a worker whose first function never ends and gives no answer. It gets a socket
 * (SOCK_SEQPACKET) as fds[0] and the descriptor `passed` (-1: none) as fds[1]. *fd: our end,
 * non-blocking, which the caller closes. 0, or -errno: no worker was started. End it with
 * worker_give_up().
 */
int worker_converse(struct worker *w, int passed, int *fd);

/* Wait again for the answer of a call that timed out. As worker_call(). */
int worker_wait(struct worker *w, int timeout_ms);

/* Returns true if the worker only waits for a CPU. */
bool worker_is_runnable(const struct worker *w);

/*
 * Bytes read from disks for the worker since it was started; data from a FUSE server does not
 * count. 0 also if we lack the rights to read it.
 */
uint64_t worker_disk_bytes(const struct worker *w);

/*
 * Give up the worker, which did not answer about this process. blame: it is not asked about that
 * process for a second, and twice as long each further time. Otherwise the machine was slow.
 */
void worker_give_up(struct worker *w, pid_t about, bool blame);

/* End the worker. The next worker_ready() starts another. */
void worker_end(struct worker *w);

/*
 * The same for a worker that has ended by itself or was killed, which is counted and logged;
 * worker_call() and worker_wait() do it.
 */
void worker_lost(struct worker *w);
/* Number of workers lost in this way. Those that end with the keeper do not count. */
uint64_t worker_lost_cnt(void);

/*
 * A worker can also work for another worker: its owner passes these descriptors to that worker in a
 * call. Only the owner gives the worker up.
 */
void worker_descriptors(const struct worker *w, int fds[WORKER_FDS_MAX]);
/*
 * In that worker: call the worker behind these descriptors from now on; they stay the caller's.
 * After worker_end(), the adopted worker continues until its owner ends it. 0 or -errno.
 */
int worker_adopt(struct worker *w, const int fds[WORKER_FDS_MAX], pid_t pid);

#endif
