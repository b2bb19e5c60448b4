/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_messages.h - the messages of a file of OTLP profiles: one, as it is posted to a server, or a
 * stream, as the Collector's file exporter writes it (format: proto), in which each message follows
 * its length: 4 bytes, big-endian.
 */
#ifndef TACHBPF_OTLP_MESSAGES_H
#define TACHBPF_OTLP_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a message in a stream. */
#define OTLP_MESSAGE_MAX (((size_t)128 << 20) - 1)

/*
 * Returns true if a file of `whole` bytes that begins with these looks like either of the two. A
 * request of OTLP traces, metrics or logs does, too; it has no dictionary.
 */
bool otlp_begins(const uint8_t *data, size_t len, size_t whole);

struct otlp_messages {
	const uint8_t *p, *end;
	bool stream;
	uint64_t cnt;		/* messages so far */
	bool cut;		/* the file ends inside of the next message, or that is too long */
};

struct otlp_message {
	const uint8_t *data;
	size_t len;
};

/* Begins with the first message of a file's content. */
struct otlp_messages otlp_messages_of(const uint8_t *data, size_t len);
/* Reads the next message; empty ones are left out. false: there is none, or m->cut is set. */
bool otlp_messages_next(struct otlp_messages *m, struct otlp_message *out);

#endif
