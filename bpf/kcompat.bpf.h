/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kcompat.bpf.h - the kernel's own structures, and the differences between kernels.
 *
 * Contains, with kregs.bpf.h, all tests of what a kernel supports. Each tests a feature and not a
 * version, and is decided when the programs are loaded.
 */
#ifndef TACHBPF_KCOMPAT_H
#define TACHBPF_KCOMPAT_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"

/*
 * Clang leaves the blocks of a function in the order of the source for BPF, whatever these say. So
 * what is rare and long is called and not inline: at low rates no cache has the code in its way.
 */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x00000001u
#define TASK_UNINTERRUPTIBLE 0x00000002u
#define TASK_STOPPED 0x00000004		/* __TASK_STOPPED: without TASK_WAKEKILL */
#define TASK_TRACED 0x00000008		/* __TASK_TRACED */
#define TASK_DEAD 0x00000080
#define TASK_FROZEN 0x00008000		/* 6.1+ */
#define PF_EXITING 0x00000004
#define PF_FROZEN 0x00010000u		/* up to 6.0; later not a flag of a user's thread */
#define PF_KTHREAD 0x00200000

/*
 * bpf_get_current_task_btf() (5.11, 3ca1032ab7ab) returns a typed pointer whose fields are plain
 * loads. Without it, each field is read by bpf_probe_read_kernel().
 *
 * Expected, as HAVE_ANY_LOAD, so that clang puts the code for older kernels at the end of each
 * function: the kernel moves the rest of the program for each piece of dead code that it removes.
 */
#define HAVE_TASK_BTF                                                                             \
	__builtin_expect(bpf_core_enum_value_exists(enum bpf_func_id,                             \
						    BPF_FUNC_get_current_task_btf), 1)

/*
 * bpf_rdonly_cast() (6.2, a35b9af4ec2c) makes loads from any address; one that fails gives 0. A
 * constant for the verifier, which removes what depends on it.
 */
#ifdef NO_ANY_LOAD	/* libbpf reads all types of the kernel for an object that declares it */
#define bpf_rdonly_cast(obj, btf_id) ((void)(btf_id), (obj))
#define HAVE_ANY_LOAD 0
#elif defined(__bpf__)
extern void *bpf_rdonly_cast(const void *obj, u32 btf_id) __ksym __weak;
#define HAVE_ANY_LOAD __builtin_expect(!!bpf_rdonly_cast, 1)
#else
#define HAVE_ANY_LOAD 1
#endif

/*
 * KERNEL_WORDS words of the kernel's memory, if HAVE_ANY_LOAD. They are accessed as the beginning
 * of struct pt_regs, which has at least 17 words that are plain numbers.
 */
#define KERNEL_WORDS 16
static __always_inline const u64 *kernel_words(u64 addr)
{
	return bpf_rdonly_cast((void *)addr, bpf_core_type_id_kernel(struct pt_regs));
}

/*
 * object->field of any object of the kernel; 0: it cannot be read. Not nested: clang refuses that.
 * Without a call, which costs 20 ns, if HAVE_ANY_LOAD.
 */
#define READ_KERNEL(object, field)                                                                 \
	(HAVE_ANY_LOAD ? *(const typeof((object)->field) *)kernel_words((u64)&(object)->field) :   \
			 BPF_CORE_READ(object, field))

/* The current thread, for the functions that take a task. Each call costs about 10 ns. */
static __always_inline const struct task_struct *current_task(void)
{
	return HAVE_TASK_BTF ? bpf_get_current_task_btf() : (void *)bpf_get_current_task();
}

/* tgid and tid, as bpf_get_current_pid_tgid(). */
static __always_inline u64 pid_tgid_of(const struct task_struct *task)
{
	if (HAVE_TASK_BTF)
		return (u64)task->tgid << 32 | (u32)task->pid;
	return (u64)BPF_CORE_READ(task, tgid) << 32 | (u32)BPF_CORE_READ(task, pid);
}

/* PF_* of a thread. */
static __always_inline u32 flags_of(const struct task_struct *task)
{
	return HAVE_TASK_BTF ? task->flags : BPF_CORE_READ(task, flags);
}

static __always_inline u32 current_flags(void)
{
	return flags_of(current_task());
}

/*
 * The thread pointer. x86: the fs base. arm64: tpidr_el0, which a program sets without a system
 * call. The kernel saves it at a switch-out, at a fork and, for all threads except the first, at
 * clone(). Until then the field is 0, or has the value from before an exec, because exec resets the
 * register only (arch/arm64/kernel/process.c, tls_thread_flush()).
 */
#ifdef __TARGET_ARCH_arm64
#define THREAD_POINTER thread.uw.tp_value
#else
#define THREAD_POINTER thread.fsbase
#endif
static __always_inline u64 thread_pointer_of(const struct task_struct *task)
{
	return HAVE_TASK_BTF ? task->THREAD_POINTER : BPF_CORE_READ(task, THREAD_POINTER);
}

/*
 * A task's state; 0: on-CPU or runnable. The field was renamed in 5.14 (2f064a59a11f). At
 * sched_switch another thread may already have set TASK_WAKING, but the state becomes 0 only
 * after the task has left its CPU.
 */
#ifndef CO_RE
#define CO_RE __attribute__((preserve_access_index))
#endif
struct task_struct___any {	/* one type, because libbpf needs 1 ms to find each */
	unsigned int __state;
	long state;
	unsigned int in_iowait : 1;
	unsigned int in_user_fault : 1;	/* 4.19+ with CONFIG_MEMCG; 6.12+: CONFIG_MEMCG_V1 */
} CO_RE;

/* One of its bits. BPF_CORE_READ_BITFIELD() would accept any size, with more instructions. */
#ifdef __bpf__
#define TASK_BIT(any, field)                                                                      \
	((u64)*(const u32 *)((const void *)(any) + __CORE_RELO(any, field, BYTE_OFFSET))          \
	 << __CORE_RELO(any, field, LSHIFT_U64) >> 63)
#else
#define TASK_BIT(any, field) (any)->field
#endif

static __always_inline u32 state_of(const struct task_struct *task)
{
	const struct task_struct___any *any = (const void *)task;

	return bpf_core_field_exists(any->__state) ? any->__state : (u32)any->state;
}

/* include/linux/sched/jobctl.h */
#define JOBCTL_STOP_SIGMASK 0x7f	/* the last stop's signal; the kernel's mask is wider */
#define JOBCTL_TRAP_FREEZE (1ul << 23)

/*
 * Returns true if the blocked thread is in the freezer. That of v1 and of the system has a state of
 * its own since 6.1 (f5d39b020809), and had a flag before. v2's is an interruptible sleep (5.2+,
 * kernel/signal.c, do_freezer_trap()), the only one of a thread that must go there: asking the
 * thread to freeze wakes it from any other. Without branches, because the verifier follows each.
 */
static __always_inline bool is_frozen(const struct task_struct *task, u32 state)
{
	return (state & TASK_FROZEN) |
	       (state / TASK_UNINTERRUPTIBLE & task->flags / PF_FROZEN & 1) |
	       (state / TASK_INTERRUPTIBLE & task->jobctl / JOBCTL_TRAP_FREEZE & 1);
}

/*
 * Returns true if the kernel shows that the blocked thread, which is in no system call, is in a
 * page fault: it waits for a disk, which it does nowhere else, or is in handle_mm_fault(), which
 * some kernels mark. Neither holds while it waits for the process' mmap_lock.
 */
static __always_inline bool is_in_fault(const struct task_struct *task)
{
	const struct task_struct___any *any = (const void *)task;
	u64 in_fault = TASK_BIT(any, in_iowait);

	if (bpf_core_field_exists(any->in_user_fault))
		in_fault |= TASK_BIT(any, in_user_fault);
	return in_fault;
}

/*
 * What a thread that left its CPU with this state_of() waits for, as raw_header.sysno: the one
 * place that decides it. nr: of its user_call. A thread that was in a system call when it was
 * stopped or frozen has left it, or will: the signal interrupts it. So being held takes precedence.
 */
static __always_inline u16 wait_of(const struct task_struct *task, u32 state, s64 nr)
{
	if (state & TASK_TRACED)
		return RAW_WAIT_TRACED;
	if (state & TASK_STOPPED)
		return RAW_WAIT_STOPPED + (task->jobctl & JOBCTL_STOP_SIGMASK);
	if (is_frozen(task, state))
		return RAW_WAIT_FROZEN;
	if ((u64)nr < RAW_WAIT_STOPPED)
		return nr;
	return state && is_in_fault(task) ? RAW_WAIT_FAULT : RAW_SYSNO_NONE;
}

/*
 * When a thread left its CPU, by the scheduler's clock; for the current one: now. It got the CPU at
 * last_arrival, and has run since then, apart from interrupts.
 */
static __always_inline u64 left_clock(const struct task_struct *task)
{
	return task->sched_info.last_arrival + task->se.sum_exec_runtime -
	       task->se.prev_sum_exec_runtime;
}

/*
 * How long ago a thread left its CPU, in ns. More than the host's uptime: unknown, because the
 * kernel does not record it, or it is a real-time thread, whose prev_sum_exec_runtime is older.
 */
static __always_inline u64 left_ns_ago(const struct task_struct *task)
{
	if (!HAVE_TASK_BTF || !bpf_core_field_exists(task->sched_info.last_arrival))
		return ~0ull;
	return left_clock(bpf_get_current_task_btf()) - left_clock(task);
}

/*
 * The context of a task iterator, struct bpf_iter__task, and the first field of struct
 * bpf_iter_meta: unchanged since iterators exist (5.8), so they need no relocation.
 */
struct iter_meta {
	struct seq_file *seq;
};
struct task_iter {
	struct iter_meta *meta;
	struct task_struct *task;	/* NULL: end of the list */
};

/*
 * When an inode was last changed. The field was renamed in 6.6 (13bc24457850) and split in 6.11
 * (3aa63a569c64); since 6.13 its highest bit says that somebody has asked (4e40eff0b573).
 */
struct timespec64___any {
	s64 tv_sec;
	long tv_nsec;
} CO_RE;
struct inode___any {	/* all that is read of an inode: one type, too */
	unsigned long i_ino;
	s64 i_size;
	struct super_block *i_sb;
	s64 i_ctime_sec;
	u32 i_ctime_nsec;
	struct timespec64___any __i_ctime;
	struct timespec64___any i_ctime;
} CO_RE;
#define CTIME_QUERIED (1u << 31)	/* include/linux/fs.h, I_CTIME_QUERIED */

static __always_inline void ctime_of(const struct inode___any *any, s64 *s, u32 *ns)
{
	if (bpf_core_field_exists(any->i_ctime_sec)) {
		*s = READ_KERNEL(any, i_ctime_sec);
		*ns = READ_KERNEL(any, i_ctime_nsec) & ~CTIME_QUERIED;
	} else if (bpf_core_field_exists(any->__i_ctime)) {
		*s = READ_KERNEL(any, __i_ctime.tv_sec);
		*ns = READ_KERNEL(any, __i_ctime.tv_nsec);
	} else {
		*s = READ_KERNEL(any, i_ctime.tv_sec);
		*ns = READ_KERNEL(any, i_ctime.tv_nsec);
	}
}

/* The inode of a file that the program cannot load from directly. */
static __always_inline const struct inode___any *inode_of(const struct file *file)
{
	return (const void *)READ_KERNEL(file, f_inode);
}

/* The kernel's struct of the file that the current process executes. NULL: none. */
static __always_inline const struct file *current_exe(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm, exe_file);
}

/* How often a thread has left a CPU. If two values are equal, it stayed on the CPU. */
static __always_inline u64 switches_of(const struct task_struct *task)
{
	if (HAVE_TASK_BTF)
		return task->nvcsw + task->nivcsw;
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/*
 * ---- what a thread points to ----
 *
 * Each load of a pointer from a typed pointer makes the verifier compare all names of the kernel's
 * types, to see whether the field may be trusted: 1 ms and more on 6.18. Loads from any address do
 * not. Kernels without such loads do not compare names, either.
 */

/* task->pointer->field, which is a field of the type `of`. task: a typed pointer. */
#define FIELD_BEHIND(task, pointer, of, field)                                                     \
	(HAVE_ANY_LOAD ?                                                                           \
		 *(const typeof(((of *)0)->field) *)kernel_words(                                  \
			 *kernel_words((u64)&(task)->pointer) +                                    \
			 bpf_core_field_offset(of, field)) :                                       \
	 HAVE_TASK_BTF ? (task)->pointer->field : BPF_CORE_READ(task, pointer, field))

/* Returns true if the current process has a single thread. */
static __always_inline bool current_is_alone(void)
{
	const struct task_struct *task = current_task();

	return FIELD_BEHIND(task, signal, struct signal_struct, nr_threads) == 1;
}

/*
 * Number of pages that the current process has mapped executable and not writable
 * (fs/proc/task_mmu.c: VmExe + VmLib). It changes when a library is loaded, and when a JIT compiler
 * generates code.
 */
static __always_inline u64 current_exec_pages(void)
{
	const struct task_struct *task = current_task();

	return FIELD_BEHIND(task, mm, struct mm_struct, exec_vm);
}

/*
 * Returns true during an exec of the current process: its old memory is gone, and the new program
 * is not mapped yet (fs/binfmt_elf.c, load_elf_binary(), sets start_code last).
 */
static __always_inline bool current_is_in_exec(void)
{
	const struct task_struct *task = current_task();

	return !FIELD_BEHIND(task, mm, struct mm_struct, start_code);
}

/* Start time of a thread's process, which identifies the process together with its tgid. */
static __always_inline u64 start_ns_of(const struct task_struct *task)
{
	return FIELD_BEHIND(task, group_leader, struct task_struct, start_boottime);
}

static __always_inline u64 current_start_ns(void)
{
	return start_ns_of(current_task());
}

/* Effective uid of the current process. A server may change it while it runs. */
static __always_inline u32 current_euid(void)
{
	const struct task_struct *task = current_task();

	return FIELD_BEHIND(task, cred, struct cred, euid.val);
}

static __always_inline u32 task_euid(const struct task_struct *task)
{
	const struct cred *cred = READ_KERNEL(task, cred);

	return READ_KERNEL(cred, euid.val);
}

/* ---- tasks whose fields the program cannot load directly ---- */

static __always_inline u32 task_tgid(const struct task_struct *task)
{
	return READ_KERNEL(task, tgid);
}

static __always_inline u32 task_tid(const struct task_struct *task)
{
	return READ_KERNEL(task, pid);
}

static __always_inline u64 task_start_ns(const struct task_struct *task)
{
	const struct task_struct *leader = READ_KERNEL(task, group_leader);

	return READ_KERNEL(leader, start_boottime);
}

/* As current_is_in_exec(); also true for a task that no longer has memory. */
static __always_inline bool task_is_in_exec(const struct task_struct *task)
{
	const struct mm_struct *mm = READ_KERNEL(task, mm);

	return !READ_KERNEL(mm, start_code);
}

/*
 * ---- cgroups ----
 *
 * A task is in one cgroup of each hierarchy (v1 has several hierarchies, v2 has one). Its css_set
 * lists these cgroups. The cgroups of a css_set never change, and a css_set is not freed while
 * a task has it.
 */
static __always_inline const struct css_set *cgroups_of(const struct task_struct *task)
{
	return READ_KERNEL(task, cgroups);
}

/* Head of the list of a css_set's cgroups. */
static __always_inline const struct list_head *cgroup_list(const struct css_set *set)
{
	return (const void *)set + bpf_core_field_offset(struct css_set, cgrp_links);
}

static __always_inline const struct list_head *cgroup_list_next(const struct list_head *pos)
{
	const struct list_head *next = NULL;

	/* Its first field. No relocation, which would mean one more type. */
	if (HAVE_ANY_LOAD)
		return (const void *)*kernel_words((u64)pos);
	bpf_probe_read_kernel(&next, sizeof(next), pos);
	return next;
}

static __always_inline const struct cgroup *cgroup_at(const struct list_head *pos)
{
	const struct cgrp_cset_link *link =
		(const void *)pos - bpf_core_field_offset(struct cgrp_cset_link, cgrp_link);

	return READ_KERNEL(link, cgrp);
}

/*
 * The cgroup above cg, or NULL if cg is the root of its hierarchy: its `self` is the parent of cg's
 * (kernel/cgroup/cgroup.c, cgroup_parent()).
 */
static __always_inline const struct cgroup *cgroup_parent(const struct cgroup *cg)
{
	const void *parent = READ_KERNEL(cg, self.parent);

	return parent ? parent - bpf_core_field_offset(struct cgroup, self) : NULL;
}

/* Number of its hierarchy; 0: v2. */
static __always_inline u32 cgroup_hierarchy(const struct cgroup *cg)
{
	const struct cgroup_root *root = READ_KERNEL(cg, root);

	return READ_KERNEL(root, hierarchy_id);
}

/* Inode number of its directory, as in stat(2). No later cgroup gets the same number. */
static __always_inline u64 cgroup_id(const struct cgroup *cg)
{
	const struct kernfs_node *kn = READ_KERNEL(cg, kn);

	return READ_KERNEL(kn, id);
}

/* Pid of a task in its own pid namespace; 0: that is the host's. */
static __always_inline u32 task_ns_pid(const struct task_struct *task)
{
	const struct pid *pid = READ_KERNEL(task, thread_pid);
	const struct upid *first = &pid->numbers[0];
	u64 level = READ_KERNEL(pid, level);
	u32 nr = 0;

	if (level)	/* nr is the first field of struct upid */
		bpf_probe_read_kernel(&nr, sizeof(nr),
				      (const char *)first + level * sizeof(struct upid));
	return nr;
}

#endif
