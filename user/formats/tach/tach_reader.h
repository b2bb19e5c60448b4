/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_reader.h - reads TACH files in all three layouts, both byte orders, uncompressed or zstd
 * (one or several frames).
 *
 * The file is hostile: every count, offset and index is checked before it is used. Samples are
 * streamed: memory does not grow with the file.
 */
#ifndef TACHBPF_TACH_READER_H
#define TACHBPF_TACH_READER_H

#include "model/event.h"
#include "model/sink.h"

struct tach_reader;

struct tach_info {
	enum profile_layout layout;
	bool swapped;		/* other byte order than this machine's */
	uint32_t version;
	struct profile_meta meta;	/* without tgid and comm, which the file does not have */
	struct profile_stats stats;
	uint64_t sample_cnt;
	uint32_t thread_cnt;
	uint32_t string_cnt, frame_cnt;
	uint32_t compression;	/* 0 none, 1 zstd */
	uint64_t file_size;
	bool counts_unknown;	/* recovery: the number of samples is unknown */
};

/*
 * Opens a file and checks everything but the samples. Returns NULL with errno, and a one-line
 * reason without the path ("truncated: ...") in why. Free it by tach_reader_free().
 */
struct tach_reader *tach_reader_open(const char *path, char *why, size_t why_size);
void tach_reader_free(struct tach_reader *r);

/* Valid until tach_reader_free(). */
const struct tach_info *tach_reader_info(const struct tach_reader *r);
const struct profile_tables *tach_reader_tables(const struct tach_reader *r);

/*
 * Calls on_event for every sample in the file's order (ordered by time within a thread only). If
 * on_event returns non-zero, the run ends and returns that value. The event is valid during the
 * call. -EBADMSG with a reason in why: the samples are damaged; those before the damage were
 * delivered.
 */
int tach_reader_run(struct tach_reader *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx, char *why, size_t why_size);
/* Likewise for an on_event() that takes this: enum event_takes. */
int tach_reader_run_takes(struct tach_reader *r, unsigned int takes,
			  int (*on_event)(void *ctx, const struct event *ev), void *ctx, char *why,
			  size_t why_size);

struct tach_decoder;

/*
 * The samples one by one: see tach_decode.h. r and why must outlive it. Returns NULL with errno and
 * a reason in why.
 */
struct tach_decoder *tach_reader_samples(struct tach_reader *r, char *why, size_t why_size);

/* UNKNOWN: out of memory. NONE: zeros, as CPython writes. */
enum tach_checksum {
	TACH_CHECKSUM_UNKNOWN, TACH_CHECKSUM_NONE, TACH_CHECKSUM_RIGHT, TACH_CHECKSUM_WRONG
};

/* Checks the checksum. Reads the whole file. */
enum tach_checksum tach_reader_checksum(const struct tach_reader *r);

#endif
