/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sender_wire.h - what goes over the sender's socket. For sender.c and sender_process.c. */
#ifndef TACHBPF_SENDER_WIRE_H
#define TACHBPF_SENDER_WIRE_H

#include "delivery/sender.h"
#include "base/util.h"

enum sender_kind_of_message { SENDER_SERVERS, SENDER_JOB };

/*
 * A message to the sender; with it goes a descriptor. SENDER_SERVERS, the first one: the file has
 * `length` bytes, written by sender_servers_put(). SENDER_JOB: as struct sender_job.
 */
struct sender_message {
	uint32_t kind;
	uint32_t exporter, timeout_ms, unused;
	uint64_t job, offset, length;
	struct request_info info;
};

/* Append the servers to a buffer. 0 or -ENOMEM. */
int sender_servers_put(struct buf *out, const struct sender_server *servers, size_t cnt);
/*
 * Read servers: their texts point into the bytes, which must end with a zero byte. Returns how many
 * there are; -EBADMSG: these are none.
 */
int sender_servers_get(const struct buf *in, struct sender_server servers[SENDER_EXPORTERS_MAX]);

/* Has an answer the right form? */
bool sender_answer_ok(const struct sender_answer *a);

#endif
