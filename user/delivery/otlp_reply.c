// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * otlp_reply.c - see otlp_reply.h. Field numbers: opentelemetry-proto,
 * collector/profiles/v1development/profiles_service.proto; googleapis, google/rpc/status.proto.
 */
#include "delivery/otlp_reply.h"

#include <errno.h>

#include "base/proto.h"

/* Reads field 1 as a number, field 2 as text: PartialSuccess and Status have this form. */
static int number_and_text(struct proto_in in, struct otlp_reply *out)
{
	struct proto_field f;

	*out = (struct otlp_reply){ 0 };
	while (proto_next(&in, &f)) {
		if (f.number == 1 && f.wire == WIRE_VARINT)
			out->rejected = (int64_t)f.value;
		if (f.number == 2 && f.wire == WIRE_BYTES) {
			out->text = f.data;
			out->text_len = f.len;
		}
	}
	if (in.bad)
		*out = (struct otlp_reply){ 0 };
	return in.bad ? -EBADMSG : 0;
}

int otlp_reply_error(const uint8_t *body, size_t len, struct otlp_reply *out)
{
	int err = number_and_text((struct proto_in){ .p = body, .end = body + len }, out);

	out->rejected = 0;	/* it is the error's code */
	return err;
}

int otlp_reply_success(const uint8_t *body, size_t len, struct otlp_reply *out)
{
	struct proto_in in = { .p = body, .end = body + len };
	struct otlp_reply found = { 0 };
	struct proto_field f;
	int err = 0;

	*out = (struct otlp_reply){ 0 };
	while (!err && proto_next(&in, &f)) {
		if (f.number == 1 && f.wire == WIRE_BYTES)
			err = number_and_text(proto_inside(&f), &found);
	}
	if (in.bad)
		return -EBADMSG;
	if (!err)
		*out = found;
	if (out->rejected < 0)
		out->rejected = 0;
	return err;
}
