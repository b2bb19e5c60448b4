// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mlyze_encode.c - see mlyze_encode.h. */
#include "formats/mlyze/mlyze_encode.h"

#include <endian.h>
#include <string.h>

#include "base/util.h"

static uint8_t *put_fixed(uint8_t *p, uint64_t v, size_t bytes)
{
	v = htole64(v);
	memcpy(p, &v, bytes);
	return p + bytes;
}

uint8_t *mlyze_encode(uint8_t *p, const struct mlyze_event *ev, uint64_t last_us)
{
	*p++ = ev->type;
	p = varint_put(p, ev->time_us - last_us);
	switch (ev->type) {
	case MLYZE_ALLOC:
		p = put_fixed(p, ev->addr, 8);
		p = varint_put(p, ev->size);
		p = varint_put(p, ev->stack);
		return put_fixed(p, ev->thread, 2);
	case MLYZE_FREE:
		return put_fixed(p, ev->addr, 8);
	case MLYZE_GC:
		return varint_put(varint_put(p, ev->objects), ev->bytes);
	case MLYZE_MARKER:
		return varint_put(p, ev->name);
	}
	return p;
}

void mlyze_encode_header(uint8_t header[MLYZE_HEADER_BYTES], uint64_t start_us,
			 uint32_t metadata_bytes)
{
	memset(header, 0, MLYZE_HEADER_BYTES);
	memcpy(header, MLYZE_MAGIC, 4);
	put_fixed(header + 4, MLYZE_VERSION, 4);
	put_fixed(header + 8, start_us, 8);
	put_fixed(header + 16, metadata_bytes, 4);
}

/* ---- reading ---- */

/* These return the end of what they have read, or NULL if it is missing. p may be NULL. */
static const uint8_t *get_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	return p ? varint_get(p, end, v) : NULL;
}

static const uint8_t *get_id(const uint8_t *p, const uint8_t *end, uint32_t *id)
{
	uint64_t v = 0;

	p = get_varint(p, end, &v);
	*id = (uint32_t)v;
	return v > UINT32_MAX ? NULL : p;
}

static const uint8_t *get_fixed(const uint8_t *p, const uint8_t *end, uint64_t *v, size_t bytes)
{
	if (!p || (size_t)(end - p) < bytes)
		return NULL;
	*v = 0;
	memcpy(v, p, bytes);
	*v = le64toh(*v);
	return p + bytes;
}

static const uint8_t *get_alloc(const uint8_t *p, const uint8_t *end, struct mlyze_event *ev)
{
	uint64_t thread = 0;

	p = get_fixed(p, end, &ev->addr, 8);
	p = get_varint(p, end, &ev->size);
	p = get_id(p, end, &ev->stack);
	p = get_fixed(p, end, &thread, 2);
	ev->thread = (uint16_t)thread;
	return p;
}

const uint8_t *mlyze_decode(const uint8_t *p, const uint8_t *end, struct mlyze_event *ev,
			    uint64_t last_us)
{
	uint64_t delta = 0;

	if (p == end || *p > MLYZE_MARKER)
		return NULL;
	*ev = (struct mlyze_event){ .type = (enum mlyze_type)*p };
	p = get_varint(p + 1, end, &delta);
	if (__builtin_add_overflow(last_us, delta, &ev->time_us))
		return NULL;
	switch (ev->type) {
	case MLYZE_ALLOC:
		return get_alloc(p, end, ev);
	case MLYZE_FREE:
		return get_fixed(p, end, &ev->addr, 8);
	case MLYZE_GC:
		return get_varint(get_varint(p, end, &ev->objects), end, &ev->bytes);
	case MLYZE_MARKER:
		return get_id(p, end, &ev->name);
	}
	return NULL;
}
