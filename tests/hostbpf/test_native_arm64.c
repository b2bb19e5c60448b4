// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_arm64.c - the walk of machine code as arm64 has it: a return address may still be in
 * its register, and may be signed. On any machine: the walk is compiled once more, by other names.
 */
#include "tests/hostbpf/native_world.h"

#ifndef __TARGET_ARCH_arm64
#define __TARGET_ARCH_arm64
#endif
#define native_find(...) arm64_find(__VA_ARGS__)
#define native_trampoline(...) arm64_trampoline(__VA_ARGS__)
#define native_signal(...) arm64_signal(__VA_ARGS__)
#define native_steps(...) arm64_steps(__VA_ARGS__)
#define native_many_steps(...) arm64_many_steps(__VA_ARGS__)
#define native_walk(...) arm64_walk(__VA_ARGS__)
#define send_native(...) arm64_send(__VA_ARGS__)
#include "bpf/native_walk.bpf.h"

static struct world w;

#define SP (N_STACK + 1024)
#define SIGNATURE 0x002a000000000000ull	/* in bits that no address has */
#define ROW(cfa, off, fp, ra) ((u32)((cfa) | (off) / 8 << 3 | (fp) << 16 | (ra) << 24))

enum { LEAF, ROOM, FRAMED, SIGNAL, START, RULES };

static void make_world(void)
{
	static const u32 rules[RULES] = {
		[LEAF] = ROW(UNWIND_SP, 0, 0, 0),
		[ROOM] = ROW(UNWIND_SP, 64, 0, 0),
		[FRAMED] = ROW(UNWIND_FP, 32, 4, 3),
		[SIGNAL] = UNWIND_SIGNAL,
		[START] = UNWIND_END,
	};

	native_world(&w, 13, 1);
	put_table(0, rules, RULES, 1);
}

/* The walk from these registers must end so, after so many frames. */
static const struct raw_native *expect(u64 pc, u64 fp, u64 lr, enum native_end end, u32 frames)
{
	struct native_scratch *ns = native_scratch();

	ns->regs = (struct user_regs){ pc, SP, fp, lr };
	arm64_walk(0);
	assert_int_equal(ns->raw.end, end);
	assert_int_equal(ns->raw.nframes, frames);
	return &ns->raw;
}

/* A function that has saved nothing, with and without room on the stack, called by one with FP. */
static void test_link_register(void **state)
{
	const struct raw_native *r;

	make_world();
	host_mem_put64(SP + 512 + 8, code_at(0, START) | SIGNATURE);
	r = expect(code_at(0, LEAF), SP + 512, code_at(0, FRAMED), NATIVE_WHOLE, 3);
	check_frame(r, 0, 0, LEAF, 0);
	check_frame(r, 1, 0, FRAMED, 544);
	assert_int_equal(native_frames_of(r)[1].addr, N_FILE + FRAMED * N_ROW + 15);
	check_frame(r, 2, 0, START, 544);
	r = expect(code_at(0, ROOM), SP + 512, code_at(0, FRAMED) | SIGNATURE, NATIVE_WHOLE,
		   3);
	check_frame(r, 0, 0, ROOM, 64);
	assert_int_equal(native_frames_of(r)[1].addr, N_FILE + FRAMED * N_ROW + 15);
}

/* Only the innermost function can have it there: another one's call has overwritten it. */
static void test_lost_link_register(void **state)
{
	make_world();
	expect(code_at(0, LEAF), 0, code_at(0, ROOM), NATIVE_NO_PROGRESS, 2);
	expect(code_at(0, LEAF), 0, code_at(0, LEAF), NATIVE_NO_PROGRESS, 1);
	expect(code_at(0, LEAF), 0, 0, NATIVE_WHOLE, 1);
}

/* A signal may interrupt a function that has saved nothing. */
static void test_signal(void **state)
{
	u64 x0 = SP + 128 + 184;	/* siginfo; the ucontext's head */
	const struct raw_native *r;

	make_world();
	host_mem_put64(x0 + 8 * 29, SP + 2048);
	host_mem_put64(x0 + 8 * 30, code_at(0, FRAMED));
	host_mem_put64(x0 + 8 * 31, SP + 1024);
	host_mem_put64(x0 + 8 * 32, code_at(0, ROOM));
	host_mem_put64(SP + 2048 + 32 - 24, code_at(0, START));
	r = expect(code_at(0, LEAF), 0, code_at(0, SIGNAL), NATIVE_WHOLE, 5);
	check_frame(r, 1, 0, SIGNAL, 1024);
	check_frame(r, 2, 0, ROOM, 1024 + 64);
	assert_int_equal(native_frames_of(r)[2].addr, N_FILE + ROOM * N_ROW + 16);
	check_frame(r, 3, 0, FRAMED, 2048 + 32);
}

#define ARENA (N_CODE + N_STEP)

/*
 * The trampolines of CPython's -X perf: stp x29, x30, [sp, #-16]!; mov x29, sp; blr x3;
 * ldp x29, x30, [sp], #16; ret. Compilers that protect returns have paciasp or pacibsp before it,
 * and autiasp or autibsp before ret; those that protect jumps have bti c before it.
 */
static const struct form {
	u32 head, tail;	/* 0: none */
} forms[] = {
	{ 0, 0 }, { 0xd503233f, 0xd50323bf }, { 0xd503237f, 0xd50323ff }, { 0xd503245f, 0 },
};

/* Writes one. Returns the number of its instructions. */
static u32 put_trampoline(u64 at, const struct form *f)
{
	u32 code[7], cnt = 0;

	if (f->head)
		code[cnt++] = f->head;
	code[cnt++] = 0xa9bf7bfd;
	code[cnt++] = 0x910003fd;
	code[cnt++] = 0xd63f0060;
	code[cnt++] = 0xa8c17bfd;
	if (f->tail)
		code[cnt++] = f->tail;
	code[cnt++] = 0xd65f03c0;
	host_mem_write(at, code, 4 * cnt);
	return cnt;
}

/* A world with many copies of the form, one after the other. Returns the length of each, bytes. */
static u32 make_arena(const struct form *f)
{
	u64 at = ARENA;
	u32 bytes = 0;

	make_world();
	put_mapping(1, (struct native_mapping){ ARENA, ARENA + 4096, 0, 2, 0 });
	put_place(2, 2);
	*table_of(1) = (struct unwind_table){ .why = NATIVE_JIT, .stamp = 2 };
	host_mem_map(ARENA, 4096);
	for (; at + 28 <= ARENA + 4096; at += bytes)
		bytes = 4 * put_trampoline(at, f);
	return bytes;
}

/* Frame 0 or 1 is the trampoline, and FRAMED has called it. */
static void check_trampoline(const struct raw_native *r, u32 i, u64 addr, u64 below)
{
	assert_int_equal(native_frames_of(r)[i].file, NATIVE_FILE_TRAMPOLINE);
	assert_int_equal(native_frames_of(r)[i].addr, addr);
	assert_int_equal(native_frames_of(r)[i].below, below);
	check_frame(r, i + 1, 0, FRAMED, 544);
}

static void test_trampolines(void **state)
{
	u32 i, k, insn, bytes, frame;
	u64 at;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		bytes = make_arena(&forms[i]);
		host_mem_put64(SP, SP + 512);
		host_mem_put64(SP + 8, code_at(0, FRAMED) | SIGNATURE);
		host_mem_put64(SP + 512 + 8, code_at(0, START));
		for (k = 0; k < 4; k++) {
			at = ARENA + k * bytes;
			frame = forms[i].head ? 2 : 1;	/* the first with its frame */
			check_trampoline(expect(code_at(0, LEAF), SP, at + 4 * (frame + 2),
						NATIVE_WHOLE, 4),
					 1, at + 4 * (frame + 2) - 1, 16);
			for (insn = 0; insn < bytes / 4; insn++) {
				if (insn >= frame && insn < frame + 3)
					check_trampoline(expect(at + 4 * insn, SP, 0, NATIVE_WHOLE,
								3), 0, at + 4 * insn, 16);
				else
					check_trampoline(expect(at + 4 * insn, SP + 512,
								code_at(0, FRAMED), NATIVE_WHOLE,
								3), 0, at + 4 * insn, 0);
			}
		}
	}
}

/* Code that differs in one instruction. */
static void test_other_code(void **state)
{
	u32 insn, bytes = make_arena(&forms[0]);

	for (insn = 0; insn < bytes / 4; insn++) {
		make_arena(&forms[0]);
		host_mem_put32(ARENA + bytes + 4 * insn, 0xd503201f);	/* nop */
		expect(code_at(0, LEAF), SP, ARENA + bytes + 12, NATIVE_JIT, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_register),
		cmocka_unit_test(test_lost_link_register),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_trampolines),
		cmocka_unit_test(test_other_code),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
