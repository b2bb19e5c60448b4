/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_merge.h - puts a thread's frames of machine code and its Python frames into one order.
 *
 * The Python frames that one call of the interpreter runs stand in place of the C frame of its
 * evaluation function (eval frame). Knows no names and no process: only addresses, classes and
 * numbers of frames. All of them may be wrong; the result has each Python frame once, in order.
 */
#ifndef TACHBPF_NATIVE_MERGE_H
#define TACHBPF_NATIVE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_native.h"

struct native_merge_in {
	const struct raw_native *raw;	/* nframes and nentries are within bounds */
	const uint8_t *classes;		/* enum native_class of each of its frames */
	uint32_t python;		/* Python frames, ABI_MAX_FRAMES at most */
	bool python_whole;		/* the last of them is the thread's first function */
	bool without_entries;		/* up to 3.10: each Python frame is one, none is sent */
	bool full;			/* show eval frames, plumbing and what is outside, too */
};

/* An item of the result: the index of a C frame in raw->frames, or one of these. */
#define NATIVE_MERGE_PYTHON 0xffffu	/* the next Python frame */
#define NATIVE_MERGE_END 0xfffeu	/* the walk ended here, before the first function */
#define NATIVE_MERGE_MAX (RAW_NATIVE_FRAMES + 1 + ABI_MAX_FRAMES)

struct native_merge {
	uint32_t cnt;
	bool uncertain;		/* eval frames and Python frames do not fit each other */
	uint16_t items[NATIVE_MERGE_MAX];	/* innermost first */
};

/*
 * Fill out. C frames that are further inside than the innermost eval frame come first. Without full
 * there are none of the classes EVAL, PLUMBING, START, and none outside of the last Python frame.
 * Python frames whose eval frame was not found come together with those of the next one that was,
 * or behind all C frames. A stack without Python frames has all its C frames.
 */
void native_merge(const struct native_merge_in *in, struct native_merge *out);

#endif
