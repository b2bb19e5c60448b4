/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python_threads.h - reads from a process what its module threading calls its threads.
 *
 * Up to 3.13 a Thread's name is in the object alone; from 3.14 on CPython gives it to the kernel.
 * The way there: the first interpreter's sys.modules, the module's dict, its _active (a dict of
 * pthread_self() to Thread), the Thread's _name. The C library's struct pthread says which task
 * that is. The memory is hostile and may change while it is read: every loop, every size and the
 * number of reads are bounded, and an object that has not the type it should have is left.
 */
#ifndef TACHBPF_CPYTHON_PYTHON_THREADS_H
#define TACHBPF_CPYTHON_PYTHON_THREADS_H

#include "cpython/code.h"

/* More threads of a process are not listed. */
#define PYTHON_THREADS_MAX 1024
/* Longer names are cut, between characters. */
#define PYTHON_THREAD_BYTES 48

/* Where to begin. */
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
	uint64_t active;	/* for the next time */
	uint32_t cnt;
	struct python_thread list[PYTHON_THREADS_MAX];
};

/* May a process with this layout be read? Not from 3.14 on. */
bool python_threads_known(const struct py_object_layout *o);

/*
 * Read the names. 0; -ENOENT: the process has not imported threading; -EBADMSG: something is not
 * what it should be; -E2BIG: too many reads; other -errno of mem. out->cnt is valid in any case: a
 * thread that could not be read is not in the list.
 */
int python_threads_read(const struct target_mem *mem, const struct python_threads_at *at,
			struct python_threads *out);

/* Does it come from threading itself ("Thread-1", "Thread-1 (work)"), and not from the program? */
bool python_thread_is_numbered(const char *name);
/* Is it a thread that threading has not started ("Dummy-1")? Then the name says nothing. */
bool python_thread_is_dummy(const char *name);

#endif
