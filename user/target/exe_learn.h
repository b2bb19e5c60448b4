/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exe_learn.h - determines which interpreter an executable will run, so that a process is
 * recognised as Python at its exec. For the inspector (inspector.h), in which it runs.
 */
#ifndef TACHBPF_EXE_LEARN_H
#define TACHBPF_EXE_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "target/inspect_files.h"

/* An executable. */
struct learned_exe {
	uint64_t key;			/* exe_key(); 0: the executable cannot be read */
	bool runs_python;		/* the following fields are known */
	bool seen;			/* found in a process, or the interpreter is in it;
					 * otherwise the library is a guess */
	struct py_exe exe;
	struct file_id file;		/* of the CPython */
	struct cpython_image image;
	struct exe_file itself;
	bool other;			/* contains no CPython, and needs no libpython */
};

/* The executable of a process, before its mappings can be trusted. 0 or -errno. */
int exe_learn_process(struct file_cache *cache, pid_t tgid, struct learned_exe *out);
/*
 * The process was found to run the CPython in this file, with this description. 0, also if that
 * does not determine what its executable runs next time: then out->runs_python is false; or -errno.
 */
int exe_learn_seen(struct file_cache *cache, const struct proc_info *who,
		   const struct file_id *file, const struct py_proc *proc, struct learned_exe *out);
/* Find interpreters in system directories, at most max. Returns their number. */
size_t exe_learn_likely(struct file_cache *cache, struct learned_exe *out, size_t max);

#endif
