/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_reply.h - the bodies of OTLP answers: protobuf, of which two fields are read. Any bytes are
 * safe; unreadable ones are ignored. Runs in the sender.
 */
#ifndef TACHBPF_OTLP_REPLY_H
#define TACHBPF_OTLP_REPLY_H

#include <stddef.h>
#include <stdint.h>

struct otlp_reply {
	int64_t rejected;	/* profiles that the server did not take, despite its status 200 */
	const uint8_t *text;	/* in the body, not terminated; NULL: none */
	size_t text_len;
};

/* Reads ExportProfilesServiceResponse: partial_success. Returns 0, or -EBADMSG: *out is empty. */
int otlp_reply_success(const uint8_t *body, size_t len, struct otlp_reply *out);

/* Reads google.rpc.Status, the body of an error: its message. Returns the same. */
int otlp_reply_error(const uint8_t *body, size_t len, struct otlp_reply *out);

#endif
