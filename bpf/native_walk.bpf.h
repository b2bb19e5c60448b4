/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_walk.bpf.h - walks the machine code's frames of the current thread, and sends them.
 *
 * A step looks up the code at the frame's address (native_code.bpf.h), and computes the caller's
 * registers: its SP is the frame's canonical frame address (CFA). Reads only memory of the current
 * process, in that process' context, so the thread stands still. The stack may contain anything: a
 * walk only goes outwards, takes at most NATIVE_STEPS steps, and stops at the sample's time limit.
 * Of a stack deeper than the record the innermost and the outermost frames are kept.
 */
#ifndef TACHBPF_NATIVE_WALK_H
#define TACHBPF_NATIVE_WALK_H

#include "losses.bpf.h"
#include "native_code.bpf.h"

/* native_step(): continue. No enum native_end has this value. */
#define NATIVE_GOES_ON 0xff

/*
 * Offsets from SP in a signal handler's return trampoline. x86-64: SP is at the struct ucontext,
 * which has 40 bytes before its registers (arch/x86/include/uapi/asm/sigcontext.h). arm64: SP is at
 * the siginfo, 128 bytes before the ucontext, which has 184 bytes before x0
 * (arch/arm64/kernel/signal.c, struct rt_sigframe; include/uapi/asm/{ucontext,sigcontext}.h).
 */
#ifdef __TARGET_ARCH_arm64
#define UCONTEXT_X0 (128 + 184)
#define UCONTEXT_FP (UCONTEXT_X0 + 8 * 29)
#define UCONTEXT_LR (UCONTEXT_X0 + 8 * 30)
#define UCONTEXT_SP (UCONTEXT_X0 + 8 * 31)
#define UCONTEXT_PC (UCONTEXT_X0 + 8 * 32)
#define HAS_LR 1	/* a call leaves the return address in a register */
#else
#define UCONTEXT_FP (40 + 80)
#define UCONTEXT_SP (40 + 120)
#define UCONTEXT_PC (40 + 128)
#define HAS_LR 0
#endif

/*
 * arm64 may sign return addresses: the signature is in the bits above the address space, which has
 * 48 bits for programs that do not ask for more (Documentation/arch/arm64/memory.rst).
 */
static __always_inline u64 unsigned_address(u64 addr)
{
#ifdef __TARGET_ARCH_arm64
	return addr & 0xffffffffffffULL;
#else
	return addr;
#endif
}

u64 far_word(u64 addr);
/*
 * The word of the stack at addr, which is outside the window: move the window there. 0 with
 * walk.fault: unreadable. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline u64 far_word(u64 addr)
{
	struct native_scratch *ns;
	struct native_walk *w;
	struct scratch *s;
	u32 zero = 0;
	u64 start, word = 0;

	if (!cfg_native)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	ns = native_scratch();
	if (!s || !ns)
		return 0;
	w = &ns->walk;
	count_reads(s, 1);
	if (!w->no_window) {
		start = addr - w->sp < NATIVE_NEAR ? w->sp : addr - NATIVE_BELOW;
		w->win = start;
		if (!read_user(ns->window, NATIVE_WINDOW, start)) {
			start = addr - start;
			barrier_var(start);
			return start <= NATIVE_WINDOW - 8 ? *(u64 *)(ns->window + start) : 0;
		}
		w->win = NATIVE_NO_WINDOW;
		w->no_window = 1;
		count_reads(s, FAULT_READS);
	}
	if (read_user(&word, 8, addr)) {
		w->fault = 1;
		count_reads(s, FAULT_READS);
	}
	return word;
}

/* The word of the stack at addr. 0 with w->fault: unreadable. */
static __always_inline u64 stack_word(struct native_scratch *ns, struct native_walk *w, u64 addr)
{
	u64 at = addr - w->win;

	barrier_var(at);
	return at <= NATIVE_WINDOW - 8 ? *(u64 *)(ns->window + at) : far_word(addr);
}

/* No slot is left: the next frames replace those that are neither innermost nor outermost. */
static __always_inline void wrap_slots(struct native_walk *w)
{
	w->slot -= RAW_NATIVE_OUTER;
	w->left_out += RAW_NATIVE_OUTER;
}

/* Add the frame by its CFA, or by its SP if the CFA is unknown. */
static __always_inline void add_native_frame(struct native_scratch *ns, struct native_walk *w,
					     const struct native_code *e, u64 cfa)
{
	struct raw_native_frame *f;
	u64 i;

	if (unlikely(w->slot >= w->slots_end))
		wrap_slots(w);
	i = w->slot++;
	barrier_var(i);
	if (i >= sizeof(ns->raw.slots) / sizeof(*f))	/* never, but the verifier does not know */
		return;
	f = &ns->raw.slots[i];
	f->addr = e->addr;
	f->below = cfa - ns->regs.sp;
	f->file = e->file;
}

int native_signal(u32 slot);
/*
 * The frame of native_codes[slot] is the trampoline to which a signal handler returns: all
 * registers of the caller are those that the signal interrupted. Returns as native_step(). The
 * function has external linkage, so the verifier checks it only once.
 */
__weak __noinline int native_signal(u32 slot)
{
	struct native_scratch *ns;
	struct native_walk *w;
	struct native_code *e;
	u32 index = slot;
	u64 sp, fp, pc;

	if (!cfg_native)
		return NATIVE_UNSUPPORTED;
	ns = native_scratch();
	e = bpf_map_lookup_elem(&native_codes, &index);
	if (!ns || !e)
		return NATIVE_UNSUPPORTED;
	w = &ns->walk;
	fp = stack_word(ns, w, w->sp + UCONTEXT_FP);
	sp = stack_word(ns, w, w->sp + UCONTEXT_SP);
	pc = stack_word(ns, w, w->sp + UCONTEXT_PC);
#ifdef __TARGET_ARCH_arm64
	w->lr = stack_word(ns, w, w->sp + UCONTEXT_LR);
#endif
	add_native_frame(ns, w, e, w->fault ? w->sp : sp);
	if (w->fault)
		return NATIVE_UNREADABLE;
	if (!pc || !sp)
		return NATIVE_NO_PROGRESS;
	w->fp = fp;
	w->sp = sp;
	w->pc = pc;
	w->called = 0;
	w->leaf = HAS_LR;
	return NATIVE_GOES_ON;
}

/* The frame's CFA; 0: its rule gives none. */
static __always_inline u64 cfa_of(struct native_scratch *ns, struct native_walk *w,
				  const struct unwind_rule *r, u64 pc)
{
	u64 off = (s64)r->cfa_off;

	switch (r->cfa) {
	case UNWIND_SP:
		return w->sp + off;
	case UNWIND_FP:
		return w->fp + off;
	case UNWIND_PLT:
		return w->sp + ((pc & 15) >= off ? 16 : 8);
	case UNWIND_AT_SP:
		return stack_word(ns, w, w->sp + off) + (s64)r->cfa_add;
	case UNWIND_AT_FP:
		return stack_word(ns, w, w->fp + off) + (s64)r->cfa_add;
	}
	return 0;
}

/*
 * Move to the caller's frame. Returns as native_step(). The order of a frame is, from its CFA
 * downwards: return address, saved FP.
 */
static __always_inline u32 go_to_caller(struct native_scratch *ns, struct native_walk *w,
					const struct unwind_rule *r, u64 cfa)
{
	u64 fp = w->fp, pc = w->lr;

	if (r->ra == UNWIND_AT_CFA)
		pc = stack_word(ns, w, cfa + (s64)r->ra_off);
	else if (r->ra == UNWIND_AT_FRAME)
		pc = stack_word(ns, w, w->fp + (s64)r->ra_off);
	else if (r->ra == UNWIND_LOST)
		return NATIVE_WHOLE;	/* DWARF 5, 6.4.4: there is no caller */
	else if (!w->leaf)
		return NATIVE_NO_PROGRESS;
	if (r->fp == UNWIND_AT_CFA)
		fp = stack_word(ns, w, cfa + (s64)r->fp_off);
	else if (r->fp == UNWIND_AT_FRAME)
		fp = stack_word(ns, w, w->fp + (s64)r->fp_off);
	else if (r->fp == UNWIND_LOST)
		fp = 0;
	if (w->fault)
		return NATIVE_UNREADABLE;
	pc = unsigned_address(pc);
	if (!pc)
		return NATIVE_WHOLE;
	if (cfa == w->sp && pc == w->pc)
		return NATIVE_NO_PROGRESS;
	w->pc = pc;
	w->sp = cfa;
	w->fp = fp;
	w->called = 1;
	w->leaf = 0;
	return NATIVE_GOES_ON;
}

/* Returns true if the entry still describes the code that the process has at pc. */
static __always_inline bool is_current(const struct native_code *e, u64 pc, u32 place)
{
	struct unwind_table *t;
	u32 number = e->table;

	if (e->pc != pc || e->place != place)
		return false;
	t = bpf_map_lookup_elem(&unwind_tables, &number);
	return t && t->stamp == e->table_stamp;
}

/* One frame. Returns how the walk ends, or NATIVE_GOES_ON. */
static __always_inline u32 native_step(struct scratch *s, struct native_scratch *ns,
				       struct native_walk *w)
{
	u64 pc = w->pc - w->called, cfa;
	u32 slot = code_slot(pc, w->place.stamp);
	struct native_code *e;

	if (s->walk.out_of_time)
		return NATIVE_TIME;
	count_reads(s, 1);
	e = bpf_map_lookup_elem(&native_codes, &slot);
	if (!e)
		return NATIVE_NO_MAPPINGS;
	if (!is_current(e, pc, w->place.stamp)) {
		count_reads(s, NATIVE_FIND_READS);
		native_find(pc);
	}
	if (e->rule.cfa == UNWIND_SIGNAL)
		return native_signal(slot);
	cfa = cfa_of(ns, w, &e->rule, pc);
	if (!cfa || w->fault) {
		add_native_frame(ns, w, e, w->sp);
		return w->fault ? NATIVE_UNREADABLE : e->rule.pad;
	}
	if (cfa & 7 || cfa < w->sp || (cfa == w->sp && !w->leaf)) {
		add_native_frame(ns, w, e, w->sp);
		return NATIVE_NO_PROGRESS;
	}
	add_native_frame(ns, w, e, cfa);
	return go_to_caller(ns, w, &e->rule, cfa);
}

int native_steps(void);
/* NATIVE_STEPS_A_CALL steps. Returns as native_step(). With external linkage as walk_steps(). */
__weak __noinline int native_steps(void)
{
	struct native_scratch *ns;
	struct scratch *s;
	u32 zero = 0, i, end;

	if (!cfg_native)
		return NATIVE_NO_REGS;
	s = bpf_map_lookup_elem(&scratches, &zero);
	ns = native_scratch();
	if (!s || !ns)
		return NATIVE_NO_REGS;
#pragma clang loop unroll(disable)
	for (i = 0; i < NATIVE_STEPS_A_CALL; i++) {
		end = native_step(s, ns, &ns->walk);
		if (end != NATIVE_GOES_ON)
			return end;
	}
	return NATIVE_GOES_ON;
}

int native_many_steps(void);
/*
 * NATIVE_CALLS_A_CALL times these. Returns as native_step(). With external linkage: the verifier
 * follows the calls of one of them, and not of all.
 */
__weak __noinline int native_many_steps(void)
{
	u32 i, end;

	if (!cfg_native)
		return NATIVE_NO_REGS;
#pragma clang loop unroll(disable)
	for (i = 0; i < NATIVE_CALLS_A_CALL; i++) {
		end = native_steps();
		if (end != NATIVE_GOES_ON)
			return end;
	}
	return NATIVE_GOES_ON;
}

/* Continue the walk at the cursor. Returns enum native_end. */
static __always_inline u32 native_frames(void)
{
	u32 i, end;

#pragma clang loop unroll(disable)
	for (i = 0; i < NATIVE_STEPS / (NATIVE_CALLS_A_CALL * NATIVE_STEPS_A_CALL); i++) {
		end = native_many_steps();
		if (end != NATIVE_GOES_ON)
			return end;
	}
	return NATIVE_DEPTH;
}

/* Fill in the numbers of the frames that are in the slots after the entries. */
static __always_inline void count_slots(struct raw_native *raw, const struct native_walk *w)
{
	bool ring = w->left_out;

	raw->nframes = (ring ? w->slots_end : w->slot) - raw->nentries;
	raw->left_out = ring ? w->left_out + w->slot - w->slots_end : 0;
}

int native_walk(u32 sampled);
/*
 * Walk the current thread from ns->regs on: fill in ns->raw except its header. sampled: the record
 * that follows has Python frames; 0: it is a RAW_NO_STACK. The sample's clock must run. Returns 0.
 * With external linkage as walk_steps().
 */
__weak __noinline int native_walk(u32 sampled)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32, zero = 0, entries, end;
	struct native_scratch *ns;
	struct native_place *p;
	struct scratch *s;

	if (!cfg_native)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	ns = native_scratch();
	if (!s || !ns)
		return 0;
	s->walk.out_of_time = is_out_of_time(s, bpf_ktime_get_ns(), 0);
	s->walk.half_reads = 0;
	entries = sampled ? s->walk.entries : 0;
	ns->raw.nentries = entries;
	ns->raw.interp_id = sampled ? s->sample.interp_id : 0;
	ns->walk = (struct native_walk){
		.pc = ns->regs.pc,
		.sp = ns->regs.sp,
		.fp = ns->regs.fp,
		.lr = ns->regs.lr,
		.win = NATIVE_NO_WINDOW,
		.leaf = HAS_LR,
		.slot = entries,
		.slots_end = entries + RAW_NATIVE_FRAMES,
	};
	p = bpf_map_lookup_elem(&native_places, &tgid);
	if (p)
		ns->walk.place = *p;
	if (!ns->regs.pc || !ns->regs.sp || current_flags() & PF_EXITING || current_is_in_exec())
		end = NATIVE_NO_REGS;
	else if (!p)
		end = NATIVE_NO_MAPPINGS;
	else
		end = native_frames();
	ns->raw.end = end;
	ns->raw.sp = ns->regs.sp;
	count_slots(&ns->raw, &ns->walk);
	return 0;
}

/*
 * Walk the machine code of the interrupted thread. sampled: as native_walk(). Returns true if the
 * kernel was interrupted.
 */
static __always_inline bool walk_interrupted(const struct bpf_perf_event_data *ctx, u32 sampled)
{
	struct native_scratch *ns = native_scratch();
	bool kernel;

	if (!ns)
		return false;
	kernel = !interrupted_user_regs(ctx, &ns->regs);
	if (kernel)
		current_entry_regs(&ns->regs);
	native_walk(sampled);
	return kernel;
}

int send_native(void);
/*
 * Send a RAW_NATIVE with the result of native_walk(), for the record whose header is in s->sample.
 * Returns 0. With external linkage as walk_steps().
 */
__weak __noinline int send_native(void)
{
	struct native_scratch *ns;
	struct scratch *s;
	u32 zero = 0;
	u64 bytes;

	if (!cfg_native)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	ns = native_scratch();
	if (!s || !ns)
		return 0;
	ns->raw.h = s->sample.h;
	ns->raw.h.kind = RAW_NATIVE;
	ns->raw.tid = (u32)bpf_get_current_pid_tgid();
	ns->raw.cpu = bpf_get_smp_processor_id();
	bytes = (ns->raw.nentries + ns->raw.nframes) * sizeof(ns->raw.slots[0]);
	barrier_var(bytes);
	if (bytes > sizeof(ns->raw.slots))
		return 0;
	if (bpf_ringbuf_output(&events, &ns->raw, offsetof(struct raw_native, slots) + bytes,
			       BPF_RB_NO_WAKEUP))
		count_end(CNT_NATIVE_LOST);
	return 0;
}

#endif
