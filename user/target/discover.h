/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * discover.h - is this process a Python, and how is it to be walked?
 *
 * Looks at the files a process has mapped, asks cpython/image once per file
 * and remembers the answer, "no" included. Of several CPythons in one process it
 * takes one whose runtime is initialised.
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

/* NULL with errno. */
struct discovery *discovery_new(void);
void discovery_free(struct discovery *d);

#define DISCOVERY_WHY_MAX 256

/* Is a CPython's runtime initialised? */
enum ready {
	READY_NO,
	READY_YES,
	READY_UNKNOWN,		/* its memory cannot be read now */
};

struct discovered {
	const struct cpython_image *image;	/* owned by the discovery, valid until its end */
	struct py_proc proc;		/* filled but for start_ns, ident, exec_pages */
	enum ready ready;		/* this CPython's runtime */
	bool several;			/* there are others in the process */
	bool copied;			/* the executable holds a copy of the runtime, or of None */
	char also[DISCOVERY_WHY_MAX];	/* another one is initialised, too: says which; or "" */
	char why[DISCOVERY_WHY_MAX];	/* of an error; hostile bytes are escaped */
};

/*
 * Look at a process. *files: what was seen of its mapped files at the last look at this
 * process, 0: never looked; updated. prefer: the runtime that is to be taken before others that
 * are initialised, too; 0: any. 0: *found is filled. -ENOENT: no Python in it (yet);
 * -EALREADY: neither, and its files are those of the last look. -ENOTSUP: a Python we cannot
 * walk, found->why says. -EAGAIN: a Python that is not to be walked yet.
 * -ESRCH: it is gone. Other -errno: could not look, found->why says.
 */
int discovery_look(struct discovery *d, const struct proc_info *who, uint64_t *files,
		   uint64_t prefer, struct discovered *found);

/* The CPython in an open file, owned by d; NULL: none that we can walk. */
const struct cpython_image *discovery_image(struct discovery *d, int fd);
/*
 * How a process of it is walked, with addresses as in the file: py_proc_relocate(). Without
 * self_below, which its C library says.
 */
void discovery_proc(const struct cpython_image *img, struct py_proc *p);

#endif
