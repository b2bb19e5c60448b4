/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * transfer.h - one request to one server by libcurl: its settings, its payload, what the server's
 * answer means. Runs in the sender.
 */
#ifndef TACHBPF_TRANSFER_H
#define TACHBPF_TRANSFER_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery/sender_wire.h"

/* Of a server's answer, no more is read. */
#define TRANSFER_BODY_MAX (64u << 10)
#define TRANSFER_HEADERS_MAX (64u << 10)

struct transfer;

/*
 * A transfer to be added to a multi handle. fd becomes the transfer's in any case. NULL: no memory.
 * server must stay valid.
 */
struct transfer *transfer_new(const struct sender_server *server, const struct sender_message *m,
			      int fd);
CURL *transfer_easy(struct transfer *t);
/* The transfer has ended with this code: fill the answer. */
void transfer_answer(struct transfer *t, CURLcode code, struct sender_answer *out);
/* NULL: nothing. It must be in no multi handle. */
void transfer_free(struct transfer *t);

/* What a status means for a request of this path; for tests. */
enum send_result transfer_judge(enum request_path path, uint32_t status);

/*
 * The bodies of OTLP answers: protobuf, of which two fields count. Any bytes are safe; what cannot
 * be read says nothing. Runs in the sender.
 */

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
