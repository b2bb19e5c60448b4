/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * transfer.h - one request to one server by libcurl: its settings, its payload, the meaning of the
 * server's answer. Runs in the sender.
 */
#ifndef TACHBPF_TRANSFER_H
#define TACHBPF_TRANSFER_H

#include <curl/curl.h>

#include "delivery/sender_wire.h"

/* No more of a server's answer is read. */
#define TRANSFER_BODY_MAX (64u << 10)
#define TRANSFER_HEADERS_MAX (64u << 10)

struct transfer;

/*
 * Creates a transfer to be added to a multi handle. Takes ownership of fd in any case. Returns NULL
 * without memory. server must stay valid.
 */
struct transfer *transfer_new(const struct sender_server *server, const struct sender_message *m,
			      int fd);
CURL *transfer_easy(struct transfer *t);
/* The transfer has ended with this code: fills the answer. */
void transfer_answer(struct transfer *t, CURLcode code, struct sender_answer *out);
/* NULL: nothing. It must be in no multi handle. */
void transfer_free(struct transfer *t);

#endif
