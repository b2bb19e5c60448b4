/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* spawn.h - runs the command after "--", which waits until the recording is ready. */
#ifndef TACHBPF_SPAWN_H
#define TACHBPF_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawned {
	pid_t pid;	/* 0: none */
	int go_fd;	/* closing it without writing makes the child exit; -1: the child was
			 * started */
	int err_fd;	/* delivers the child's errno if it cannot exec */
};

/*
 * Fork a child that waits for spawn_go(). Under sudo it stays root, as with `sudo perf record`. 0
 * or -errno.
 */
int spawn_held(struct spawned *child, char **argv);

/* Let the child exec the command. 0, or the child's -errno (-ENOENT: no such command). */
int spawn_go(struct spawned *child);

/* Returns true if it has ended; *status: its exit status, or 128 + N if signal N killed it. */
bool spawn_ended(struct spawned *child, int *status);

/* Wait until it has ended, a signal arrives, or timeout_ms have passed. As spawn_ended(). */
bool spawn_wait(struct spawned *child, int timeout_ms, int *status);

/* Send it a signal, unless it has ended. */
void spawn_signal(const struct spawned *child, int sig);

/* The exit status of shells for a command that fails to execute with this errno: 127 or 126. */
int spawn_exec_status(int err);

/* Discard the command: if it still runs, ask it to end, and wait. */
void spawn_abort(struct spawned *child);

/* Let the command run on its own: forget it. */
void spawn_forget(struct spawned *child);

#endif
