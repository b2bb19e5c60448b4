// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* proto.c - see proto.h. */
#include "base/proto.h"

#include <string.h>

#define FIELD_NUMBER_MAX 0x1fffffffu	/* protobuf.dev: 2^29 - 1 */

/* ---- writing ---- */

void proto_out_free(struct proto_out *o)
{
	buf_free(&o->b);
	o->err = 0;
}

/* Returns where the next bytes go; NULL: no room. */
static uint8_t *reserve_bytes(struct proto_out *o, size_t bytes)
{
	if (o->err)
		return NULL;
	o->err = buf_reserve(&o->b, bytes);
	return o->err ? NULL : o->b.data + o->b.len;
}

static void wrote_to(struct proto_out *o, const uint8_t *end)
{
	o->b.len = (size_t)(end - o->b.data);
}

static uint8_t *put_key(uint8_t *p, uint32_t field, enum wire wire)
{
	return varint_put(p, (uint64_t)field << 3 | wire);
}

/* Not varint_put(): two million of these are most of a large window. */
static inline uint8_t *put_small(uint8_t *p, uint32_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

void proto_number_or_0(struct proto_out *o, uint32_t field, uint64_t v)
{
	uint8_t *p = reserve_bytes(o, 2 * VARINT_MAX);

	if (p)
		wrote_to(o, varint_put(put_key(p, field, WIRE_VARINT), v));
}

void proto_number(struct proto_out *o, uint32_t field, uint64_t v)
{
	if (v)
		proto_number_or_0(o, field, v);
}

void proto_fixed64(struct proto_out *o, uint32_t field, uint64_t v)
{
	uint8_t *p = v ? reserve_bytes(o, VARINT_MAX + sizeof(v)) : NULL;
	size_t i;

	if (!p)
		return;
	p = put_key(p, field, WIRE_FIXED64);
	for (i = 0; i < sizeof(v); i++)
		*p++ = (uint8_t)(v >> (8 * i));
	wrote_to(o, p);
}

void proto_entry(struct proto_out *o, uint32_t field, const void *data, size_t len)
{
	uint8_t *p = reserve_bytes(o, 2 * VARINT_MAX + len);

	if (!p)
		return;
	p = varint_put(put_key(p, field, WIRE_BYTES), len);
	if (len)
		memcpy(p, data, len);
	wrote_to(o, p + len);
}

void proto_bytes(struct proto_out *o, uint32_t field, const void *data, size_t len)
{
	if (len)
		proto_entry(o, field, data, len);
}

void proto_text(struct proto_out *o, uint32_t field, const char *text)
{
	proto_bytes(o, field, text, strlen(text));
}

void proto_packed(struct proto_out *o, uint32_t field, const uint32_t *v, uint32_t n)
{
	size_t begin = proto_begin(o, field);
	uint8_t *p = reserve_bytes(o, (size_t)n * 5);
	uint32_t i;

	for (i = 0; p && i < n; i++)
		p = put_small(p, v[i]);
	if (p)
		wrote_to(o, p);
	proto_end(o, begin);
}

void proto_packed_number(struct proto_out *o, uint32_t field, uint64_t v)
{
	uint8_t number[VARINT_MAX];

	proto_entry(o, field, number, (size_t)(varint_put(number, v) - number));
}

size_t proto_begin(struct proto_out *o, uint32_t field)
{
	uint8_t *p = reserve_bytes(o, VARINT_MAX + 1);

	if (!p)
		return 0;
	p = put_key(p, field, WIRE_BYTES);
	wrote_to(o, p + 1);	/* a byte for the length: enough for most */
	return o->b.len;
}

void proto_end(struct proto_out *o, size_t begin)
{
	uint8_t length[VARINT_MAX], *at;
	size_t len, bytes;

	if (o->err)
		return;
	len = o->b.len - begin;
	bytes = (size_t)(varint_put(length, len) - length);
	if (!reserve_bytes(o, bytes))
		return;
	at = o->b.data + begin;
	if (bytes > 1)
		memmove(at - 1 + bytes, at, len);
	memcpy(at - 1, length, bytes);
	o->b.len += bytes - 1;
}

void proto_append(struct proto_out *o, const struct proto_out *fields)
{
	uint8_t *p;

	if (fields->err && !o->err)
		o->err = fields->err;
	p = reserve_bytes(o, fields->b.len);
	if (p && fields->b.len) {
		memcpy(p, fields->b.data, fields->b.len);
		o->b.len += fields->b.len;
	}
}

/* ---- reading ---- */

/* Reads a little-endian number of this many bytes. */
static bool read_fixed(struct proto_in *in, size_t bytes, uint64_t *v)
{
	size_t i;

	if ((size_t)(in->end - in->p) < bytes)
		return false;
	*v = 0;
	for (i = 0; i < bytes; i++)
		*v |= (uint64_t)*in->p++ << 8 * i;
	return true;
}

static bool read_varint(struct proto_in *in, uint64_t *v)
{
	const uint8_t *p = varint_get(in->p, in->end, v);

	if (p)
		in->p = p;
	return p;
}

static bool read_bytes(struct proto_in *in, struct proto_field *f)
{
	uint64_t len;

	if (!read_varint(in, &len) || len > (size_t)(in->end - in->p))
		return false;
	f->data = in->p;
	f->len = (size_t)len;
	in->p += f->len;
	return true;
}

static bool read_content(struct proto_in *in, struct proto_field *f)
{
	switch (f->wire) {
	case WIRE_VARINT:
		return read_varint(in, &f->value);
	case WIRE_FIXED64:
		return read_fixed(in, 8, &f->value);
	case WIRE_FIXED32:
		return read_fixed(in, 4, &f->value);
	case WIRE_BYTES:
		return read_bytes(in, f);
	default:
		return false;
	}
}

bool proto_next(struct proto_in *in, struct proto_field *f)
{
	uint64_t key;

	if (in->bad || in->p == in->end)
		return false;
	*f = (struct proto_field){ 0 };
	in->bad = true;
	if (!read_varint(in, &key) || key < 8 || key >> 3 > FIELD_NUMBER_MAX)
		return false;
	f->number = (uint32_t)(key >> 3);
	f->wire = (enum wire)(key & 7);
	in->bad = !read_content(in, f);
	return !in->bad;
}

struct proto_in proto_inside(const struct proto_field *f)
{
	struct proto_in in = { .p = f->data, .end = f->data + f->len };

	in.bad = f->wire != WIRE_BYTES;
	return in;
}

bool proto_next_number(struct proto_in *in, uint64_t *v)
{
	if (in->bad || in->p == in->end)
		return false;
	in->bad = !read_varint(in, v);
	return !in->bad;
}

struct proto_numbers proto_numbers_of(const struct proto_field *f)
{
	struct proto_numbers n = { .single = f->value, .is_single = f->wire == WIRE_VARINT };

	if (!n.is_single)
		n.in = proto_inside(f);
	return n;
}

bool proto_numbers_next(struct proto_numbers *n, uint64_t *v)
{
	bool single = n->is_single;

	if (!single)
		return proto_next_number(&n->in, v);
	*v = n->single;
	n->is_single = false;
	return true;
}
