/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spawn.h - the command behind "--": held until we are ready, then waited for.
 */
#ifndef TACHBPF_SPAWN_H
#define TACHBPF_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

struct spawned {
	pid_t pid;	/* 0: none */
	int go_fd;	/* closing it without a word makes the child exit; -1: it was let go */
	int err_fd;	/* the child's errno if it cannot exec */
};

/*
 * Fork a child that waits for spawn_go(). Under sudo it stays what we are, as
 * `sudo perf record` does. 0 or -errno.
 */
int spawn_held(struct spawned *child, char **argv);

/* Let it exec. 0, or -errno if it could not (-ENOENT: no such command). */
int spawn_go(struct spawned *child);

/* Has it ended? Then *status is its exit status, 128 + N if signal N killed it. */
bool spawn_ended(struct spawned *child, int *status);

/* Not needed any more: if it still runs, ask it to end and wait. */
void spawn_abort(struct spawned *child);

#endif
