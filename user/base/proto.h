/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proto.h - protobuf's wire format: writes fields into a buffer, and reads them from bytes that
 * somebody hostile has made.
 *
 * Knows no message: whoever uses it has the numbers of the fields. Without objects in between: a
 * window of 100,000 stacks would be 26 MB of them.
 */
#ifndef TACHBPF_PROTO_H
#define TACHBPF_PROTO_H

#include "base/util.h"

/* protobuf.dev/programming-guides/encoding: wire types; groups (3, 4) are an error here. */
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* ---- writing ---- */

/*
 * Zero-initialise; freed by proto_out_free(). The first error (-ENOMEM) is kept, and later calls
 * then do nothing. A field with the value 0, or without bytes, is left out, as proto3 does;
 * proto_entry() is for elements of repeated fields.
 */
struct proto_out {
	struct buf b;
	int err;
};

void proto_out_free(struct proto_out *o);

void proto_number(struct proto_out *o, uint32_t field, uint64_t v);
/* As proto_number(), but 0 is written, too: in a oneof, say which it is. */
void proto_number_or_0(struct proto_out *o, uint32_t field, uint64_t v);
void proto_fixed64(struct proto_out *o, uint32_t field, uint64_t v);
void proto_bytes(struct proto_out *o, uint32_t field, const void *data, size_t len);
/* An element of a repeated field of strings or messages: written even if it has no bytes. */
void proto_entry(struct proto_out *o, uint32_t field, const void *data, size_t len);
void proto_text(struct proto_out *o, uint32_t field, const char *text);
/* Repeated numbers, packed. */
void proto_packed(struct proto_out *o, uint32_t field, const uint32_t *v, uint32_t n);
void proto_packed_number(struct proto_out *o, uint32_t field, uint64_t v);

/* A message in a field: what is written until proto_end(), which gets what proto_begin() returned.
 * A message without fields is written, too. */
size_t proto_begin(struct proto_out *o, uint32_t field);
void proto_end(struct proto_out *o, size_t begin);

/* Fields that are ready. */
void proto_append(struct proto_out *o, const struct proto_out *fields);

/* ---- reading ---- */

/*
 * Reads from p to end. It allocates nothing and does not recurse: whoever reads a nested message
 * makes a reader of its field. The first error is kept: `bad` is set, and nothing more is read.
 */
struct proto_in {
	const uint8_t *p, *end;
	bool bad;		/* what was read is no message */
};

struct proto_field {
	uint32_t number;
	enum wire wire;
	uint64_t value;		/* of a number */
	const uint8_t *data;	/* of bytes, inside the message */
	size_t len;
};

/* Read the next field; then in->p is its end. false: the message has ended, or in->bad is set. */
bool proto_next(struct proto_in *in, struct proto_field *f);

/* A reader of what is in a field of bytes; one that is bad at once for another field. */
struct proto_in proto_inside(const struct proto_field *f);

/* Read the next of packed numbers. false: there is none, or in->bad is set. */
bool proto_next_number(struct proto_in *in, uint64_t *v);

#endif
