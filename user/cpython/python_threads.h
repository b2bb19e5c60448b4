/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_threads.h - reads from a process the names that its module threading has for its threads.
 *
 * Up to 3.13 a Thread's name is only in the object; from 3.14 on CPython passes it to the kernel.
 * The path: the first interpreter's sys.modules, the module's dict, its _active (a dict from
 * pthread_self() to Thread), the Thread's _name. The C library's struct pthread contains the task's
 * id. The memory is hostile and may change while it is read: every loop, every size and the number
 * of reads are limited, and an object of an unexpected type is skipped.
 */
#ifndef TACHBPF_CPYTHON_PYTHON_THREADS_H
#define TACHBPF_CPYTHON_PYTHON_THREADS_H

#include "cpython/code.h"

/* Limit on threads of a process. */
#define PYTHON_THREADS_MAX 1024
/* Limit on names, which are cut between characters. */
#define PYTHON_THREAD_BYTES 48

/* Where to start. */
struct python_threads_at {
	uint64_t interps;	/* address of the pointer to the first interpreter */
	uint64_t active;	/* address of _active, if it was found before; else 0 */
	uint32_t interp_next;	/* see struct py_layout */
	struct py_object_layout objects;
	bool musl;		/* the C library; else glibc */
};

struct python_thread {
	uint32_t tid;		/* in the process' own pid namespace */
	char name[PYTHON_THREAD_BYTES];	/* valid UTF-8 without NULs, NUL-terminated */
};

struct python_threads {
	uint64_t active;	/* for the next call */
	uint32_t cnt;
	struct python_thread list[PYTHON_THREADS_MAX];
};

/* Returns true if a process with this layout can be read: not from 3.14 on. */
bool python_threads_known(const struct py_object_layout *o);

/*
 * Read the names. 0; -ENOENT: the process has not imported threading; -EBADMSG: an object is not of
 * the expected type; -E2BIG: too many reads; other -errno of mem. out->cnt is valid in any case: a
 * thread that could not be read is not in the list.
 */
int python_threads_read(const struct target_mem *mem, const struct python_threads_at *at,
			struct python_threads *out);

/* Returns true for a name from threading itself ("Thread-1", "Thread-1 (work)"). */
bool python_thread_is_numbered(const char *name);
/* Returns true if threading has not started the thread ("Dummy-1"): such a name has no meaning. */
bool python_thread_is_dummy(const char *name);

#endif
