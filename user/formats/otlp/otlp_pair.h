/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_pair.h - attributes of OTLP, and the strings of a message that they refer to. Lists and maps
 * have no value here.
 */
#ifndef TACHBPF_OTLP_PAIR_H
#define TACHBPF_OTLP_PAIR_H

#include "base/proto.h"
#include "base/string_ref.h"

/* Longer texts are cut: a file could have many references to a long one. */
#define OTLP_VALUE_MAX 1024

/* A message's strings; .refs is the owner's. */
struct otlp_strings {
	struct buf refs;	/* string_ref, by index */
};

/* Adds the next string, which stays in the message. false: no memory. */
bool otlp_strings_add(struct otlp_strings *s, const struct proto_field *f);
/* Returns the string with this index; "" if there is none. */
struct string_ref otlp_string_at(const struct otlp_strings *s, uint64_t index);

/* An attribute; its texts are in the message. */
struct otlp_pair {
	struct string_ref key;
	enum otlp_value { OTLP_NONE, OTLP_TEXT, OTLP_BOOL, OTLP_INT, OTLP_DOUBLE } kind;
	struct string_ref text;
	uint64_t bits;		/* of a number */
};
#define OTLP_NUMBER_BYTES 32

/*
 * Reads a KeyValue or, with ATTRIBUTE_KEY, a KeyValueAndUnit. key_index: the field of a key that is
 * a string of the table. false: it is no message.
 */
bool otlp_read_pair(const struct otlp_strings *s, const struct proto_field *f, uint32_t key_index,
		    struct otlp_pair *out);
/* Returns an attribute's value as a text; of numbers, it is in room. len 0: none. */
struct string_ref otlp_pair_text(const struct otlp_pair *p, char room[OTLP_NUMBER_BYTES]);

#endif
