/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_tables.h - the dictionary of a message of OTLP profiles, read from hostile bytes. For
 * otlp_read.c.
 *
 * Entry 0 of each table means none. Each message has its own tables; frames are common to all.
 */
#ifndef TACHBPF_OTLP_TABLES_H
#define TACHBPF_OTLP_TABLES_H

#include "base/proto.h"
#include "base/string_ref.h"
#include "formats/otlp/otlp_messages.h"
#include "formats/read_error.h"

struct intern;
struct otlp_tables;

/* Longer texts are cut: a file could have many references to a long one. */
#define OTLP_STRING_MAX 4096
#define OTLP_VALUE_MAX 1024

/* An attribute; its texts are in the message. */
struct otlp_pair {
	struct string_ref key;
	enum otlp_value { OTLP_NONE, OTLP_TEXT, OTLP_BOOL, OTLP_INT, OTLP_DOUBLE } kind;
	struct string_ref text;
	uint64_t bits;		/* of a number */
};
#define OTLP_NUMBER_BYTES 32

/* Frames are added to names. NULL: no memory. */
struct otlp_tables *otlp_tables_new(struct intern *names);
void otlp_tables_free(struct otlp_tables *t);

enum otlp_tables_part { OTLP_ALL_TABLES, OTLP_STRINGS };

/*
 * Reads the tables of another message, instead of those before; its bytes must stay as long as they
 * are used. file: where the file's content begins, for positions. Returns 0, or -ENOMEM or -EBADMSG
 * with a reason.
 */
int otlp_tables_read(struct otlp_tables *t, const struct otlp_message *m,
		     enum otlp_tables_part part, const uint8_t *file, const struct reason *why);
/* Returns true if the message has a dictionary. */
bool otlp_tables_found(const struct otlp_tables *t);

/* Returns the string with this index; "" if there is none. */
struct string_ref otlp_tables_string(const struct otlp_tables *t, uint64_t index);
/* Returns an attribute; NULL: there is none with this index. */
const struct otlp_pair *otlp_tables_attribute(const struct otlp_tables *t, uint64_t index);
/*
 * Replaces ids by the frame ids of a stack, innermost first, of which those that are kept by an
 * event and one more are enough. Returns 0, -ENOMEM, or -EBADMSG with a reason; at: the position.
 */
int otlp_tables_stack(const struct otlp_tables *t, uint64_t index, uint64_t at, struct buf *ids,
		      const struct reason *why);

/*
 * Reads a KeyValue or, with ATTRIBUTE_KEY, a KeyValueAndUnit. key_index: the field of a key that is
 * a string of the table. false: it is no message.
 */
bool otlp_read_pair(const struct otlp_tables *t, const struct proto_field *f, uint32_t key_index,
		    struct otlp_pair *out);
/* Returns an attribute's value as a text; of numbers, it is in room. len 0: none. */
struct string_ref otlp_pair_text(const struct otlp_pair *p, char room[OTLP_NUMBER_BYTES]);

#endif
