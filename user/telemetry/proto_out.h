/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proto_out.h - writes protobuf fields into a buffer, for messages of 100,000 parts. By protobuf-c
 * each part would be an object first: 26 MB of them for 100,000 stacks and their samples, more
 * than the agent may take, and 27 ms to make and pack them.
 *
 * The first error (-ENOMEM) is kept, and later calls then do nothing. A field with the value 0, or
 * without bytes, is left out, as proto3 does; proto_entry() is for elements of repeated fields.
 */
#ifndef TACHBPF_PROTO_OUT_H
#define TACHBPF_PROTO_OUT_H

#include "base/util.h"

/* Zero-initialise; freed by proto_out_free(). */
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

#endif
