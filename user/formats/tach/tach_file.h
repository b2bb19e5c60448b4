/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_file.h - writes the parts of a TACH file: the region of samples, the tail, and last the
 * header; computes the checksum, and writes the journal next to it.
 *
 * Knows no sample and no thread; part of the TACH sink.
 */
#ifndef TACHBPF_TACH_FILE_H
#define TACHBPF_TACH_FILE_H

#include <xxhash.h>

#include "base/util.h"
#include "formats/tach/tach_join.h"
#include "model/event.h"
#include "model/sink.h"

struct tach_journal;

/*
 * An offset where the file can be cut: everything before it can be decoded on its own, with this
 * much of the tables.
 */
struct tach_mark {
	uint64_t off;
	uint64_t sample_cnt;
	uint32_t string_cnt, frame_cnt;
};

struct tach_file {
	int fd;
	enum profile_layout layout;
	struct compressor *compressor;
	struct job_thread *joins;	/* NULL: without a thread of their own */
	const struct profile_tables *tables;
	struct profile_meta meta;
	struct buf marks;		/* struct tach_mark: the first is where samples begin */
	struct tach_join join;
	XXH3_state_t *hash;		/* of the samples up to the last mark */
	struct tach_journal *journal;	/* NULL: none */
	int (*ready)(void *ctx, int *fd, int *journal_fd);	/* see sink_args */
	void *ready_ctx;
	bool live;
	bool reserve;			/* keep room for the tail; see tach_room.c */
	uint64_t room;			/* the file has room up to this offset */
	uint32_t string_cnt, frame_cnt;	/* number of entries of the tables in tables_len */
	uint64_t tables_len;		/* encoded, in bytes */
};

/* The last mark: where the samples end. */
static inline struct tach_mark *tach_file_mark(const struct tach_file *f)
{
	return (struct tach_mark *)(void *)(f->marks.data + f->marks.len) - 1;
}

/* Writes nothing yet. Returns 0 or -ENOMEM. */
int tach_file_init(struct tach_file *f, const struct sink_args *args);
void tach_file_free(struct tach_file *f);

/*
 * meta and tables must stay valid until the end. This and the following functions return 0 or
 * -errno.
 */
int tach_file_begin(struct tach_file *f, const struct profile_meta *meta,
		    const struct profile_tables *tables);

/*
 * Appends encoded samples. sample_cnt and thread_cnt: totals including these. After success, of a
 * live recording on a file system with fallocate(2), the file can be finished with these samples
 * however full the disk is then. After an error only tach_file_salvage() may be called.
 */
int tach_file_append(struct tach_file *f, const void *data, size_t len, uint64_t sample_cnt,
		     uint32_t thread_cnt);

/* About how many bytes of disk the file and its journal take, with the tail. */
uint64_t tach_file_bytes(const struct tach_file *f);

/* Writes the rest, so that the file is valid. */
int tach_file_finish(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats);

/*
 * After a write error: makes a valid file of what can be kept. *sample_cnt: the number of samples
 * in it. After an error the samples are as they were: the journal has what they mean.
 */
int tach_file_salvage(struct tach_file *f, uint32_t thread_cnt, const struct profile_stats *stats,
		      uint64_t *sample_cnt);

#endif
