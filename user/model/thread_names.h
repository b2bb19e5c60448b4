/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_names.h - what the threads of one process are called.
 *
 * Names are as the kernel has them (comm: up to 15 bytes, to which CPython 3.14+ cuts
 * Python's own) or as a file says; hostile either way. Knows neither /proc nor a file.
 */
#ifndef TACHBPF_THREAD_NAMES_H
#define TACHBPF_THREAD_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct json;
struct thread_names;

/* Of one process; more are not kept. */
#define THREAD_NAMES_MAX 4096
/* What is longer is cut. 15 bytes of comm, each as U+FFFD, fit. */
#define THREAD_NAME_BYTES 48

struct thread_name {
	uint64_t tid;
	char name[THREAD_NAME_BYTES];	/* terminated; "": it has none any more */
};

/* NULL: no memory. */
struct thread_names *thread_names_new(void);
/* The same ones with one more owner; of NULL, NULL. */
struct thread_names *thread_names_keep(const struct thread_names *t);
/* The last owner frees them. */
void thread_names_drop(struct thread_names *t);

/* From now on it is called so; "": it has no name. 0, -ENOMEM, or -ENOSPC: it is one too many. */
int thread_names_set(struct thread_names *t, uint64_t tid, const char *name);
/* t may be NULL. NULL: not known. */
const char *thread_names_find(const struct thread_names *t, uint64_t tid);
/* All of them, in order of first sight; t may be NULL. */
const struct thread_name *thread_names_list(const struct thread_names *t, size_t *cnt);

/*
 * What people are shown: "worker-1 (tid 1234)", printable; of one without a name what it is
 * called otherwise, with the number behind it: "thread 1234". Returns out.
 */
#define THREAD_LABEL_BYTES (4 * THREAD_NAME_BYTES + 32)
char *thread_label(const struct thread_names *t, uint64_t tid, const char *otherwise,
		   char out[THREAD_LABEL_BYTES]);

/* "thread_names": { "1234": "worker-1" }, as session.json has it; nothing if there are none. */
void thread_names_json(struct json *j, const struct thread_names *t);

#endif
