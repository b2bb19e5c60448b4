/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_merge.h - merges a thread's native frames and its Python frames into one stack.
 *
 * The Python frames that one call of the interpreter runs replace the C frame of its evaluation
 * function (eval frame). Uses only addresses, classes and numbers of frames, no names and no
 * process. Any of them may be wrong; the result still has each Python frame once, in order.
 *
 * A deep stack has a gap between its innermost and its outermost C frames (native_records.h).
 * Python frames whose eval frame is in it follow it.
 */
#ifndef TACHBPF_NATIVE_MERGE_H
#define TACHBPF_NATIVE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi_native.h"

struct native_merge_in {
	const struct raw_native *raw;	/* from native_records_take() */
	const uint8_t *classes;		/* enum native_class of each of its frames */
	uint32_t python;		/* Python frames, at most ABI_MAX_FRAMES */
	bool python_whole;		/* the last of them is the thread's first function */
	bool without_entries;		/* up to 3.10: each Python frame is an entry, none is
					 * sent */
	bool full;			/* also show eval frames, plumbing and frames outside */
};

/* An item of the result: the index of a C frame in raw->frames, or one of these. */
#define NATIVE_MERGE_PYTHON 0xffffu	/* the next Python frame */
#define NATIVE_MERGE_END 0xfffeu	/* the walk ended here, before the first function */
#define NATIVE_MERGE_GAP 0xfffdu	/* raw->left_out C frames */
#define NATIVE_MERGE_MAX (RAW_NATIVE_FRAMES + 1 + ABI_MAX_FRAMES)

struct native_merge {
	uint32_t cnt;
	uint32_t folded;	/* C frames without a name that were left out */
	bool uncertain;		/* eval frames and Python frames do not match */
	uint16_t items[NATIVE_MERGE_MAX];	/* innermost first */
};

/*
 * Fills out. C frames inside the innermost eval frame come first. Unless full is set, frames of the
 * classes EVAL, PLUMBING and START, and frames outside the last Python frame, are left out, and so
 * are UNNAMED ones whose caller is in the same file, and the interpreter's: what they do is done
 * for their caller. Python frames whose eval frame was not found are placed with those of the next
 * one that was, or after all C frames. A stack without Python frames keeps all its other C frames.
 */
void native_merge(const struct native_merge_in *in, struct native_merge *out);

#endif
