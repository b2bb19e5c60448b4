/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * jail_tries.h - what workers must not be able to do, as functions of a worker (worker_fn), and how
 * a test sees that they die of it. To be included after cmocka.h.
 */
#ifndef TACHBPF_JAIL_TRIES_H
#define TACHBPF_JAIL_TRIES_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "worker/worker.h"

#define WAIT_MS 20000

static inline int nothing(void *shared, const int *fds)
{
	return 0;
}

static inline int try_exec(void *shared, const int *fds)
{
	char *argv[] = { "true", NULL };

	return execv("/bin/true", argv);
}

static inline int try_fork(void *shared, const int *fds)
{
	return fork() == 0 ? 0 : -EIO;
}

static inline int try_unlink(void *shared, const int *fds)
{
	return unlink("/tmp/tachbpf-jail");
}

static inline int try_ptrace(void *shared, const int *fds)
{
	return ptrace(PTRACE_TRACEME, 0, 0, 0) ? -errno : 0;
}

static inline int try_read_memory(void *shared, const int *fds)
{
	char byte = 0;
	struct iovec part = { &byte, 1 };

	return process_vm_readv(getppid(), &part, 1, &part, 1, 0) == 1 ? 0 : -errno;
}

static inline int try_fsuid(void *shared, const int *fds)
{
	return setfsuid(0);
}

static inline int try_kill(void *shared, const int *fds)
{
	return kill(getpid(), 0);
}

#if !defined(__SANITIZE_ADDRESS__)
/* The worker's functions are nothing(), and cnt - 1 of which it is killed. */
static inline void dies_of_each(struct worker *w, size_t cnt)
{
	size_t f;

	for (f = 0; f < cnt; f++) {
		assert_int_equal(worker_ready(w, 0), 0);
		if (worker_call(w, f, NULL, WAIT_MS) != (f ? -EPIPE : 0))
			fail_msg("%s: function %zu", w->kind->name, f);
	}
}
#endif

/* A kind like another one, with functions of the test. */
static inline struct worker_kind jail_kind(const struct worker_kind *like,
					   const worker_fn *functions, size_t cnt)
{
	struct worker_kind kind = *like;

	kind.functions = functions;
	kind.function_cnt = (unsigned int)cnt;
	return kind;
}

static inline int jail_end(struct worker *w)
{
	worker_end(w);
	free(w->stuck);
	keeper_end();
	return 0;
}

/* The value of a line of /proc/PID/status; it must be there. */
static inline uint64_t process_status(pid_t pid, const char *name, int base)
{
	char path[64], line[256];
	uint64_t v = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)))
			continue;
		v = strtoull(line + strlen(name), NULL, base);
		found = true;
	}
	fclose(f);
	assert_true(found);
	return v;
}

/* number: of a function that it may call. */
static inline void has_no_rights(struct worker *w, unsigned int number)
{
	assert_int_equal(worker_ready(w, 0), 0);
	assert_int_equal(worker_call(w, number, NULL, WAIT_MS), 0);
	assert_int_equal(process_status(w->pid, "CapEff:", 16), 0);
	assert_int_equal(process_status(w->pid, "CapPrm:", 16), 0);
	assert_int_equal(process_status(w->pid, "NoNewPrivs:", 10), 1);
#if !defined(__SANITIZE_ADDRESS__)
	assert_int_equal(process_status(w->pid, "Seccomp:", 10), 2);
#endif
}

#endif
