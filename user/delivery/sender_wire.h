/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sender_wire.h - the messages on the sender's socket. For sender.c and sender_process.c. */
#ifndef TACHBPF_SENDER_WIRE_H
#define TACHBPF_SENDER_WIRE_H

#include "delivery/sender.h"
#include "base/util.h"

enum sender_kind_of_message { SENDER_SERVERS, SENDER_JOB };

/*
 * A message to the sender, sent with a descriptor. SENDER_SERVERS, the first one: the file has
 * `length` bytes, written by sender_servers_put(). SENDER_JOB: as struct sender_job.
 */
struct sender_message {
	uint32_t kind;
	uint32_t exporter, timeout_ms, unused;
	uint64_t job, offset, length;
	struct request_info info;
};

/* Appends the servers to a buffer. Returns 0 or -ENOMEM. */
int sender_servers_put(struct buf *out, const struct sender_server *servers, size_t cnt);
/*
 * Reads servers: their strings point into the bytes, which must end with a NUL. Returns their
 * number; -EBADMSG: malformed.
 */
int sender_servers_get(const struct buf *in, struct sender_server servers[SENDER_EXPORTERS_MAX]);

/* Returns true if an answer is well-formed. */
bool sender_answer_ok(const struct sender_answer *a);

#endif
