/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_frames.h - the frames of a process' machine code: from an address in a file to the ids of
 * its rows in the intern table. Does not know stacks.
 *
 * Names come later (native.h). Until then an address has a row with an id of its own that names
 * only the library; native_frames_retry() gives the row its name.
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

/* An address that was seen. */
struct native_known {
	uint64_t addr;
	uint32_t file;
	uint32_t id;		/* the frame's id; with cnt > 1, the index of its ids */
	uint16_t pending1;	/* its index + 1 among the frames without a name; 0: not there */
	uint8_t used;		/* 0: a free slot */
	uint8_t class;		/* enum native_class */
	bool classified;	/* class is not a guess (native_class()) */
	uint8_t cnt;		/* frames; 0: not requested yet */
	bool named;
};
_Static_assert(sizeof(struct native_known) == 24, "a process has thousands of them");

/*
 * native and in must outlive it. The process is tgid, whose memory is charged to the budget of user
 * uid (budget.h). NULL with errno.
 */
struct native_frames *native_frames_new(struct native *native, struct intern *in, pid_t tgid,
					uint32_t uid);
void native_frames_free(struct native_frames *nf);

/*
 * Finds the frames of a record, whose counts were validated, and their classes; out[] is valid
 * until the next call. 0 or -ENOMEM.
 */
int native_frames_find(struct native_frames *nf, const struct raw_native *raw,
		       struct native_known *out[RAW_NATIVE_FRAMES]);

/*
 * Returns the ids of a frame from native_frames_find(), innermost first: more than one with inlined
 * functions. *ids is valid until the next call. 0 or -ENOMEM.
 */
int native_frames_ids(struct native_frames *nf, struct native_known *known, const uint32_t **ids,
		      uint32_t *cnt);

/* Names frames that have no name yet, if their names are known by now. 0 or -ENOMEM. */
int native_frames_retry(struct native_frames *nf);
/* Returns the number of frames whose name was requested and is not known yet. */
uint32_t native_frames_pending(const struct native_frames *nf);
/* Returns how often native_frames_ids() returned frames that still have no name. */
uint64_t native_frames_unnamed(const struct native_frames *nf);

#endif
