/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * admit_exec.bpf.h - admits a process that executes a known executable.
 *
 * User space has inspected the executable before and is not needed, so the first tick of the
 * process is already a sample. At the exec no code of the program has run, and only the file and
 * its load address are known. resolve_libpython.bpf.h finds libpython at the first ticks.
 */
#ifndef TACHBPF_ADMIT_EXEC_H
#define TACHBPF_ADMIT_EXEC_H

#include "common.bpf.h"

#define AT_PHDR 3		/* include/uapi/linux/auxvec.h */
#define AUXV_PAIRS 10		/* AT_PHDR is at most the sixth on x86-64 and arm64 */

/*
 * exe_key() of the file that is executed. If its first bytes are unreadable they count as zeros,
 * which no executable has. Not inlined, as put_unseen().
 */
static __noinline u64 key_of_executable(struct linux_binprm *bprm)
{
	const struct inode___any *inode = inode_of(READ_KERNEL(bprm, file));
	u64 head[EXE_HEAD / 8];

	bpf_probe_read_kernel(head, sizeof(head), bprm->buf);
	return exe_key(READ_KERNEL(inode, i_ino), READ_KERNEL(inode, i_size), head);
}

/* Returns true if the file is known not to be Python. key: its exe_key(), checked first. */
static __always_inline bool is_other_exe(u64 key, const struct exe_file *file)
{
	return !bpf_map_lookup_elem(&known_exes, &key) && bpf_map_lookup_elem(&other_exes, file);
}

/* Address of the program headers in the memory of the new program; 0: unknown. */
static __always_inline u64 address_of_phdrs(const struct mm_struct *mm)
{
	u64 pair[2];
	int i;

#pragma clang loop unroll(disable)
	for (i = 0; i < AUXV_PAIRS; i++) {
		if (bpf_probe_read_kernel(pair, sizeof(pair), mm->saved_auxv + 2 * i) || !pair[0])
			return 0;
		if (pair[0] == AT_PHDR)
			return pair[1];
	}
	return 0;
}

/*
 * Admit the process if its executable (ev->exe) is known: insert it into py_procs, and set
 * ev->ident and ev->bias. The entry does not fit on the BPF stack, so it is copied from the
 * template and completed in the map.
 */
static __always_inline void admit_exec(struct raw_exec *ev, struct task_struct *task)
{
	u64 key = ev->exe;	/* a copy: before 6.2 a map key cannot be in ring buffer memory */
	const struct py_exe *exe = key ? bpf_map_lookup_elem(&known_exes, &key) : NULL;
	u64 phdrs = exe ? address_of_phdrs(READ_KERNEL(task, mm)) : 0;
	u32 tgid = task->tgid;
	struct py_proc *p;

	if (!exe || !phdrs)
		return;
	if (bpf_map_update_elem(&py_procs, &tgid, &exe->proc, BPF_ANY)) {
		count_one(CNT_PROCS_FULL);
		return;
	}
	p = bpf_map_lookup_elem(&py_procs, &tgid);
	if (!p)
		return;
	p->start_ns = ev->h.start_ns;
	p->ident = (bpf_ktime_get_ns() ^ (u64)tgid << 40) | 1;
	p->unselected = ev->unselected;
	p->euid = EUID_NEVER;
	p->exe = ev->exe;
	p->exe_bias = phdrs - exe->phdr;
	if (!exe->slot)
		py_proc_relocate(p, &exe->proc, p->exe_bias);
	barrier();
	p->state = exe->slot ? PY_PROC_LINKING : PY_PROC_PYTHON;
	count_one(CNT_ADMITTED_AT_EXEC);
	ev->ident = p->ident;
	ev->bias = p->exe_bias;
}

#endif
