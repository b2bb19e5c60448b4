/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_names.h - reads the journal of names (mlyze_stream.h), any bytes, and writes the metadata of
 * a .mlyze file from it. Memory: a few bytes for each frame. Only for mlyze_join.c.
 */
#ifndef TACHBPF_MLYZE_NAMES_H
#define TACHBPF_MLYZE_NAMES_H

#include <stdio.h>

#include "base/util.h"
#include "formats/mlyze/mlyze.h"

/* A frame of the journal, by the ids of its names. */
struct mlyze_frame {
	uint32_t file, func;
	int32_t line;		/* or LINE_NONE */
};

struct mlyze_names {
	FILE *f;		/* the journal; the caller's */
	uint64_t start_us;
	uint64_t records;	/* so many are whole and make sense */
	uint32_t file_cnt, function_cnt, stack_cnt;
	struct buf frames;	/* struct mlyze_frame, by id */
	struct buf text;	/* the last record's name, or its stack's frames: u32 */
	bool last_is_end;	/* the last name is that of an end mark */
};

/*
 * Read all of f, from its beginning. Zero-initialise *n; freed by mlyze_names_free(), after errors,
 * too. 0; -EBADMSG: it is no journal; -ENOMEM; -EIO.
 */
int mlyze_names_read(struct mlyze_names *n, FILE *f);
void mlyze_names_free(struct mlyze_names *n);

/* Write the metadata. 0 or -errno; the caller checks ferror(out). */
int mlyze_names_metadata(struct mlyze_names *n, FILE *out);

#endif
