/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * discover.h - inspects processes: which of them are Python, and what is needed to walk them.
 *
 * The inspector (inspector.h) looks for CPythons in the files that a process has mapped. If there
 * are several, one with an initialised runtime is chosen.
 */
#ifndef TACHBPF_DISCOVER_H
#define TACHBPF_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "cpython/image.h"
#include "host/proc.h"
#include "target/inspect_files.h"
#include "target/known_images.h"

struct discovery;

/* NULL with errno. Freed by discovery_free(). */
struct discovery *discovery_new(void);
void discovery_free(struct discovery *d);

#define DISCOVERY_WHY_MAX INSPECT_WHY_MAX

/* Whether a CPython's runtime is initialised. */
enum ready {
	READY_NO,
	READY_YES,
	READY_BUSY,		/* its memory could not be read in time: another try may succeed */
	READY_UNKNOWN,		/* we cannot read its memory */
	READY_UNASKED,		/* not checked */
};

struct discovered {
	const struct cpython_image *image;	/* one of discovery_images(); valid until the
						 * next inspection, or as long as it is held */
	struct py_proc proc;		/* complete except for start_ns, ident and exec_pages */
	enum ready ready;		/* of the chosen CPython; not checked if it is the only
					 * one */
	bool several;			/* the process has other CPythons, too */
	uint64_t exe_dev, exe_ino;	/* of its executable; 0: unknown */
	bool copied;			/* the executable has a copy of the runtime or of None */
	struct otel_mappings otel;	/* where a process context may be, as far as known */
	uint64_t program, seen_ns;	/* of struct inspected; 0: unknown */
	char also[DISCOVERY_WHY_MAX];	/* message: another CPython is initialised, too; or "" */
	char why[DISCOVERY_WHY_MAX];	/* message of an error; hostile bytes are escaped */
};

/*
 * Inspect a process. *files: hash of its mapped files at the last inspection of this process (0:
 * none); updated. prefer: the runtime to choose before others that are initialised, too; 0: any.
 *
 * 0: *found is filled. -ENOENT: no Python in it so far. -EALREADY: as -ENOENT, and its files are
 * those of the last inspection. -ENOTSUP: an unsupported Python; found->why has the reason.
 * -EAGAIN: a Python that cannot be walked yet, or the process has executed another program
 * meanwhile. -ESRCH: no such process. -ETIMEDOUT: one of its files does not answer. -EUSERS: nor do
 * files of other processes of its user, so it is not inspected. -EBUSY: try again. Other -errno: it
 * could not be inspected; found->why has the reason.
 */
int discovery_inspect(struct discovery *d, const struct proc_info *who, uint64_t *files,
		      uint64_t prefer, struct discovered *found);

/*
 * Check whether this CPython has an interpreter: its runtime's list of interpreters is not empty.
 * task: proc_living_task(). READY_YES and READY_NO are certain: the list was read, or is not
 * mapped.
 */
enum ready discovery_ready(pid_t task, const struct py_proc *p);

/* The images that were found; owned by d. */
struct known_images *discovery_images(struct discovery *d);
/* Read len bytes of the memory image of its file, in the process about. 0 or -errno. */
int discovery_mem(const struct cpython_image *image, pid_t about, uint64_t vaddr, void *buf,
		  size_t len);

#endif
