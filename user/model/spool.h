/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * spool.h - stores numbers until they are needed for a file: many streams in one temporary file,
 * each read back in the order in which it was written.
 *
 * For formats that need tables before samples, or one thread after the other, when the samples do
 * not fit into memory. The file has no name (O_TMPFILE, in $TMPDIR, /var/tmp or /tmp) and vanishes
 * with the process; short streams never reach it. Memory: at most SPOOL_CHUNK_BYTES for each
 * stream, and 8 bytes for each chunk in the file.
 */
#ifndef TACHBPF_SPOOL_H
#define TACHBPF_SPOOL_H

#include <stdint.h>

#include "base/util.h"

#define SPOOL_CHUNK_BYTES 4096

struct spool;

/* Zero-initialise; freed by spool_stream_free(). */
struct spool_stream {
	struct buf chunks;	/* u64 offsets in the file */
	struct buf tail;	/* data that is not in the file yet */
};

struct spool_reader {
	struct spool *spool;
	const struct spool_stream *stream;
	size_t next;		/* number of the next chunk */
	const uint8_t *p, *end;
	uint8_t data[SPOOL_CHUNK_BYTES];
};

/* Returns NULL with errno. Freed by spool_free(). */
struct spool *spool_new(void);
void spool_free(struct spool *s);

/* Appends a record of cnt numbers. Returns 0 or -errno. */
int spool_add(struct spool *s, struct spool_stream *st, const uint64_t *values, unsigned int cnt);
void spool_stream_free(struct spool_stream *st);

/* Starts reading from the beginning; nothing may be added while a reader is in use. */
void spool_read(struct spool_reader *r, struct spool *s, const struct spool_stream *st);
/* Reads the next record, which must have cnt numbers. Returns 1; 0: no more; -errno. */
int spool_next(struct spool_reader *r, uint64_t *values, unsigned int cnt);

/* Signed numbers are stored in zigzag encoding. */
static inline uint64_t spool_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t spool_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
