/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * metrics_clients.h - the connections of the metrics server: which of them ends so that others get
 * in. For metrics_process.c.
 *
 * A client has METRICS_REQUEST_MS for its request, and METRICS_CONNECTION_MS in all. METRICS_SPARE
 * places are always free for new clients, and one address (a /64 of IPv6) has at most
 * METRICS_OF_PEER: whoever has been silent for longest goes, then whoever has read its answer for
 * longest, but not within its first second. So who holds connections loses them.
 */
#ifndef TACHBPF_AGENT_METRICS_CLIENTS_H
#define TACHBPF_AGENT_METRICS_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/time.h"

#define METRICS_CONNECTIONS 256
#define METRICS_SPARE 16
#define METRICS_OF_PEER 128
#define METRICS_REQUEST_MS 2000
#define METRICS_CONNECTION_MS 10000

struct metrics_client {
	int fd;			/* -1: a free place */
	bool asked;		/* its request is complete */
	bool ended;		/* its socket was shut down: it goes when that is noticed */
	uint64_t since_ns, peer;
};

struct metrics_clients {
	struct metrics_client all[METRICS_CONNECTIONS];
};

void metrics_clients_clear(struct metrics_clients *cs);
/* Returns a number for the address of a client, to tell peers apart. address NULL: 0. */
uint64_t metrics_peer(const struct sockaddr *address);
/*
 * Takes a connection, whose descriptor stays the caller's, and may end another one of its peer.
 * Returns its place, or NULL: there is none.
 */
struct metrics_client *metrics_clients_add(struct metrics_clients *cs, int fd, uint64_t peer,
					   uint64_t now);
/* Its request is complete; it has come to its end. c NULL: nothing. */
void metrics_client_asked(struct metrics_client *c);
void metrics_client_gone(struct metrics_client *c);
/* Ends those that are in the way of new ones. Returns true if there were any. */
bool metrics_clients_make_room(struct metrics_clients *cs, uint64_t now);
/* Ends those that have taken too long. Returns when the next one is due; UINT64_MAX: none. */
uint64_t metrics_clients_expire(struct metrics_clients *cs, uint64_t now);

#endif
