/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_frames.h - the frames of a process' machine code: from an address in a file to the ids of
 * its rows in the intern table. Knows no stack.
 *
 * Names come later (native.h). Until then an address has a row that says only the library, with an
 * id of its own; native_frames_retry() gives the row its name.
 */
#ifndef TACHBPF_NATIVE_FRAMES_H
#define TACHBPF_NATIVE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi_native.h"

struct intern;
struct native;
struct native_frames;

/* What is kept of an address. */
struct native_known {
	uint64_t addr;
	uint32_t file;
	uint32_t id;		/* the frame's; with cnt > 1 where its ids are */
	uint16_t pending1;	/* its index + 1 among the frames without a name; 0: not there */
	uint8_t used;		/* 0: a free slot */
	uint8_t class;		/* enum native_class */
	bool classified;	/* class is that of a file whose functions are known */
	uint8_t cnt;		/* frames; 0: not asked for yet */
	bool named;
};
_Static_assert(sizeof(struct native_known) == 24, "a process has thousands of them");

/*
 * native and in outlive it. The process is tgid of the user uid: what it takes counts in budget.h.
 * NULL with errno.
 */
struct native_frames *native_frames_new(struct native *native, struct intern *in, pid_t tgid,
					uint32_t uid);
void native_frames_free(struct native_frames *nf);

/*
 * Find the frames of a record, whose numbers are within bounds, and their classes; out[] is valid
 * until the next call. 0 or -ENOMEM.
 */
int native_frames_find(struct native_frames *nf, const struct raw_native *raw,
		       struct native_known *out[RAW_NATIVE_FRAMES]);

/*
 * The ids of what native_frames_find() found, innermost first: more than one with inlined
 * functions. *ids is valid until the next call. 0 or -ENOMEM.
 */
int native_frames_ids(struct native_frames *nf, struct native_known *known, const uint32_t **ids,
		      uint32_t *cnt);

/* Give names to frames that have none yet, as far as they are known by now. 0 or -ENOMEM. */
int native_frames_retry(struct native_frames *nf);
/* Frames whose name was asked for, and is not known yet. */
uint32_t native_frames_pending(const struct native_frames *nf);
/* How often native_frames_ids() returned frames that have no name still. */
uint64_t native_frames_unnamed(const struct native_frames *nf);

#endif
