/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_kind.h - what a frame of a stack is. The kernel's records (abi.h) and the profiles of
 * user space (user/model/event.h) say it with the same numbers.
 */
#ifndef TACHBPF_FRAME_KIND_H
#define TACHBPF_FRAME_KIND_H

enum frame_kind {
	FRAME_PYTHON = 0,	/* a function of a Python program; 0: the walk writes no kind */
	FRAME_NATIVE = 1,	/* machine code of the process: C, C++, Rust ... */
	FRAME_KERNEL = 2,	/* a function of the kernel that runs for the thread */
	FRAME_SYNTHETIC = 3,	/* no function: what the thread does, or what is not known: <GC> */
	FRAME_KIND_CNT
};

#endif
