/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_kind.h - kinds of stack frames. The records of the BPF side (abi.h) and the events of user
 * space (user/model/event.h) use the same numbers.
 */
#ifndef TACHBPF_FRAME_KIND_H
#define TACHBPF_FRAME_KIND_H

enum frame_kind {
	FRAME_PYTHON = 0,	/* a Python function; 0, so the walk need not write it */
	FRAME_NATIVE = 1,	/* a function in machine code of the process: C, C++, Rust ... */
	FRAME_KERNEL = 2,	/* a function of the kernel that runs for the thread */
	FRAME_SYNTHETIC = 3,	/* not a function, but a fact about the thread or the stack: <GC> */
	FRAME_KIND_CNT
};

#endif
