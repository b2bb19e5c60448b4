/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_trampoline.bpf.h - recognises the trampolines of CPython's -X perf and -X perf_jit.
 *
 * CPython (3.12+) calls each Python function through a copy of a few instructions, in memory that
 * belongs to no file, so nothing describes how to unwind them. But all copies have the same code,
 * and its bytes say where the caller's frame is. A program that imitates them gets what its code
 * says, too.
 */
#ifndef TACHBPF_NATIVE_TRAMPOLINE_H
#define TACHBPF_NATIVE_TRAMPOLINE_H

#include "native.bpf.h"

/*
 * The forms of the code, from Python/asm_trampoline*.S of CPython's tags v3.12.0 to v3.15.0a. A
 * compiler's options may add one instruction before a form: is_form_head(). FORM_BEFORE: bytes from
 * a form's start to its last instruction, at most. FORM_STEP: where instructions can begin.
 */
#ifdef __TARGET_ARCH_arm64
#define FORM_BEFORE 20u
#define FORM_STEP 4u
#define FORM_STP_MOV 0x910003fda9bf7bfdull	/* stp x29, x30, [sp, #-16]!; mov x29, sp */
#define FORM_BLR_LDP 0xa8c17bfdd63f0060ull	/* blr x3; ldp x29, x30, [sp], #16        */
#define FORM_RET 0xd65f03c0u

/* Returns true if it is an instruction before the form: paciasp, pacibsp, bti c. */
static __always_inline bool is_form_head(u32 insn)
{
	return insn == 0xd503233f || insn == 0xd503237f || insn == 0xd503245f;
}

static __always_inline bool is_form(const u8 *p)
{
	return *(const u64 *)p == FORM_STP_MOV && *(const u64 *)(p + 8) == FORM_BLR_LDP;
}

/* Set the rule for byte k of the form that begins at p. Returns false if it is not that long. */
static __always_inline bool form_rule(const u8 *p, u64 k, struct unwind_rule *r)
{
	const u32 *tail = (const u32 *)(p + 16);
	bool auth = tail[0] == 0xd50323bf || tail[0] == 0xd50323ff;	/* autiasp, autibsp */

	if (tail[auth] != FORM_RET || k > 16 + 4u * auth)
		return false;
	if (k > 0 && k < 16)
		*r = (struct unwind_rule){
			.cfa = UNWIND_SP, .cfa_off = 16, .fp = UNWIND_AT_CFA, .fp_off = -16,
			.ra = UNWIND_AT_CFA, .ra_off = -8,
		};
	else
		*r = (struct unwind_rule){ .cfa = UNWIND_SP };
	return true;
}

#else
#define FORM_BEFORE 10u
#define FORM_STEP 1u
/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret: its first 8 bytes, and those from the fourth on */
#define FORM_SUB 0x8348d1ff08ec8348ull
#define FORM_SUB_END 0xc308c48348d1ff08ull
/* push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret */
#define FORM_PUSH 0xc35dd1ffe5894855ull

static __always_inline bool is_form_head(u32 insn)
{
	return insn == 0xfa1e0ff3;	/* endbr64 */
}

static __always_inline bool is_form(const u8 *p)
{
	u64 first = *(const u64 *)p;

	return first == FORM_PUSH || (first == FORM_SUB && *(const u64 *)(p + 3) == FORM_SUB_END);
}

static __always_inline bool form_rule(const u8 *p, u64 k, struct unwind_rule *r)
{
	bool push = *(const u64 *)p == FORM_PUSH;
	u64 last = push ? 7 : 10;

	if (k > last)
		return false;
	*r = (struct unwind_rule){
		.cfa = UNWIND_SP, .cfa_off = 8, .ra = UNWIND_AT_CFA, .ra_off = -8,
	};
	if (k > 0 && k < last) {
		r->cfa_off = 16;
		r->fp = push ? UNWIND_AT_CFA : UNWIND_SAME;
		r->fp_off = -16;
	}
	return true;
}

#endif

/*
 * Read the code around pc into ns->code: no further than the mapping, if it is known. Returns the
 * number of bytes before pc, or -1.
 */
static __always_inline s64 read_code(struct native_scratch *ns, u64 pc)
{
	const struct native_mapping *m = &ns->search.mapping;
	u64 start = pc - FORM_BEFORE, bytes = NATIVE_FORM_BYTES;

	if (pc >= m->start && pc < m->end) {
		if (start < m->start)
			start = m->start;
		if (bytes > m->end - start)
			bytes = m->end - start;
	}
	barrier_var(bytes);
	if (bytes > NATIVE_FORM_BYTES)
		return -1;
	return read_user(ns->code, bytes, start) ? -1 : (s64)(pc - start);
}

int native_trampoline(u32 slot);
/*
 * The next frame's code, native_codes[slot], is in no file, or in a mapping that is not known yet.
 * If it is a trampoline, set its rule and its file. If it cannot be read, the entry is invalid
 * afterwards. Returns 0. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline int native_trampoline(u32 slot)
{
	struct native_scratch *ns;
	struct native_code *e;
	u32 index = slot;
	u64 at, k;

	if (!cfg_native)
		return 0;
	ns = native_scratch();
	e = bpf_map_lookup_elem(&native_codes, &index);
	if (!ns || !e)
		return 0;
	at = read_code(ns, ns->walk.pc);	/* not e->pc: there, no instruction may begin */
	barrier_var(at);
	if (at > FORM_BEFORE) {
		e->pc = 0;
		return 0;
	}
	if (is_form_head(*(u32 *)(ns->code + at)))
		at += 4;
	/* The nearest start, in map memory, whose values the verifier does not follow. */
	ns->search.first = FORM_BEFORE + 1;
#pragma clang loop unroll(disable)
	for (k = 0; k <= FORM_BEFORE && k <= at; k += FORM_STEP)
		if (is_form(ns->code + ((at - k) & 31))) {
			ns->search.first = k;
			break;
		}
	k = ns->search.first;
	if (k <= FORM_BEFORE && k <= at &&
	    form_rule(ns->code + ((at - k) & 31), k, &e->rule))
		e->file = NATIVE_FILE_TRAMPOLINE;
	return 0;
}

#endif
