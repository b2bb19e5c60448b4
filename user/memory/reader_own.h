/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reader_own.h - what reader.c, reader_tasks.c and reader_ask_tasks.c share. */
#ifndef TACHBPF_MEMORY_READER_OWN_H
#define TACHBPF_MEMORY_READER_OWN_H

#include "memory/reader.h"

#define READER_NAME_BYTES 64

enum reader_function {
	READ_MEM, READ_TEXT, READ_LINK, READ_LIST, OTEL_MAPPINGS, PYTHON_THREADS, BLOCKS,
	TASK_LISTS, TASKS, ASYNC_HOMES, TASK_CHAIN, LOOP_STATES,
	READ_WHOLE,
};

/* Shared by both sides. bytes: of memory, of a text, an array of pid_t, a question or an answer. */
struct reader_shared {
	int32_t tgid;
	uint32_t len;		/* requested, then found; memory is all or nothing */
	uint64_t addr;
	char name[READER_NAME_BYTES];	/* of a file in /proc/TGID */
	uint8_t bytes[READER_BYTES_MAX] __attribute__((aligned(8)));
};

/* Prepare a question about a process. NULL: not now. */
struct reader_shared *reader_shared_for(pid_t tgid, const char *name, size_t size);
/* Ask it, and wait for the answer. 0, -errno of the function, or -EBUSY: try again later. */
int reader_call(enum reader_function f, pid_t tgid, bool hurry);

struct chain_question {
	struct tasks_at at;
	struct raw_task task;
};

struct loop_question {
	struct tasks_at at;
	int64_t clock_ns;
};

/* In the worker: the questions are in bytes, which the answers replace. */
int reader_run_task_lists(void *shared, const int *fds);
int reader_run_tasks(void *shared, const int *fds);
int reader_run_async_homes(void *shared, const int *fds);
int reader_run_task_chain(void *shared, const int *fds);
int reader_run_loop_states(void *shared, const int *fds);

#endif
