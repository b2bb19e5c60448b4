/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_file.h - where the writer's bytes go in the file: the region of samples,
 * the tail, the header last; the checksum over them; the journal beside them.
 *
 * Knows no sample and no thread; part of the TACH sink.
 */
#ifndef TACHBPF_TACH_FILE_H
#define TACHBPF_TACH_FILE_H

#include <xxhash.h>

#include "base/util.h"
#include "model/event.h"
#include "model/sink.h"

struct tach_journal;

struct tach_file {
	int fd;
	enum tach_layout layout;
	struct compressor *compressor;
	const struct profile_tables *tables;
	struct profile_meta meta;
	struct buf marks;		/* places where the file can be cut; see tach_file.c */
	XXH3_state_t *hash;		/* of the samples up to the last mark */
	struct tach_journal *journal;	/* NULL: none */
};

/* Nothing is written yet. 0 or -ENOMEM. */
int tach_file_init(struct tach_file *f, const struct sink_args *args);
void tach_file_free(struct tach_file *f);

/* meta and tables stay valid until the end. 0 or -errno, likewise below. */
int tach_file_begin(struct tach_file *f, const struct profile_meta *meta,
		    const struct profile_tables *tables);

/*
 * Append encoded samples, which with what came before are sample_cnt of so many
 * threads. After an error only tach_file_salvage() makes sense.
 */
int tach_file_append(struct tach_file *f, const void *data, size_t len, uint64_t sample_cnt,
		     uint32_t thread_cnt);

/* Make it a valid file. */
int tach_file_finish(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats);

/*
 * After a write error: make what can be kept a valid file. How many samples it
 * holds in *sample_cnt.
 */
int tach_file_salvage(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats,
		      uint64_t *sample_cnt);

#endif
