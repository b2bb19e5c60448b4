/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proto.h - protobuf's wire format: writes fields into a buffer, and reads them from hostile bytes.
 *
 * Knows no message: the caller has the numbers of the fields. Without intermediate objects: for a
 * window of 100,000 stacks they would take 26 MB.
 */
#ifndef TACHBPF_PROTO_H
#define TACHBPF_PROTO_H

#include "base/util.h"

/* protobuf.dev/programming-guides/encoding: wire types; groups (3, 4) are an error here. */
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* ---- writing ---- */

/*
 * Zero-initialise; freed by proto_out_free(). The first error (-ENOMEM) is kept, and later calls
 * then do nothing. A field with the value 0, or without bytes, is left out, as in proto3;
 * proto_entry() is for elements of repeated fields.
 */
struct proto_out {
	struct buf b;
	int err;
};

void proto_out_free(struct proto_out *o);

void proto_number(struct proto_out *o, uint32_t field, uint64_t v);
/* As proto_number(), but also writes 0: to select a member of a oneof. */
void proto_number_or_0(struct proto_out *o, uint32_t field, uint64_t v);
void proto_fixed64(struct proto_out *o, uint32_t field, uint64_t v);
void proto_bytes(struct proto_out *o, uint32_t field, const void *data, size_t len);
/* Writes an element of a repeated field of strings or messages, even without bytes. */
void proto_entry(struct proto_out *o, uint32_t field, const void *data, size_t len);
void proto_text(struct proto_out *o, uint32_t field, const char *text);
/* Writes repeated numbers, packed. */
void proto_packed(struct proto_out *o, uint32_t field, const uint32_t *v, uint32_t n);
void proto_packed_number(struct proto_out *o, uint32_t field, uint64_t v);

/*
 * A message in a field: all until proto_end(), which gets proto_begin()'s result. Also written
 * without fields.
 */
size_t proto_begin(struct proto_out *o, uint32_t field);
void proto_end(struct proto_out *o, size_t begin);

/* Appends complete fields. */
void proto_append(struct proto_out *o, const struct proto_out *fields);

/* ---- reading ---- */

/*
 * Reads from p to end. It allocates nothing and does not recurse: the reader of a nested message
 * makes a reader for its field. The first error is kept: `bad` is set, and nothing more is read.
 */
struct proto_in {
	const uint8_t *p, *end;
	bool bad;		/* the bytes are no message */
};

struct proto_field {
	uint32_t number;
	enum wire wire;
	uint64_t value;		/* of a number */
	const uint8_t *data;	/* of bytes, inside the message */
	size_t len;
};

/* Reads the next field; then in->p is its end. false: the message has ended, or in->bad is set. */
bool proto_next(struct proto_in *in, struct proto_field *f);

/* Returns a reader for the contents of a field of bytes; for another field, one that is bad. */
struct proto_in proto_inside(const struct proto_field *f);

/*
 * The numbers of a repeated field: packed, as proto3 writes them, or the one that it has as
 * proto2 does.
 */
struct proto_numbers {
	struct proto_in in;	/* .bad: the field is no number */
	uint64_t single;
	bool is_single;
};

struct proto_numbers proto_numbers_of(const struct proto_field *f);
/* Reads the next one. false: there is none, or n->in.bad is set. */
bool proto_numbers_next(struct proto_numbers *n, uint64_t *v);

/* Reads the next packed number. false: there is none, or in->bad is set. */
bool proto_next_number(struct proto_in *in, uint64_t *v);

#endif
