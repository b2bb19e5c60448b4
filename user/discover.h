/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * discover.h - is this process a Python, and how is it to be walked?
 *
 * Looks at the files a process has mapped, asks cpython/image once per file
 * and remembers the answer, "no" included.
 */
#ifndef TACHBPF_DISCOVER_H
#define TACHBPF_DISCOVER_H

#include <stddef.h>
#include <sys/types.h>

#include "../bpf/abi.h"
#include "cpython/image.h"

struct discovery;

/* NULL with errno. */
struct discovery *discovery_new(void);
void discovery_free(struct discovery *d);

/*
 * Look at a process. 0: *image (owned by d, valid until discovery_free()) says
 * what it is and *proc is filled but for start_ns and ident. -ENOENT: no Python
 * in it (yet). -ENOTSUP: a Python we cannot walk, why says. -ESRCH: it is gone.
 * Other -errno: could not look, why says.
 */
int discovery_look(struct discovery *d, pid_t tgid, const struct cpython_image **image,
		   struct py_proc *proc, char *why, size_t why_size);

#endif
