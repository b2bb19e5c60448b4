/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* look_thread.h - what one thread does: its stack, and what it waits for. */
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
	LOOK_KERNEL,	/* in no system call, and the kernel does not say for what */
	LOOK_HELD,	/* stopped by a signal, traced, or frozen */
	LOOK_OTHER,	/* another system call */
	LOOK_STATE_CNT,
};

/* Room for the name of a system call; for what a descriptor leads to, which is cut. */
#define LOOK_CALL_BYTES 40
#define LOOK_FILE_BYTES 256
#define LOOK_HELD_BYTES 256
/* Room for the kernel's functions, as many as fit. */
#define LOOK_KERNEL_BYTES 512

struct look_thread {
	uint64_t tid;
	uint64_t time_us;	/* of the stack: CLOCK_MONOTONIC */
	enum look_state state;
	uint8_t status;		/* STATUS_* of the stack */
	bool moved;		/* it had left the call that it waited in when it was looked at again */
	char call[LOOK_CALL_BYTES];	/* the system call that it waits in; "": none is known */
	char held[LOOK_HELD_BYTES];	/* of LOOK_HELD, in words: "stopped by SIGSTOP"; printable */
	uint64_t idle_ms;	/* of LOOK_HELD: for how long it has not run; 0: unknown */
	int fd;			/* of LOOK_IO: the descriptor; -1: none, or unknown */
	char file[LOOK_FILE_BYTES];	/* what fd leads to, any bytes; "": unknown */
	uint64_t futex;		/* of LOOK_LOCK: the address that it waits on; 0: unknown */
	bool futex_timed;	/* it waits for some time only */
	const struct look_lock *lock;	/* look_locks.h: that it waits for; NULL: unknown */
	uint32_t deadlock;	/* number of the deadlock that it is in, from 1 on; 0: none */
	/* Where in the kernel it waits: function after function, innermost first, a line feed behind
	 * each; "": not asked for, not known, or it does not wait. Any bytes of ASCII */
	char kernel[LOOK_KERNEL_BYTES];
	bool advanced;		/* during the look it ran, or came to another stack */
	uint64_t waited_us;	/* of the look: how long it was seen waiting */
	const struct look_variables *variables;	/* look_locals.h; NULL: not asked for, or not known */
	uint32_t nframes;
	const uint32_t *frames;	/* ids in process_tables(), innermost first */
};

/* The word for a state: "running", "waits for the GIL", ...; of LOOK_HELD, t->held says it. */
const char *look_state_name(enum look_state state);

/*
 * Set the state and the call from an event. The frame that says what the thread waits for is none
 * of the program: t->frames begins behind it. t->frames are the event's.
 */
void look_thread_take(struct look_thread *t, const struct event *ev,
		      const struct profile_tables *tables);

/*
 * Is this event of a thread one that shows that it has advanced since the one before, *before? Then it
 * ran, has another stack, or began another wait. Waits for the GIL end every 5 ms and begin again: of
 * these only the stack counts. Valid if no open waits were emitted between the two.
 */
bool look_thread_advances(const struct look_thread *before, const struct look_thread *now);

/* A system call that a thread waits in. nr -1: it is in none, and args are 0. */
#define LOOK_SYSCALL_ARGS 4
struct look_syscall {
	int nr;
	uint64_t args[LOOK_SYSCALL_ARGS];
};

/* Read it. 0; -EAGAIN: the thread runs; -EBADMSG or other -errno. In the worker (look_worker.h). */
int look_read_syscall(pid_t tgid, uint64_t tid, struct look_syscall *call);
/* The address of the futex that a thread in this call waits on; 0: none. *timed: not for ever. */
uint64_t look_futex_of(const struct look_syscall *call, bool *timed);

/*
 * Find out which descriptor a thread that does I/O waits for, and correct what the call's
 * arguments say: a select() without descriptors is a sleep. Which futex a thread waits on that
 * waits for a lock. Reads /proc; to be called in the worker (look_worker.h).
 */
void look_thread_detail(struct look_thread *t, pid_t tgid);

/*
 * Set kernel of a thread that waits: from /proc/PID/task/TID/stack, which takes CAP_SYS_ADMIN. In
 * the worker.
 */
void look_thread_kernel(struct look_thread *t, pid_t tgid);

#endif
