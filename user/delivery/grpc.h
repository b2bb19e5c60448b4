/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * grpc.h - what gRPC adds to HTTP/2: five bytes before a message, and a status at the end of an
 * answer. HTTP/2 itself is libcurl's. Sources: github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md and
 * doc/statuscodes.md; opentelemetry.io/docs/specs/otlp, "Failures". Pure. For transfer.c.
 */
#ifndef TACHBPF_DELIVERY_GRPC_H
#define TACHBPF_DELIVERY_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery/sender.h"

#define GRPC_PREFIX_BYTES 5
#define GRPC_TEXT_BYTES 160

/* Zero-initialised: no answer yet. */
struct grpc_status {
	bool known;			/* there was a grpc-status */
	uint32_t code;
	uint32_t retry_after_ms;	/* grpc-retry-pushback-ms; 0: none */
	char text[GRPC_TEXT_BYTES];	/* grpc-message, decoded: any bytes but NUL */
};

/* Writes what stands before a message of this length. compressed: as grpc-encoding says. */
void grpc_prefix(uint8_t out[GRPC_PREFIX_BYTES], bool compressed, uint32_t len);
/* Finds the message in an answer's body; false: there is none that is whole and not compressed. */
bool grpc_message(const uint8_t *body, size_t len, const uint8_t **message, size_t *message_len);
/* Takes a line of headers or trailers, which may end with CR LF. Any bytes. */
void grpc_take_header(struct grpc_status *s, const char *line, size_t len);
/* What the status means for the request. */
enum send_result grpc_judge(const struct grpc_status *s);
/* Returns the code's name: "UNAVAILABLE"; "status" for one that is not known. */
const char *grpc_code_name(uint32_t code);

#endif
