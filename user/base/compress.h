/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * compress.h - one zstd compressor for any number of writers.
 *
 * Every call makes one independent zstd frame, so hundreds of files can share one context (some
 * hundred kilobytes) instead of owning one each.
 */
#ifndef TACHBPF_COMPRESS_H
#define TACHBPF_COMPRESS_H

#include <stddef.h>
#include <stdint.h>

struct compressor;

/*
 * CPython's writer uses 5, and so do our writers when no recording is running. 3 takes a third less
 * time, and makes files at most 10 % larger.
 */
#define COMPRESS_LEVEL_LIVE 3
#define COMPRESS_LEVEL 5

/* For data that was compressed in small pieces, and is joined now. */
#define COMPRESS_LEVEL_JOIN 6

/* level: zstd's. Returns NULL with errno. Freed by compressor_free(). */
struct compressor *compressor_new(int level);
void compressor_free(struct compressor *c);

/*
 * Compresses len bytes to one zstd frame. *out belongs to the compressor and is valid until the
 * next call. Returns 0 or -errno.
 */
int compressor_run(struct compressor *c, const void *data, size_t len, const void **out,
		   size_t *out_len);

/*
 * Makes one frame from several, which compressor_run() made from `raw` bytes altogether; smaller,
 * because it finds repetitions across them. *out as above. Returns 0; -EBADMSG: the frames are
 * damaged; -ENOMEM, -EIO; -EDQUOT: the limit of compressor_limit_joins() is used up.
 */
int compressor_join(struct compressor *c, const void *frames, size_t len, size_t raw,
		    const void **out, size_t *out_len);
/* Limits the raw bytes that joins may read from now on. Without this call there is no limit. */
void compressor_limit_joins(struct compressor *c, uint64_t bytes);

#endif
