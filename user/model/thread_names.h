/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread_names.h - the names of the threads of a process.
 *
 * A name is the kernel's (comm: up to 15 bytes, to which CPython 3.14+ cuts Python's own) or comes
 * from a file; both can have any bytes. Knows neither /proc nor a file format.
 */
#ifndef TACHBPF_THREAD_NAMES_H
#define TACHBPF_THREAD_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct json;
struct thread_names;

/* Limit for one process; more are not kept. */
#define THREAD_NAMES_MAX 4096
/* Longer names are cut. 15 bytes of comm fit even if each becomes U+FFFD. */
#define THREAD_NAME_BYTES 48

struct thread_name {
	uint64_t tid;
	char name[THREAD_NAME_BYTES];	/* NUL-terminated; "": it no longer has a name */
};

/* Creates an empty list with one owner. Returns NULL without memory. */
struct thread_names *thread_names_new(void);
/* Adds an owner; returns t. t may be NULL. */
struct thread_names *thread_names_keep(const struct thread_names *t);
/* Removes an owner; the last one frees the list. t may be NULL. */
void thread_names_drop(struct thread_names *t);

/* Sets a thread's name; "": none. Returns 0; -ENOMEM; -ENOSPC: too many names. */
int thread_names_set(struct thread_names *t, uint64_t tid, const char *name);
/* Returns the name of a thread; NULL: unknown. t may be NULL. */
const char *thread_names_find(const struct thread_names *t, uint64_t tid);
/* Returns all names, in order of first occurrence; t may be NULL. */
const struct thread_name *thread_names_list(const struct thread_names *t, size_t *cnt);

/*
 * Makes the label for outputs: "worker-1 (tid 1234)", printable; for a thread without a name the
 * other label followed by the number: "thread 1234". Returns out.
 */
#define THREAD_LABEL_BYTES (4 * THREAD_NAME_BYTES + 32)
char *thread_label(const struct thread_names *t, uint64_t tid, const char *otherwise,
		   char out[THREAD_LABEL_BYTES]);

/* Writes "thread_names": { "1234": "worker-1" }, as in session.json; nothing if there are none. */
void thread_names_json(struct json *j, const struct thread_names *t);

#endif
