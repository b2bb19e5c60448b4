/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * compress.h - one zstd compressor for any number of writers.
 *
 * Every call makes one independent zstd frame, so hundreds of files can share one context (some
 * hundred kilobytes) instead of owning one each. What will be compressed together with later data
 * can be stored first: also a zstd frame, but its content is not compressed.
 */
#ifndef TACHBPF_COMPRESS_H
#define TACHBPF_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct compressor;

/* Of writers that write a file once: zstd's level, as of CPython's writer. */
#define COMPRESS_LEVEL 5

/* level: zstd's, of compressor_run(). NULL: no memory. Freed by compressor_free(). */
struct compressor *compressor_new(int level);
void compressor_free(struct compressor *c);

/*
 * Compresses len bytes to one zstd frame. *out belongs to the compressor and is valid until the
 * next call. Returns 0 or -errno.
 */
int compressor_run(struct compressor *c, const void *data, size_t len, const void **out,
		   size_t *out_len);

/* Makes a frame of the data as it is. *out as above. Returns 0 or -ENOMEM. */
int compressor_store(struct compressor *c, const void *data, size_t len, const void **out,
		     size_t *out_len);

/*
 * Makes one compressed frame, *out, from several of compressor_store(), which hold `raw` bytes
 * altogether and are overwritten. thorough: as small as zstd's level 6 makes it; takes longer. Any
 * thread may call it. Returns 0; -EBADMSG: the frames are damaged; -ENOMEM, -EIO.
 */
int compressor_join(void *frames, size_t len, size_t raw, bool thorough, struct buf *out);
/*
 * Limits the raw bytes of joins that are thorough from now on: once this many are used up, others
 * are not. Without this call there is no limit.
 */
void compressor_limit_thorough(struct compressor *c, uint64_t bytes);
/* Returns true if a join of that many bytes may be thorough: they are used up then. */
bool compressor_take_thorough(struct compressor *c, size_t raw);

#endif
