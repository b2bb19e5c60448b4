// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * compress.c - one zstd compressor for any number of writers. See compress.h.
 *
 * Owns the zstd context and the buffer for its output; knows nothing of the data.
 */
#include "base/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY	/* ZSTD_c_useRowMatchFinder */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/util.h"

/*
 * A frame of blocks that are not compressed (RFC 8878, 3.1.1): magic number; no flags; a window of
 * 2^17 bytes, which is also the largest block. A block has 3 bytes in front: 1 if it is the last
 * one, 0 for the type, the length << 3.
 */
static const uint8_t stored_head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0, (17 - 10) << 3 };
#define STORED_BLOCK (1u << 17)
#define STORED_BLOCK_HEAD 3

/*
 * Of joins. Quick is level 6 with fewer candidates for a match, in smaller tables, which stay in a
 * CPU's cache. They are chains, not rows (of zstd 1.5): most matches of samples are long, and the
 * first candidate is as good as others. That takes a quarter less time and the same bytes, but
 * longer where hardly two stacks are alike. Frames of programs are smaller than at level 5,
 * CPython's, by 0.3 % to 5 %. (The greedy strategy takes less time, but frames are up to 4 % larger
 * than CPython's.)
 */
#define JOIN_THOROUGH_LEVEL 6
static const struct { ZSTD_cParameter name; int value; } join_quick[] = {
	{ ZSTD_c_strategy, ZSTD_lazy }, { ZSTD_c_hashLog, 17 }, { ZSTD_c_chainLog, 15 },
	{ ZSTD_c_searchLog, 2 }, { ZSTD_c_minMatch, 6 },
#if ZSTD_VERSION_NUMBER >= 10502
	{ ZSTD_c_useRowMatchFinder, ZSTD_ps_disable },
#endif
};

struct compressor {
	ZSTD_CCtx *ctx;		/* NULL: compressor_run() was not called yet */
	int level;
	struct buf out;
	uint64_t thorough_left;	/* raw bytes of joins that may still be thorough */
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

	if (c) {
		c->level = level;
		c->thorough_left = UINT64_MAX;
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

/* Converts zstd's errors to -errno. */
static int error_of(size_t n)
{
	if (!ZSTD_isError(n))
		return 0;
	return ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
}

static int compress_frame(ZSTD_CCtx *ctx, const void *data, size_t len, struct buf *out)
{
	int err;

	out->len = 0;
	if (buf_reserve(out, ZSTD_compressBound(len)))
		return -ENOMEM;
	out->len = ZSTD_compress2(ctx, out->data, out->cap, data, len);
	err = error_of(out->len);
	out->len = err ? 0 : out->len;
	return err;
}

int compressor_run(struct compressor *c, const void *data, size_t len, const void **out,
		   size_t *out_len)
{
	int err = 0;

	if (!c->ctx) {
		c->ctx = ZSTD_createCCtx();
		err = c->ctx ? set_up(c->ctx, c->level) : -ENOMEM;
	}
	if (!err)
		err = compress_frame(c->ctx, data, len, &c->out);
	*out = c->out.data;
	*out_len = c->out.len;
	return err;
}

int compressor_store(struct compressor *c, const void *data, size_t len, const void **out,
		     size_t *out_len)
{
	size_t blocks = len / STORED_BLOCK + 1, n;
	const uint8_t *from = data;
	uint8_t *to;

	c->out.len = 0;
	if (buf_reserve(&c->out, sizeof(stored_head) + blocks * STORED_BLOCK_HEAD + len))
		return -ENOMEM;
	memcpy(c->out.data, stored_head, sizeof(stored_head));
	to = c->out.data + sizeof(stored_head);
	for (; blocks; blocks--, from += n, len -= n) {
		uint32_t head;

		n = len < STORED_BLOCK ? len : STORED_BLOCK;
		head = (uint32_t)n << 3 | (blocks == 1);
		*to++ = (uint8_t)head;
		*to++ = (uint8_t)(head >> 8);
		*to++ = (uint8_t)(head >> 16);
		memcpy(to, from, n);
		to += n;
	}
	*out = c->out.data;
	*out_len = (size_t)(to - c->out.data);
	return 0;
}

static int set_up_join(ZSTD_CCtx *ctx, bool thorough)
{
	int err = set_up(ctx, JOIN_THOROUGH_LEVEL);
	size_t i;

	for (i = 0; !err && !thorough && i < ARRAY_SIZE(join_quick); i++)
		if (ZSTD_isError(ZSTD_CCtx_setParameter(ctx, join_quick[i].name,
							join_quick[i].value)))
			err = -EINVAL;
	return err;
}

/* The context is created for each join: it takes megabytes, and is rarely used. */
static int run_once(const void *data, size_t len, bool thorough, struct buf *out)
{
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	int err = ctx ? set_up_join(ctx, thorough) : -ENOMEM;

	if (!err)
		err = compress_frame(ctx, data, len, out);
	ZSTD_freeCCtx(ctx);
	return err;
}

bool compressor_take_thorough(struct compressor *c, size_t raw)
{
	if (raw > c->thorough_left)
		return false;
	c->thorough_left -= c->thorough_left == UINT64_MAX ? 0 : raw;
	return true;
}

/*
 * Moves the content of the stored frames in data[0, len) to data[0, raw). Returns false if they are
 * no such frames, or hold something else than raw bytes.
 */
static bool unstore(uint8_t *data, size_t len, size_t raw)
{
	const uint8_t *p = data, *end = data + len;
	uint32_t head, n;

	while (p < end) {
		if ((size_t)(end - p) < sizeof(stored_head) ||
		    memcmp(p, stored_head, sizeof(stored_head)))
			return false;
		p += sizeof(stored_head);
		do {
			if (end - p < STORED_BLOCK_HEAD)
				return false;
			head = (uint32_t)(p[0] | p[1] << 8 | p[2] << 16);
			p += STORED_BLOCK_HEAD;
			n = head >> 3;
			if (head & 6 || n > end - p || n > raw)
				return false;
			memmove(data, p, n);
			p += n;
			data += n;
			raw -= n;
		} while (!(head & 1));
	}
	return !raw;
}

int compressor_join(void *frames, size_t len, size_t raw, bool thorough, struct buf *out)
{
	return unstore(frames, len, raw) ? run_once(frames, raw, thorough, out) : -EBADMSG;
}

void compressor_limit_thorough(struct compressor *c, uint64_t bytes)
{
	c->thorough_left = bytes;
}
