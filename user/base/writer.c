// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * writer.c - writes text to a file descriptor. See writer.h. json.h writes JSON structures;
 * this is for long arrays in them, and for formats that are not JSON.
 */
#include "base/writer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

struct writer *writer_new(int fd, uint64_t max_bytes)
{
	struct writer *w = malloc(sizeof(*w));

	if (w) {
		w->fd = fd;
		w->err = 0;
		w->left = max_bytes ? max_bytes : UINT64_MAX;
		w->len = 0;
	}
	return w;
}

int writer_flush(struct writer *w)
{
	if (!w->err && w->len > w->left)
		w->err = -EFBIG;
	if (!w->err && w->len)
		w->err = write_all(w->fd, w->data, w->len);
	w->left -= w->err ? 0 : w->len;
	w->len = 0;
	return w->err;
}

void writer_put_slow(struct writer *w, const void *data, size_t len)
{
	const char *p = data;
	size_t n;

	while (len) {
		if (w->len == WRITER_BYTES && writer_flush(w))
			return;
		n = WRITER_BYTES - w->len;
		if (n > len)
			n = len;
		memcpy(w->data + w->len, p, n);
		w->len += n;
		p += n;
		len -= n;
	}
}

void writer_uint(struct writer *w, uint64_t v)
{
	char digits[20], *p = digits + sizeof(digits);

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	writer_put(w, p, (size_t)(digits + sizeof(digits) - p));
}

void writer_int(struct writer *w, int64_t v)
{
	if (v < 0)
		writer_char(w, '-');
	writer_uint(w, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void writer_ms(struct writer *w, int64_t us)
{
	uint64_t abs = us < 0 ? -(uint64_t)us : (uint64_t)us;
	unsigned int rest = (unsigned int)(abs % 1000);
	char text[4] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
			 (char)('0' + rest % 10) };
	size_t len = 4;

	if (us < 0)
		writer_char(w, '-');
	writer_uint(w, abs / 1000);
	while (len > 1 && text[len - 1] == '0')
		len--;
	if (len > 1)
		writer_put(w, text, len);
}
