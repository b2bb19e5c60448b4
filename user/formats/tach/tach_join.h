/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_join.h - compresses what a recording has written to its file.
 *
 * A recording writes its new samples once a second, as a zstd frame that only stores them: alone
 * they would compress badly, and the time would be lost. From time to time, and at the end, these
 * frames are joined: they become one that is compressed. It replaces them in the file, after the
 * journal says so: a recording which is killed at any moment loses nothing that was flushed.
 */
#ifndef TACHBPF_TACH_JOIN_H
#define TACHBPF_TACH_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

#include "base/job_thread.h"
#include "base/util.h"

struct tach_file;

/* The frames after the last join. */
struct tach_join {
	struct job job;
	bool busy;		/* the job was put, and nobody has waited for it yet */
	bool thorough;		/* see compressor_join() */
	int err;		/* the result of the joins so far */
	uint64_t end;		/* while it is busy: where the samples ended when it began */
	XXH3_state_t *hash;	/* the checksum's state where they begin; NULL: nothing is joined */
	size_t mark;		/* the number of the file's mark where they begin */
	size_t raw;		/* bytes of samples in them, before compression */
};

/* At most this many bytes of samples, and a flush, become one frame. */
#define TACH_JOIN_BYTES (2 * 1024 * 1024)

/* Call it when the file has its first mark, and its checksum has begun. Returns 0 or -ENOMEM. */
int tach_join_init(struct tach_file *f);
void tach_join_free(struct tach_file *f);

/*
 * Begins to join what there is, in f->joins; thorough: see compressor_join(), if that much may be.
 * Until tach_join_wait() the file, its journal and everything in f except `join` belong to that
 * thread, and may not be closed; the tables do not. Nothing happens if a join saves nothing, has no
 * room, or if the file's content is not what was written.
 */
void tach_join_begin(struct tach_file *f, bool thorough);
/*
 * Waits for the join that was begun, if any. Returns 0, or -errno, also later: the samples after
 * the join before are lost, and the marks end before them.
 */
int tach_join_wait(struct tach_file *f);

#endif
