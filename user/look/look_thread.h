/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_thread.h - the activity of one thread: its stack, and what it waits for. */
#ifndef TACHBPF_LOOK_LOOK_THREAD_H
#define TACHBPF_LOOK_LOOK_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

enum look_state {
	LOOK_RUNNING,	/* on a CPU */
	LOOK_RUNNABLE,	/* waits for a CPU */
	LOOK_GIL,	/* waits for the GIL */
	LOOK_LOCK,
	LOOK_SLEEP,
	LOOK_IO,
	LOOK_KERNEL,	/* in no system call, and the kernel does not tell the reason */
	LOOK_HELD,	/* stopped by a signal, traced, or frozen */
	LOOK_OTHER,	/* another system call */
	LOOK_STATE_CNT,
};

/* Room for the name of a system call; for the target of a descriptor, which is cut. */
#define LOOK_CALL_BYTES 40
#define LOOK_FILE_BYTES 256
#define LOOK_HELD_BYTES 256
/* Room for the kernel's functions, as many as fit. */
#define LOOK_KERNEL_BYTES 512

struct loop_state;

struct look_thread {
	uint64_t tid;
	uint64_t time_us;	/* of the stack: CLOCK_MONOTONIC */
	enum look_state state;
	uint8_t status;		/* STATUS_* of the stack */
	bool moved;		/* it had left that call when its details were read */
	char call[LOOK_CALL_BYTES];	/* the system call that it waits in; "": unknown */
	char held[LOOK_HELD_BYTES];	/* of LOOK_HELD: "stopped by SIGSTOP"; printable */
	uint64_t idle_ms;	/* of LOOK_HELD: how long it has not run; 0: unknown */
	int fd;			/* of LOOK_IO: the descriptor; -1: none, or unknown */
	char file[LOOK_FILE_BYTES];	/* target of fd, any bytes; "": unknown */
	uint64_t futex;		/* of LOOK_LOCK: the address that it waits on; 0: unknown */
	bool futex_scanned;	/* as of the scan that found the stack (capture_scanned()) */
	bool futex_timed;	/* it waits with a timeout */
	const struct look_lock *lock;	/* look_locks.h: that it waits for; NULL: unknown */
	uint32_t deadlock;	/* number of the deadlock that it is in, from 1 on; 0: none */
	/*
	 * Where in the kernel it waits: function after function, innermost first, each followed by
	 * a line feed; "": not requested, unknown, or it does not wait. Any bytes of ASCII
	 */
	char kernel[LOOK_KERNEL_BYTES];
	const struct loop_state *loop;	/* asyncio's, which runs in it; NULL: none is known */
	bool advanced;		/* it ran, or reached another stack, during the look */
	uint64_t waited_us;	/* of the look: how long it was seen waiting */
	const struct look_variables *variables;	/* look_locals.h; NULL: not requested, or unknown */
	uint32_t nframes;
	const uint32_t *frames;	/* ids in process_tables(), innermost first */
};

/* Returns the word for a state: "running", "waits for the GIL", ...; for LOOK_HELD use t->held. */
const char *look_state_name(enum look_state state);

/*
 * Sets the state and the call from an event. The frame that names the wait is not part of the
 * program: t->frames begins after it. t->frames are the event's.
 */
void look_thread_take(struct look_thread *t, const struct event *ev,
		      const struct profile_tables *tables);

/*
 * Returns true if this event of a thread shows that it has advanced since the previous one,
 * *before: it ran, has another stack, or began another wait. Waits for the GIL end every 5 ms and
 * begin again: only their stacks are compared. Valid if no open waits were emitted between the two.
 */
bool look_thread_advances(const struct look_thread *before, const struct look_thread *now);

/* A system call that a thread waits in. nr -1: none, and args are 0. */
#define LOOK_SYSCALL_ARGS 4
struct look_syscall {
	int nr;
	uint64_t args[LOOK_SYSCALL_ARGS];
};

/*
 * Reads it, in the worker (look_worker.h). Returns 0; -EAGAIN: the thread runs; -EBADMSG or other
 * -errno.
 */
int look_read_syscall(pid_t tgid, uint64_t tid, struct look_syscall *call);
/* Returns the address of the futex that this call waits on; 0: none. *timed: with a timeout. */
uint64_t look_futex_of(const struct look_syscall *call, bool *timed);

/*
 * Does the same as look_thread_detail() without reading /proc, if the call is known in which the
 * thread had this stack; nr -1: it is not. Returns false if something must be read.
 */
bool look_thread_settle(struct look_thread *t, const struct look_syscall *call);

/*
 * Finds the descriptor that a thread waits for in I/O, and corrects the state by the call's
 * arguments: a select() without descriptors is a sleep. Finds the futex of a thread that waits for
 * a lock. Reads /proc; to be called in the worker (look_worker.h).
 */
void look_thread_detail(struct look_thread *t, pid_t tgid);

/*
 * Sets kernel of a waiting thread: from /proc/PID/task/TID/stack, which requires CAP_SYS_ADMIN. In
 * the worker.
 */
void look_thread_kernel(struct look_thread *t, pid_t tgid);

/* A thread's /proc/PID/task/TID/status. To be called in the worker. */

/* Returns its id in the process's own pid namespace; 0: it has ended. */
uint32_t look_own_tid(pid_t tgid, uint32_t tid);

/* Returns how often a sleeping thread has left a CPU; 0: it does not sleep, or unknown. */
uint64_t look_switches(pid_t tgid, uint32_t tid);

#endif
