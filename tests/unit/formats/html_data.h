/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * html_data.h - reads the data block of an HTML report back, as its script does:
 * base64, zlib, then varints. See docs/format-flamegraph.md.
 */
#ifndef TACHBPF_HTML_DATA_H
#define TACHBPF_HTML_DATA_H

#include <ctype.h>
#include <zlib.h>

#include "tests/unit/json_doc.h"
#include "tests/unit/tach_test.h"

struct html_reader {
	struct buf data;
	const uint8_t *at, *end;
	struct json_doc *meta;
	char **strings;
	uint64_t string_cnt;
};

static inline uint64_t html_read(struct html_reader *r)
{
	uint64_t v;

	r->at = varint_get(r->at, r->end, &v);
	assert_non_null(r->at);
	return v;
}

static inline uint64_t *html_column(struct html_reader *r, uint64_t cnt)
{
	uint64_t *column = calloc(cnt + 1, sizeof(*column)), i;

	assert_non_null(column);
	for (i = 0; i < cnt; i++)
		column[i] = html_read(r);
	return column;
}

/* Of signed numbers, each the difference to the one before it. */
static inline uint64_t *html_differences(struct html_reader *r, uint64_t cnt)
{
	uint64_t *column = html_column(r, cnt), sum = 0, i;

	for (i = 0; i < cnt; i++) {
		sum += (column[i] >> 1) ^ -(column[i] & 1);
		column[i] = sum;
	}
	return column;
}

static inline char *html_text(struct html_reader *r, uint64_t len)
{
	char *text = strndup((const char *)r->at, len);

	assert_true(len <= (uint64_t)(r->end - r->at));
	r->at += len;
	return text;
}

/* In place; the number of bytes. */
static inline size_t unbase64(uint8_t *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t i, out = 0;
	uint32_t bits = 0, cnt = 0;

	for (i = 0; i < len && data[i] != '='; i++) {
		const char *digit = memchr(digits, data[i], 64);

		assert_non_null(digit);
		bits = bits << 6 | (uint32_t)(digit - digits);
		cnt += 6;
		if (cnt >= 8) {
			cnt -= 8;
			data[out++] = bits >> cnt;
		}
	}
	for (; i < len; i++)
		assert_int_equal(data[i], '=');
	return out;
}

static inline void html_unpack(struct html_reader *r, uint8_t *packed, size_t len)
{
	z_stream z = { .next_in = packed, .avail_in = len };
	int state;

	assert_int_equal(inflateInit(&z), Z_OK);
	do {
		assert_int_equal(buf_reserve(&r->data, 65536), 0);
		z.next_out = r->data.data + r->data.len;
		z.avail_out = 65536;
		state = inflate(&z, Z_NO_FLUSH);
		r->data.len += 65536 - z.avail_out;
		assert_true(state == Z_OK || state == Z_STREAM_END);
	} while (state != Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
}

/* Up to and with the strings, with which every report's data begins. */
static inline void html_reader_open(struct html_reader *r, const char *path)
{
	static const char mark[] = "id=\"data\">\n";
	struct buf page = file_bytes(path), meta;
	uint8_t *start = memmem(page.data, page.len, mark, strlen(mark)), *end;
	uint64_t i, len, *lengths;

	assert_non_null(start);
	start += strlen(mark);
	end = memchr(start, '\n', page.data + page.len - start);
	assert_non_null(end);
	html_unpack(r, start, unbase64(start, end - start));
	buf_free(&page);
	r->at = r->data.data;
	r->end = r->at + r->data.len;
	len = html_read(r);
	meta = (struct buf){ .data = (uint8_t *)html_text(r, len), .len = len };
	r->meta = parse_json(&meta);
	buf_free(&meta);
	r->string_cnt = html_read(r);
	lengths = html_column(r, r->string_cnt);
	len = html_read(r);
	r->strings = calloc(r->string_cnt + 1, sizeof(*r->strings));
	for (i = 0; i < r->string_cnt; i++) {
		r->strings[i] = html_text(r, lengths[i]);
		len -= lengths[i];
	}
	assert_int_equal(len, 0);
	free(lengths);
}

static inline void html_reader_end(const struct html_reader *r)
{
	assert_ptr_equal(r->at, r->end);
}

static inline const char *html_string(const struct html_reader *r, uint64_t i)
{
	assert_true(i < r->string_cnt);
	return r->strings[i];
}

/* "processes.N.KEY" */
static inline const char *html_meta_path(size_t process, const char *key)
{
	static char path[64];

	snprintf(path, sizeof(path), "processes.%zu.%s", process, key);
	return path;
}

static inline const char *html_meta_string(const struct html_reader *r, size_t process,
					   const char *key)
{
	return json_chars(r->meta, html_meta_path(process, key));
}

static inline int64_t html_meta_int(const struct html_reader *r, size_t process, const char *key)
{
	return (int64_t)json_number(r->meta, html_meta_path(process, key));
}

static inline void html_reader_close(struct html_reader *r)
{
	uint64_t i;

	for (i = 0; i < r->string_cnt; i++)
		free(r->strings[i]);
	free(r->strings);
	free(r->meta);
	buf_free(&r->data);
}

#endif
