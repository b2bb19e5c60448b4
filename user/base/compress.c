// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * compress.c - one zstd compressor for any number of writers. See compress.h.
 *
 * Owns the zstd context and the buffer for its output; knows nothing of the data.
 */
#include "base/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/util.h"

struct compressor {
	ZSTD_CCtx *ctx;
	struct buf out;
	uint64_t join_left;	/* raw bytes that joins may still read */
};

static int set_up(ZSTD_CCtx *ctx, int level)
{
	/*
	 * No content size in the frame header: CPython's reader takes the first frame's size as its
	 * first buffer size and doubles that while it stays below 1 GiB. Without one it starts with
	 * 512 KiB and reaches 1 GiB exactly.
	 */
	return ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, level)) ||
	       ZSTD_isError(ZSTD_CCtx_setParameter(ctx, ZSTD_c_contentSizeFlag, 0)) ? -EINVAL : 0;
}

struct compressor *compressor_new(int level)
{
	struct compressor *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return NULL;
	c->join_left = UINT64_MAX;
	c->ctx = ZSTD_createCCtx();
	err = c->ctx ? set_up(c->ctx, level) : -ENOMEM;
	if (err) {
		compressor_free(c);
		errno = -err;
		return NULL;
	}
	return c;
}

void compressor_free(struct compressor *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->ctx);
	buf_free(&c->out);
	free(c);
}

/* Converts zstd's errors to -errno; other: for errors other than lack of memory. */
static int error_of(size_t n, int other)
{
	if (!ZSTD_isError(n))
		return 0;
	return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? -ENOMEM : other;
}

static int compress_frame(struct compressor *c, ZSTD_CCtx *ctx, const void *data, size_t len,
			  const void **out, size_t *out_len)
{
	c->out.len = 0;
	if (buf_reserve(&c->out, ZSTD_compressBound(len)))
		return -ENOMEM;
	*out_len = ZSTD_compress2(ctx, c->out.data, c->out.cap, data, len);
	*out = c->out.data;
	return error_of(*out_len, -EIO);
}

int compressor_run(struct compressor *c, const void *data, size_t len, const void **out,
		   size_t *out_len)
{
	return compress_frame(c, c->ctx, data, len, out, out_len);
}

/* The contexts are created for each join: they take megabytes, and are rarely used. */
static int run_once(struct compressor *c, const void *data, size_t len, const void **out,
		    size_t *out_len)
{
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	int err = ctx ? set_up(ctx, COMPRESS_LEVEL_JOIN) : -ENOMEM;

	if (!err)
		err = compress_frame(c, ctx, data, len, out, out_len);
	ZSTD_freeCCtx(ctx);
	return err;
}

int compressor_join(struct compressor *c, const void *frames, size_t len, size_t raw,
		    const void **out, size_t *out_len)
{
	uint8_t *data;
	size_t n;
	int err;

	if (raw > c->join_left)
		return -EDQUOT;
	c->join_left -= c->join_left == UINT64_MAX ? 0 : raw;
	data = malloc(raw);
	if (!data)
		return -ENOMEM;
	/* It decompresses all frames, one after another. */
	n = ZSTD_decompress(data, raw, frames, len);
	err = error_of(n, -EBADMSG);
	if (!err)
		err = n == raw ? run_once(c, data, raw, out, out_len) : -EBADMSG;
	free(data);
	return err;
}

void compressor_limit_joins(struct compressor *c, uint64_t bytes)
{
	c->join_left = bytes;
}
