/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * discover.h - inspects processes: which of them are Python, and what is needed to walk them.
 *
 * Inspects the files that a process has mapped. cpython/image reads each file once, and its
 * result is cached, also if there is no CPython in the file. If a process has several CPythons,
 * one is chosen whose runtime is initialised.
 */
#ifndef TACHBPF_DISCOVER_H
#define TACHBPF_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "cpython/image.h"
#include "host/proc.h"

struct discovery;

/* NULL with errno. Freed by discovery_free(). */
struct discovery *discovery_new(void);
void discovery_free(struct discovery *d);

#define DISCOVERY_WHY_MAX 256

/* Is a CPython's runtime initialised? */
enum ready {
	READY_NO,
	READY_YES,
	READY_BUSY,		/* its memory could not be read in time: another try may do it */
	READY_UNKNOWN,		/* its memory cannot be read by us */
};

struct discovered {
	const struct cpython_image *image;	/* owned by the discovery,
						 * valid until discovery_free() */
	struct py_proc proc;		/* complete but for start_ns, ident and exec_pages */
	enum ready ready;		/* of the CPython that was chosen */
	bool several;			/* the process has other CPythons, too */
	bool copied;			/* the executable has a copy of the runtime, or of None */
	char also[DISCOVERY_WHY_MAX];	/* message: another CPython is initialised, too; or "" */
	char why[DISCOVERY_WHY_MAX];	/* message of an error; hostile bytes are escaped */
};

/*
 * Inspect a process. *files: hash of its mapped files at the last inspection of this
 * process (0: none); updated. prefer: the runtime that is chosen before others that are
 * initialised, too; 0: any.
 *
 * 0: *found is filled. -ENOENT: no Python in it (yet). -EALREADY: as -ENOENT, and its files
 * are those of the last inspection. -ENOTSUP: a Python that is not supported; found->why
 * has the reason. -EAGAIN: a Python that cannot be walked yet. -ESRCH: no such process.
 * Other -errno: it could not be inspected; found->why has the reason.
 */
int discovery_inspect(struct discovery *d, const struct proc_info *who, uint64_t *files,
		      uint64_t prefer, struct discovered *found);

/* Returns the CPython in an open file, owned by d; NULL: there is no supported one. */
const struct cpython_image *discovery_image(struct discovery *d, int fd);
/*
 * Fill in what is needed to walk a process of this image, with addresses as in the file
 * (py_proc_relocate()), but without self_below, which depends on the process' C library.
 */
void discovery_proc(const struct cpython_image *img, struct py_proc *p);

#endif
