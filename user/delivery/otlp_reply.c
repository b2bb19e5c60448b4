// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * otlp_reply.c - see otlp_reply.h. Field numbers: opentelemetry-proto,
 * collector/profiles/v1development/profiles_service.proto; googleapis, google/rpc/status.proto.
 */
#include "delivery/otlp_reply.h"

#include <errno.h>
#include <stdbool.h>

#include "base/util.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct field {
	uint64_t number, value;		/* value: of a varint, or the length of bytes */
	enum wire wire;
	const uint8_t *bytes;
};

/* Reads the next field. Returns the end of the read bytes; NULL: malformed. */
static const uint8_t *next_field(const uint8_t *p, const uint8_t *end, struct field *f)
{
	uint64_t key;

	p = varint_get(p, end, &key);
	if (!p)
		return NULL;
	*f = (struct field){ .number = key >> 3, .wire = (enum wire)(key & 7) };
	if (f->wire == WIRE_VARINT)
		return varint_get(p, end, &f->value);
	if (f->wire == WIRE_BYTES)
		p = varint_get(p, end, &f->value);
	else if (f->wire == WIRE_64 || f->wire == WIRE_32)
		f->value = f->wire == WIRE_64 ? 8 : 4;
	else
		return NULL;
	if (!p || f->value > (uint64_t)(end - p))
		return NULL;
	f->bytes = p;
	return p + f->value;
}

/* Reads field 1 as a number, field 2 as text: PartialSuccess and Status have this form. */
static int number_and_text(const uint8_t *p, const uint8_t *end, struct otlp_reply *out)
{
	struct field f;

	*out = (struct otlp_reply){ 0 };
	while (p < end) {
		p = next_field(p, end, &f);
		if (!p) {
			*out = (struct otlp_reply){ 0 };
			return -EBADMSG;
		}
		if (f.number == 1 && f.wire == WIRE_VARINT)
			out->rejected = (int64_t)f.value;
		if (f.number == 2 && f.wire == WIRE_BYTES) {
			out->text = f.bytes;
			out->text_len = f.value;
		}
	}
	return 0;
}

int otlp_reply_error(const uint8_t *body, size_t len, struct otlp_reply *out)
{
	int err = number_and_text(body, body + len, out);

	out->rejected = 0;	/* it is the error's code */
	return err;
}

int otlp_reply_success(const uint8_t *body, size_t len, struct otlp_reply *out)
{
	const uint8_t *p = body, *end = body + len;
	struct otlp_reply found = { 0 };
	struct field f;
	int err = 0;

	*out = (struct otlp_reply){ 0 };
	while (!err && p < end) {
		p = next_field(p, end, &f);
		if (!p)
			return -EBADMSG;
		if (f.number == 1 && f.wire == WIRE_BYTES)
			err = number_and_text(f.bytes, f.bytes + f.value, &found);
	}
	if (!err)
		*out = found;
	if (out->rejected < 0)
		out->rejected = 0;
	return err;
}
