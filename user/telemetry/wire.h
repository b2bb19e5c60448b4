/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wire.h - reads protobuf's wire format field by field, from bytes that somebody hostile has made.
 *
 * For messages of other processes. It allocates nothing and does not recurse: who reads a nested
 * message makes a reader of its field. What we write, and messages of our own, are protobuf-c's.
 */
#ifndef TACHBPF_WIRE_H
#define TACHBPF_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* protobuf.dev/programming-guides/encoding: wire types; groups (3, 4) are an error here. */
enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* Zero bad. Reads from p to end. */
struct wire {
	const uint8_t *p, *end;
	bool bad;		/* what was read is no message */
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;		/* of a number */
	const uint8_t *data;	/* of bytes, inside the message */
	size_t len;
};

/* Read the next field. false: the message has ended, or w->bad is set. */
bool wire_next(struct wire *w, struct wire_field *f);

/* A reader of the message in a field of bytes; one that is bad at once for another field. */
struct wire wire_of(const struct wire_field *f);

#endif
