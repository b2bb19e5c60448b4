/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_seed.S - a library with call frame information of every kind, for fuzz_unwind_build. The
 * code is never executed.
 */
	.cfi_sections .eh_frame, .debug_frame
	.section .note.GNU-stack, "", %progbits
	.text

#ifdef __x86_64__
#define SP rsp
#define FP rbp
#define RA rip
#define BLOCK .skip 3, 0x90
#else
#define SP sp
#define FP x29
#define RA x30
#define BLOCK .skip 4
#endif

plain:
	.cfi_startproc
	BLOCK
	.cfi_def_cfa_offset 16
	.cfi_offset FP, -16
	BLOCK
	.cfi_def_cfa_register FP
	BLOCK
	.cfi_remember_state
	.cfi_restore FP
	.cfi_def_cfa SP, 8
	BLOCK
	.cfi_restore_state
	BLOCK
	.cfi_endproc

	.balign 16
large:
	.cfi_startproc
	.cfi_personality 0x1b, first
	BLOCK
	.cfi_def_cfa_offset 70000
	.cfi_offset FP, -70000
	.skip 300
	.cfi_adjust_cfa_offset -64
	.cfi_escape 0x04, 1, 0, 0, 0
	.cfi_def_cfa_offset 24
	.cfi_same_value FP
	BLOCK
	.cfi_undefined FP
	BLOCK
	.cfi_register FP, RA
	BLOCK
	.cfi_endproc

first:
	.cfi_startproc
	.cfi_undefined RA
	BLOCK
	.cfi_endproc

signal:
	.cfi_startproc
	.cfi_signal_frame
	BLOCK
	.cfi_endproc

/* DRAP: the CFA is at -8 of the frame pointer, whose old value is at the frame pointer. */
aligned:
	.cfi_startproc
	BLOCK
#ifdef __x86_64__
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06
	.cfi_escape 0x10, 6, 2, 0x76, 0
#else
	.cfi_escape 0x0f, 3, 0x8d, 0x78, 0x06
	.cfi_escape 0x10, 29, 2, 0x8d, 0
	.cfi_negate_ra_state
#endif
	BLOCK
	.cfi_escape 0x0f, 5, 0x77, 56, 0x06, 0x23, 8
	BLOCK
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	BLOCK
	.cfi_escape 0x2e, 16
	.cfi_escape 0x14, 6, 2
	.cfi_escape 0x16, 6, 2, 0x77, 8
	BLOCK
	.cfi_endproc
