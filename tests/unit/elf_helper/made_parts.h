/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * made_parts.h - functions in assembly with parts that are elsewhere, as compilers leave them: for
 * test_elf_parts.c and, as a library, for fuzz_elf_parts.c. To be included once in a program.
 */
#ifndef TACHBPF_TESTS_MADE_PARTS_H
#define TACHBPF_TESTS_MADE_PARTS_H

#if defined(__x86_64__)
#define JUMP(to) ".byte 0x0f, 0x85\n.long " to " - . - 4\n"
#define PUSH "push %rbx\n"
#define STOP "ud2\n"
#define STUB ".cfi_escape 0x0f,0x0b,0x77,0x08,0x80,0x00,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22\n"
#else
#define JUMP(to) "cbnz w0, " to "\n"
#define PUSH "str x19, [sp, -16]!\n"
#define STOP "brk 1\n"
#define STUB ""		/* stubs have no such rule there */
#endif

/* A function that has pushed something, jumps to these two, and may be jumped back to. */
#define FUNCTION(name, to, also) \
	".globl " name "\n" name ":\n.cfi_startproc\n" PUSH ".cfi_def_cfa_offset 16\n" \
	JUMP(to) name "_back:\n" JUMP(also) STOP ".cfi_endproc\n"
/* What is in a function, with something pushed. */
#define PART(name, body) \
	".globl " name "\n" name ":\n.cfi_startproc\n.cfi_def_cfa_offset 16\n" STOP name "_mid:\n" \
	STOP body ".cfi_endproc\n"

asm(".text\n"
    FUNCTION("two_ways", "two_ways_cold", "two_ways_cold_mid")
    FUNCTION("goes_back", "goes_back_cold", "goes_back_cold")
    /* Its own part is empty: the label is where the next one begins. */
    FUNCTION("has_empty", "alone_cold", "alone_cold")
    FUNCTION("first", "shared_cold", "shared_cold_mid")
    FUNCTION("second", "shared_cold_mid", "shared_cold")
    FUNCTION("calls_leaf", "leaf", "leaf_mid")
    FUNCTION("ends_in_call", "ends_in_call_cold", "ends_in_call_cold_mid")
    FUNCTION("calls_stub", "stub", "stub_mid")
    PART("two_ways_cold", "")
    PART("goes_back_cold", JUMP("goes_back_back"))
    PART("alone_cold", "")
    PART("shared_cold", "")
    /* Its last call is that of another function. */
    PART("ends_in_call_cold", JUMP("first"))
    /* It is no part of the one to which it goes back. */
    PART("torn_cold", JUMP("first_back"))
    FUNCTION("torn", "torn_cold", "torn_cold_mid")
    ".globl leaf\nleaf:\n.cfi_startproc\n" STOP "leaf_mid:\n" STOP ".cfi_endproc\n"
    ".globl stub\nstub:\n.cfi_startproc\n.cfi_def_cfa_offset 16\n" STOP STUB "stub_mid:\n"
    STOP ".cfi_endproc\n");

#endif
