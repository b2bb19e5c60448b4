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
};

struct compressor *compressor_new(int level)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ctx = ZSTD_createCCtx();
	if (!c->ctx) {
		free(c);
		errno = ENOMEM;
		return NULL;
	}
	/*
	 * No content size in the frame header: CPython's reader takes the first frame's
	 * size as its first buffer size and doubles that while it stays below 1 GiB.
	 * Without one it starts with 512 KiB and reaches 1 GiB exactly.
	 */
	if (ZSTD_isError(ZSTD_CCtx_setParameter(c->ctx, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c->ctx, ZSTD_c_contentSizeFlag, 0))) {
		compressor_free(c);
		errno = EINVAL;
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

int compressor_run(struct compressor *c, const void *data, size_t len, const void **out,
		   size_t *out_len)
{
	size_t n;

	c->out.len = 0;
	if (buf_reserve(&c->out, ZSTD_compressBound(len)))
		return -ENOMEM;
	n = ZSTD_compress2(c->ctx, c->out.data, c->out.cap, data, len);
	if (ZSTD_isError(n))
		return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
	*out = c->out.data;
	*out_len = n;
	return 0;
}
