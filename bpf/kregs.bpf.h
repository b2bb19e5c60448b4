/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kregs.bpf.h - the registers of user space: of an interrupted thread, and of one that has entered
 * the kernel, with its system call. What differs between architectures and between kernels.
 */
#ifndef TACHBPF_KREGS_H
#define TACHBPF_KREGS_H

#include "kcompat.bpf.h"

/*
 * Stack pointer of the interrupted thread; 0 if it was not in user space. The context of a
 * perf program begins with the registers in the order of bpf_user_pt_regs_t. x86-64, struct
 * pt_regs: cs is the 18th word and sp the 20th. arm64, struct user_pt_regs: sp is the 32nd word
 * and pstate the 34th; the mode in pstate is 0 in 64-bit user space.
 */
static __always_inline u64 interrupted_user_sp(const struct bpf_perf_event_data *ctx)
{
#ifdef __TARGET_ARCH_x86
	const u64 *regs = (const void *)ctx;

	return regs[17] & 3 ? regs[19] : 0;
#elif defined(__TARGET_ARCH_arm64)
	const u64 *regs = (const void *)ctx;

	return regs[33] & 0x1f ? 0 : regs[31];
#else
	return 0;
#endif
}

/*
 * The end of the context: the event's period and, for a page fault, its address. They follow 21
 * words of registers (x86-64), or 34.
 */
#ifdef __TARGET_ARCH_x86
#define EVENT_WORDS 21
#else
#define EVENT_WORDS 34
#endif
static __always_inline u64 event_period(const struct bpf_perf_event_data *ctx)
{
	return ((const u64 *)ctx)[EVENT_WORDS];
}

static __always_inline u64 event_addr(const struct bpf_perf_event_data *ctx)
{
	return ((const u64 *)ctx)[EVENT_WORDS + 1];
}

/*
 * The registers that a task had when it entered the kernel. bpf_task_pt_regs() exists since 5.15
 * (dd6e10fbd9fb). Without it the registers are read from the end of the kernel stack. No field has
 * the stack's size: it is 16 KiB with pages of 4 KiB (THREAD_SIZE), unless KASAN doubles it.
 */
#define THREAD_BYTES 16384
#define HAVE_TASK_PT_REGS                                                                         \
	bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)
static __always_inline struct pt_regs *entry_regs_of(struct task_struct *task)
{
	if (HAVE_TASK_PT_REGS)
		return (struct pt_regs *)bpf_task_pt_regs(task);
	return (struct pt_regs *)((u64)task->stack + THREAD_BYTES -
				  bpf_core_type_size(struct pt_regs));
}

/* One of them. regs: from entry_regs_of(). */
#define REG(regs, field) (HAVE_TASK_PT_REGS ? (regs)->field : BPF_CORE_READ(regs, field))

/*
 * Stack pointer with which the current thread has entered the kernel: for a tick that has
 * interrupted the kernel.
 */
static __always_inline u64 current_user_sp(void)
{
	u64 stack;

	if (HAVE_TASK_PT_REGS)
		return ((struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()))->sp;
	stack = (u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack);
	return BPF_CORE_READ((struct pt_regs *)(stack + THREAD_BYTES -
						bpf_core_type_size(struct pt_regs)),
			     sp);
}

/*
 * The registers of user space from which a walk of machine code starts. pc 0: they are unknown,
 * because the thread has none or runs a 32-bit program.
 */
struct user_regs {
	u64 pc, sp;
	u64 fp;			/* x86-64: rbp; arm64: x29 */
	u64 lr;			/* arm64: x30 */
};

/*
 * Those of the interrupted thread. As in interrupted_user_sp(): x86-64: rbp is the 5th word, ip the
 * 17th. arm64: x29 and x30 are the 30th and 31st, pc is the 33rd. False: it was in the kernel.
 */
#define USER32_CS 0x23		/* arch/x86/include/asm/segment.h, __USER32_CS */
#define USER32_MODE 0x10	/* PSR_MODE32_BIT: arch/arm64/include/uapi/asm/ptrace.h */
static __always_inline bool interrupted_user_regs(const struct bpf_perf_event_data *ctx,
						  struct user_regs *r)
{
	const u64 *regs = (const void *)ctx;

#ifdef __TARGET_ARCH_x86
	u64 cs = regs[17];

	if (!(cs & 3))
		return false;
	r->pc = (cs & 0xffff) == USER32_CS ? 0 : regs[16];
	r->sp = regs[19];
	r->fp = regs[4];
	r->lr = 0;
#else
	if (regs[33] & 0x1f)
		return false;
	r->pc = regs[32];
	r->sp = regs[31];
	r->fp = regs[29];
	r->lr = regs[30];
#endif
	return true;
}

/* Those with which a task has entered the kernel. regs: from entry_regs_of(). */
static __always_inline void user_regs_from(struct pt_regs *regs, struct user_regs *r)
{
#ifdef __TARGET_ARCH_arm64
	u64 mode = REG(regs, pstate);

	r->pc = REG(regs, pc);
	r->fp = REG(regs, regs[29]);
	r->lr = REG(regs, regs[30]);
	if (mode & USER32_MODE)
		r->pc = 0;
#else
	u64 cs = REG(regs, cs);

	r->pc = REG(regs, ip);
	r->fp = REG(regs, bp);
	r->lr = 0;
	if ((cs & 0xffff) == USER32_CS)
		r->pc = 0;
#endif
	r->sp = REG(regs, sp);
}

/* The same. task: off-CPU, or the current one. */
static __always_inline void entry_user_regs(struct task_struct *task, struct user_regs *r)
{
	user_regs_from(entry_regs_of(task), r);
}

/* The same of the current thread, for a tick that has interrupted the kernel. */
static __always_inline void current_entry_regs(struct user_regs *r)
{
	struct task_struct *task;
	struct pt_regs *regs;

	if (HAVE_TASK_PT_REGS) {
		entry_user_regs(bpf_get_current_task_btf(), r);
		return;
	}
	task = (struct task_struct *)bpf_get_current_task();
	regs = (struct pt_regs *)((u64)BPF_CORE_READ(task, stack) + THREAD_BYTES -
				  bpf_core_type_size(struct pt_regs));
#ifdef __TARGET_ARCH_arm64
	r->pc = BPF_CORE_READ(regs, pstate) & USER32_MODE ? 0 : BPF_CORE_READ(regs, pc);
	r->fp = BPF_CORE_READ(regs, regs[29]);
	r->lr = BPF_CORE_READ(regs, regs[30]);
#else
	r->pc = BPF_CORE_READ(regs, cs) == USER32_CS ? 0 : BPF_CORE_READ(regs, ip);
	r->fp = BPF_CORE_READ(regs, bp);
	r->lr = 0;
#endif
	r->sp = BPF_CORE_READ(regs, sp);
}

/* How a task has entered the kernel. */
struct user_call {
	u64 sp;
	s64 nr;			/* number of the system call; negative: none */
	u64 args[2];		/* the first two arguments of the call */
};

/* regs: entry_regs_of() a task that is off-CPU, or the current one. */
static __always_inline void user_call_from(struct pt_regs *regs, struct user_call *c)
{
#ifdef __TARGET_ARCH_arm64
	c->sp = REG(regs, sp);
	c->nr = REG(regs, syscallno);
	c->args[0] = REG(regs, orig_x0);
	c->args[1] = REG(regs, regs[1]);
#else
	c->sp = REG(regs, sp);
	c->nr = REG(regs, orig_ax);
	c->args[0] = REG(regs, di);
	c->args[1] = REG(regs, si);
#endif
}

static __always_inline void user_call_of(struct task_struct *task, struct user_call *c)
{
	user_call_from(entry_regs_of(task), c);
}

/* The call's fourth argument, likewise. */
static __always_inline u64 fourth_argument(struct pt_regs *regs)
{
#ifdef __TARGET_ARCH_arm64
	return REG(regs, regs[3]);
#else
	return REG(regs, r10);
#endif
}

/* include/uapi/asm-generic/unistd.h, arch/x86/entry/syscalls/syscall_64.tbl */
#ifdef __TARGET_ARCH_arm64
#define NR_FUTEX 98
#define NR_MREMAP 216
#else
#define NR_FUTEX 202
#define NR_MREMAP 25
#endif

/* The arguments of mremap(). */
struct mremap_call {
	u64 addr, bytes, new_bytes;
};

/* False: the current thread is not in mremap(). Reads registers as current_entry_regs(). */
static __always_inline bool current_mremap(struct mremap_call *c)
{
	struct task_struct *task;
	struct pt_regs *regs;

	if (HAVE_TASK_PT_REGS) {
		regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	} else {
		task = (struct task_struct *)bpf_get_current_task();
		regs = (struct pt_regs *)((u64)BPF_CORE_READ(task, stack) + THREAD_BYTES -
					  bpf_core_type_size(struct pt_regs));
	}
#ifdef __TARGET_ARCH_arm64
	if (BPF_CORE_READ(regs, syscallno) != NR_MREMAP)
		return false;
	c->addr = BPF_CORE_READ(regs, orig_x0);
	c->bytes = BPF_CORE_READ(regs, regs[1]);
	c->new_bytes = BPF_CORE_READ(regs, regs[2]);
#else
	if (BPF_CORE_READ(regs, orig_ax) != NR_MREMAP)
		return false;
	c->addr = BPF_CORE_READ(regs, di);
	c->bytes = BPF_CORE_READ(regs, si);
	c->new_bytes = BPF_CORE_READ(regs, dx);
#endif
	return true;
}

/* Address of the futex that the call waits for, or 0 (include/uapi/linux/futex.h). */
static __always_inline u64 futex_waited_for(const struct user_call *c)
{
	u32 op = c->args[1] & 0x7f;

	return c->nr == NR_FUTEX && (op == 0 || op == 9) ? c->args[0] : 0;
}

#endif
