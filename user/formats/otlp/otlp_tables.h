/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_tables.h - the dictionary of a message of OTLP profiles, read from hostile bytes. For
 * otlp_read.c.
 *
 * Entry 0 of each table means none. Each message has its own tables; frames are common to all.
 */
#ifndef TACHBPF_OTLP_TABLES_H
#define TACHBPF_OTLP_TABLES_H

#include "base/util.h"
#include "formats/otlp/otlp_messages.h"
#include "formats/otlp/otlp_pair.h"
#include "formats/read_error.h"

struct intern;
struct otlp_tables;

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

const struct otlp_strings *otlp_tables_strings(const struct otlp_tables *t);
/* Returns an attribute; NULL: there is none with this index. */
const struct otlp_pair *otlp_tables_attribute(const struct otlp_tables *t, uint64_t index);
/*
 * Replaces ids by the frame ids of a stack, innermost first, of which those that are kept by an
 * event and one more are enough. Returns 0, -ENOMEM, or -EBADMSG with a reason; at: the position.
 */
int otlp_tables_stack(const struct otlp_tables *t, uint64_t index, uint64_t at, struct buf *ids,
		      const struct reason *why);

#endif
