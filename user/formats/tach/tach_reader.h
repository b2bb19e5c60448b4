/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_reader.h - reads TACH files of all three layouts, both byte orders,
 * plain or zstd (one or several frames).
 *
 * The file is hostile: every count, offset and index is checked before use.
 * The samples are streamed: memory does not grow with the file.
 */
#ifndef TACHBPF_TACH_READER_H
#define TACHBPF_TACH_READER_H

#include "model/event.h"
#include "model/sink.h"

struct tach_reader;

struct tach_info {
	enum tach_layout layout;
	bool swapped;		/* other byte order than this machine's */
	uint32_t version;
	struct profile_meta meta;	/* tgid, comm not set: the file does not know them */
	struct profile_stats stats;
	uint64_t sample_cnt;
	uint32_t thread_cnt;
	uint32_t string_cnt, frame_cnt;
	uint32_t compression;	/* 0 none, 1 zstd */
	uint64_t file_size;
	bool counts_unknown;	/* recovery: there are as many samples as there are */
};

/*
 * Open and check everything but the samples. NULL with errno; a one-line reason
 * without the path ("truncated: ...") in why.
 */
struct tach_reader *tach_reader_open(const char *path, char *why, size_t why_size);
void tach_reader_free(struct tach_reader *r);

const struct tach_info *tach_reader_info(const struct tach_reader *r);
const struct profile_tables *tach_reader_tables(const struct tach_reader *r);

/*
 * Call on_event for every sample in file order (ordered in time within a thread
 * only). It may stop the run by a non-zero return, which is passed on. The
 * event is valid during the call. -EBADMSG with a reason in why when the
 * samples are damaged (what came before has been delivered).
 */
int tach_reader_run(struct tach_reader *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx, char *why, size_t why_size);

struct tach_decoder;

/* The samples one by one: see tach_decode.h. r and why outlive it. NULL with errno and a reason. */
struct tach_decoder *tach_reader_samples(struct tach_reader *r, char *why, size_t why_size);

/* UNKNOWN: out of memory. NONE: zeros, as CPython writes it. */
enum tach_checksum {
	TACH_CHECKSUM_UNKNOWN, TACH_CHECKSUM_NONE, TACH_CHECKSUM_RIGHT, TACH_CHECKSUM_WRONG
};

/* Does the checksum match? Reads the whole file. */
enum tach_checksum tach_reader_checksum(const struct tach_reader *r);

#endif
