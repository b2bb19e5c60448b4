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

/*
 * Called once for every executable that is found to run an interpreter we can walk:
 * its exe_key() and how its next processes can be recognised (exes.h).
 */
typedef void (*discovery_exe_fn)(void *ctx, uint64_t key, const struct py_exe *exe);

/* cb may be NULL. NULL with errno. */
struct discovery *discovery_new(discovery_exe_fn cb, void *ctx);
void discovery_free(struct discovery *d);

/*
 * Look at a process. 0: *image (owned by d, valid until discovery_free()) says
 * what it is and *proc is filled but for start_ns and ident. -ENOENT: no Python
 * in it (yet). -ENOTSUP: a Python we cannot walk, why says. -ESRCH: it is gone.
 * Other -errno: could not look, why says.
 */
int discovery_look(struct discovery *d, pid_t tgid, const struct cpython_image **image,
		   struct py_proc *proc, char *why, size_t why_size);

/* What the executable of this key runs; NULL: it was not seen, or is no interpreter. */
const struct cpython_image *discovery_exe(struct discovery *d, uint64_t key,
					  const struct py_exe **exe);

/* Learn of executables before they run: one file, or those that a host commonly has. */
void discovery_learn(struct discovery *d, const char *path);
void discovery_learn_likely(struct discovery *d);
/* And of what a process executes, if that was not looked at before. */
void discovery_learn_process(struct discovery *d, pid_t tgid, uint64_t key);

#endif
