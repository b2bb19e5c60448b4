// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* spool_entry.c - see spool_entry.h. */
#include "delivery/spool_entry.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

static const char magic[8] = "TACHSPL\n";

#define TEXTS 3

struct head {
	char magic[8];
	uint32_t version;
	uint32_t crc;			/* of the whole header with 0 here */
	uint32_t bytes;			/* of the header, with its strings */
	uint32_t payload_crc;
	uint64_t payload_bytes;
	uint64_t created_ns, begin_ns, end_ns;
	uint64_t samples, weight;
	uint32_t path;
	uint16_t text_bytes[TEXTS];	/* of the strings after the header, without NULs */
	uint16_t unused[3];
};
_Static_assert(sizeof(struct head) == 88, "the header has no gaps");
_Static_assert(sizeof(struct head) + sizeof(struct request_info) <= SPOOL_HEAD_MAX, "room");

/* The strings of an info, in their order in the header. */
static const struct {
	size_t off, room;
} texts[TEXTS] = {
	{ offsetof(struct request_info, exporter), SPOOL_EXPORTER_BYTES },
	{ offsetof(struct request_info, content_type), SPOOL_TYPE_BYTES },
	{ offsetof(struct request_info, encoding), SPOOL_ENCODING_BYTES },
};

uint32_t spool_entry_crc(uint32_t crc, const void *data, size_t len)
{
	return (uint32_t)crc32_z(crc, data, len);
}

/* Text for a header of HTTP has no blanks, control characters or other bytes. */
static int text_ok(const char *s, size_t room)
{
	size_t i, len = strnlen(s, room);

	for (i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return 0;
	return len < room;
}

int request_info_check(const struct request_info *info)
{
	size_t i;

	for (i = 0; i < TEXTS; i++)
		if (!text_ok((const char *)info + texts[i].off, texts[i].room))
			return -EINVAL;
	return info->exporter[0] && info->path < REQUEST_PATHS ? 0 : -EINVAL;
}

int spool_entry_head(uint8_t out[SPOOL_HEAD_MAX], size_t *len, const struct request_info *info,
		     const void *payload, size_t payload_len)
{
	struct head h = {
		.version = SPOOL_VERSION, .bytes = sizeof(h), .path = info->path,
		.payload_crc = spool_entry_crc(0, payload, payload_len),
		.payload_bytes = payload_len, .created_ns = info->created_ns,
		.begin_ns = info->begin_ns, .end_ns = info->end_ns,
		.samples = info->samples, .weight = info->weight,
	};
	size_t i;

	if (request_info_check(info))
		return -EINVAL;
	memcpy(h.magic, magic, sizeof(magic));
	for (i = 0; i < TEXTS; i++) {
		const char *text = (const char *)info + texts[i].off;

		h.text_bytes[i] = (uint16_t)strlen(text);
		memcpy(out + h.bytes, text, h.text_bytes[i]);
		h.bytes += h.text_bytes[i];
	}
	memcpy(out, &h, sizeof(h));
	h.crc = spool_entry_crc(0, out, h.bytes);
	memcpy(out, &h, sizeof(h));
	*len = h.bytes;
	return 0;
}

/* Computes the checksum as when it was written: with 0 in its own place. */
static uint32_t head_crc(const uint8_t *data, const struct head *h)
{
	struct head zero = *h;
	uint32_t crc;

	zero.crc = 0;
	crc = spool_entry_crc(0, &zero, sizeof(zero));
	return spool_entry_crc(crc, data + sizeof(*h), h->bytes - sizeof(*h));
}

/* The strings must fill the header exactly. */
static int take_texts(const uint8_t *data, const struct head *h, struct request_info *info)
{
	size_t i, at = sizeof(*h);

	for (i = 0; i < TEXTS; i++) {
		if (h->text_bytes[i] >= texts[i].room || h->text_bytes[i] > h->bytes - at ||
		    memchr(data + at, '\0', h->text_bytes[i]))
			return -EBADMSG;
		memcpy((char *)info + texts[i].off, data + at, h->text_bytes[i]);
		at += h->text_bytes[i];
	}
	return at == h->bytes ? 0 : -EBADMSG;
}

int spool_entry_parse(const uint8_t *data, size_t len, struct request_info *info,
		      struct spool_sizes *sizes)
{
	struct head h;

	memset(info, 0, sizeof(*info));
	*sizes = (struct spool_sizes){ 0 };
	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, data, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)))
		return -EBADMSG;
	if (h.version != SPOOL_VERSION)
		return -EPROTONOSUPPORT;
	if (h.bytes < sizeof(h) || h.bytes > SPOOL_HEAD_MAX || h.bytes > len ||
	    head_crc(data, &h) != h.crc || take_texts(data, &h, info))
		return -EBADMSG;
	info->path = h.path;
	info->created_ns = h.created_ns;
	info->begin_ns = h.begin_ns;
	info->end_ns = h.end_ns;
	info->samples = h.samples;
	info->weight = h.weight;
	*sizes = (struct spool_sizes){ h.bytes, h.payload_bytes, h.payload_crc };
	return request_info_check(info) ? -EBADMSG : 0;
}
