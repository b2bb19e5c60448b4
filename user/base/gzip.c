// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* gzip.c - see gzip.h. */
#include "base/gzip.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16)	/* zlib.h: plus 16 for a gzip header */
#define STEP_BYTES (64 * 1024)

int gzip_bytes(const void *data, size_t len, int level, struct buf *out)
{
	size_t before = out->len, left = len;
	z_stream zip = { .next_in = (Bytef *)data };
	int status = Z_OK;

	if (deflateInit2(&zip, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	while (status == Z_OK && !buf_reserve(out, STEP_BYTES)) {
		if (!zip.avail_in) {	/* its counter has 32 bits */
			zip.avail_in = left < UINT32_MAX ? (uInt)left : UINT32_MAX;
			left -= zip.avail_in;
		}
		zip.next_out = out->data + out->len;
		zip.avail_out = STEP_BYTES;
		status = deflate(&zip, left ? Z_NO_FLUSH : Z_FINISH);
		out->len += STEP_BYTES - zip.avail_out;
	}
	deflateEnd(&zip);
	if (status == Z_STREAM_END)
		return 0;
	out->len = before;
	return -ENOMEM;
}

/* Members that follow one another are one content: RFC 1952, 2.2. */
static bool begin_next_member(z_stream *z)
{
	return gzip_begins(z->next_in, z->avail_in) && inflateReset(z) == Z_OK;
}

int gunzip_bytes(const void *data, size_t len, size_t max, struct buf *out)
{
	z_stream z = { .next_in = (void *)(uintptr_t)data, .avail_in = (uInt)len };
	size_t before = out->len;
	int state = inflateInit2(&z, GZIP_WINDOW) == Z_OK ? Z_OK : Z_MEM_ERROR, err;

	while (state == Z_OK && !buf_reserve(out, STEP_BYTES)) {
		z.next_out = out->data + out->len;
		z.avail_out = STEP_BYTES;
		state = inflate(&z, Z_NO_FLUSH);
		out->len += STEP_BYTES - z.avail_out;
		if (out->len - before > max)
			break;
		if (state == Z_STREAM_END && begin_next_member(&z))
			state = Z_OK;
	}
	inflateEnd(&z);
	err = state == Z_STREAM_END && out->len - before <= max ? 0 :
	      out->len - before > max ? -EFBIG : state == Z_OK || state == Z_MEM_ERROR ? -ENOMEM :
	      -EBADMSG;
	if (err)
		out->len = before;
	return err;
}

bool gzip_begins(const void *data, size_t len)
{
	static const uint8_t head[] = { 0x1f, 0x8b, 8 };	/* RFC 1952: deflate */

	return len > sizeof(head) && !memcmp(data, head, sizeof(head));
}

size_t gunzip_head(const void *data, size_t len, void *out, size_t max)
{
	z_stream z = {
		.next_in = (void *)(uintptr_t)data,
		.avail_in = len < UINT32_MAX ? (uInt)len : UINT32_MAX,
		.next_out = out, .avail_out = (uInt)max,
	};
	int state = Z_OK;

	if (!gzip_begins(data, len) || inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return 0;
	while (state == Z_OK && z.avail_out && z.avail_in)
		state = inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return max - z.avail_out;
}
