/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_reply.h - the bodies of OTLP answers: protobuf, of which two fields count. Any bytes are
 * safe; what cannot be read says nothing. Runs in the sender.
 */
#ifndef TACHBPF_OTLP_REPLY_H
#define TACHBPF_OTLP_REPLY_H

#include <stddef.h>
#include <stdint.h>

struct otlp_reply {
	int64_t rejected;	/* profiles that the server did not take, though it says 200 */
	const uint8_t *text;	/* in the body, not terminated; NULL: none */
	size_t text_len;
};

/* ExportProfilesServiceResponse: partial_success. 0, or -EBADMSG: *out is empty. */
int otlp_reply_success(const uint8_t *body, size_t len, struct otlp_reply *out);

/* google.rpc.Status, the body of an error: its message. As above. */
int otlp_reply_error(const uint8_t *body, size_t len, struct otlp_reply *out);

#endif
