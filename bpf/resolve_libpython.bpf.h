/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * resolve_libpython.bpf.h - finds the load address of libpython in a process in state
 * PY_PROC_LINKING, which admit_exec.bpf.h has admitted, at its first ticks.
 *
 * The process may have loaded another library than the one that user space inspected. So the
 * build ids are compared, and if they differ, user space must inspect the process.
 */
#ifndef TACHBPF_RESOLVE_LIBPYTHON_H
#define TACHBPF_RESOLVE_LIBPYTHON_H

#include "pyread.bpf.h"

/*
 * Number of ticks at which the library may differ before user space is asked. The page with its
 * build id may not be in memory yet.
 */
#define MISMATCHES_MAX 8

/* Returns true if the library of exe is loaded with this load bias. */
static __always_inline bool is_expected_library(const struct py_exe *exe, u64 bias)
{
	u64 id[EXE_ID_WORDS];

	return !(bias & 4095) && !read_user(id, sizeof(id), bias + exe->id_at) &&
	       id[0] == exe->id[0] && id[1] == exe->id[1];
}

/*
 * The address that the dynamic linker has stored in the slot; 0: none so far. Until then the slot
 * is unreadable, or zero, or (lazy binding) has an address in the executable, with or without the
 * load bias. Without it, the address is below the slot's own offset, because code is below the
 * slot.
 */
#define EXE_BYTES_MAX (64u << 20)
static __always_inline u64 linked_function(const struct py_proc *p, const struct py_exe *exe)
{
	u64 slot = p->exe_bias + exe->slot, function = 0;

	if (read_user(&function, 8, slot))
		return 0;
	if (function < exe->slot)
		return 0;
	return function - slot + EXE_BYTES_MAX < 2ull * EXE_BYTES_MAX ? 0 : function;
}

/*
 * Returns 1 if libpython was found: the process is in state PY_PROC_PYTHON now. 0: the dynamic
 * linker has not loaded it yet. -1: the library is another one, or the executable is no longer in
 * known_exes. The function has external linkage, so the verifier checks it only once.
 */
int find_libpython(u32 tgid);
__weak __noinline int find_libpython(u32 tgid)
{
	struct py_proc *p = bpf_map_lookup_elem(&py_procs, &tgid);
	const struct py_exe *exe;
	u64 function;

	if (!p)
		return 0;
	exe = bpf_map_lookup_elem(&known_exes, &p->exe);
	if (!exe)
		return -1;
	function = linked_function(p, exe);
	if (!function)
		return 0;
	if (is_expected_library(exe, function - exe->symbol)) {
		py_proc_relocate(p, &exe->proc, function - exe->symbol);
		barrier();
		p->state = PY_PROC_PYTHON;
		return 1;
	}
	if (p->mismatches >= MISMATCHES_MAX)
		return -1;
	p->mismatches++;
	return 0;
}

#endif
