/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * delivery.h - brings requests to their servers, through the spool, where they are before they are
 * sent: whatever ends the agent loses none.
 *
 * Each exporter has its own queue, in the order in which requests were offered; a server that is
 * down delays only its own queue. While a server takes requests, several are sent at once
 * (delivery_exporter.transfers), so they may arrive in another order. After one that the server did
 * not take, one at a time is tried, the oldest, after a pause that doubles from a second to a
 * minute (half of it random), or for as long as the server has asked (Retry-After, at most an
 * hour). An answer that only a person can change (SEND_DENIED) means the longest pause at once.
 * A request that its server has refused again and again (TRIES_FIRST) lets others go first, and has
 * pauses of its own while the server takes others. Requests that are too old are dropped.
 *
 * Requests that the disk does not take are in memory, up to a limit: then the oldest is dropped.
 * Each request that does not arrive is counted by exporter and cause, with its samples and their
 * weight. Of a window that is not finished, what there is of it is in a draft (spool_draft.h).
 *
 * A server may get a request twice (sender.h): its id is inside the payload and stays the same.
 *
 * All functions run in the main process. None waits, except for the disk, and delivery_finish().
 * Times are now_ns() (monotonic) unless they say wall clock; tests may pass any values.
 */
#ifndef TACHBPF_DELIVERY_H
#define TACHBPF_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "delivery/sender.h"
#include "delivery/spool_dir.h"

#define DELIVERY_TRANSFERS_MAX 16
#define DELIVERY_MEMORY_DEFAULT (16u << 20)

struct delivery;

/* A server that gets requests. Strings are copied. If it has no URL, requests wait in the spool. */
struct delivery_exporter {
	const char *name;		/* in the spool; unique, printable, no blanks, 63 bytes */
	struct sender_server server;
	uint32_t timeout_ms;		/* of a transfer; 0: 30 s */
	uint32_t transfers;		/* in parallel; 0: 4; at most DELIVERY_TRANSFERS_MAX */
	uint64_t pause_ns, pause_max_ns;	/* after failures; 0: 1 s, 60 s */
};

/* Why a request did not arrive. */
enum drop_cause {
	DROP_SPOOL_FULL,	/* it was the oldest, and newer ones needed its space */
	DROP_MEMORY_FULL,	/* the disk took nothing, and there was no more memory */
	DROP_REFUSED,		/* the server will never take it: 400 */
	DROP_TOO_OLD,		/* it has waited for longer than max_age_ns */
	DROP_TOO_LARGE,		/* 413, and it could not be split; or larger than the spool */
	DROP_DAMAGED,		/* its file was damaged, or could not be read */
	DROP_CAUSES
};
/* Returns a word for metrics: "spool_full". */
const char *drop_cause_name(enum drop_cause cause);

struct delivery_sum {
	uint64_t requests, samples, weight;
};

/* An exporter's figures; they only increase while the delivery lives. */
struct delivery_counts {
	struct delivery_sum offered;
	struct delivery_sum sent;
	struct delivery_sum found;		/* in the spool, at the start */
	struct delivery_sum split;		/* too large; its parts were offered again */
	struct delivery_sum dropped[DROP_CAUSES];
	uint64_t spooled;			/* put into the spool */
	uint64_t retried;			/* failed transfers that are repeated */
	uint64_t lost_answers;			/* transfers whose sender ended */
	uint64_t failures[SEND_CAUSES];		/* failed transfers, by cause */
	uint64_t rejected_profiles;		/* a server took the request, but not these */
	uint64_t sent_bytes;			/* bodies, including those of failed transfers */
};

/* The current state of an exporter. */
struct delivery_state {
	size_t waiting, in_flight;		/* requests */
	uint64_t waiting_bytes;			/* payloads, including those in flight */
	uint64_t memory_bytes;			/* of these, in memory only */
	uint64_t oldest_ns;			/* wall clock; 0: nothing waits */
	uint32_t failures_in_row;		/* 0: the server takes requests */
	uint32_t last_status;			/* of HTTP */
	char last_text[SENDER_TEXT_BYTES];	/* of the last failure; printable */
};

/*
 * The server says that a request is too large. payload: as it was offered. Offers smaller requests,
 * which together have the same samples, with delivery_offer(), and returns 0; -errno: it cannot be
 * split, and is dropped.
 */
typedef int (*delivery_split_fn)(void *ctx, struct delivery *d, size_t exporter,
				 const struct request_info *info, const void *payload, size_t len);

struct delivery_args {
	const char *spool;			/* directory; NULL: SPOOL_DIR_DEFAULT */
	struct spool_limits limits;
	uint64_t max_age_ns;			/* 0: requests do not become too old */
	uint64_t memory_bytes;			/* 0: DELIVERY_MEMORY_DEFAULT */
	const struct delivery_exporter *exporters;
	size_t exporter_cnt;			/* 1 to SENDER_EXPORTERS_MAX */
	delivery_split_fn split;		/* NULL: nothing can be split */
	void *ctx;
};

/*
 * Opens the spool; delivery_tick() starts the sender, by the keeper if there is one (whose kinds
 * must include sender_kind). Returns 0 or -errno, which was logged. Freed by delivery_free().
 */
int delivery_new(struct delivery **out, const struct delivery_args *args);
/* Puts requests in memory or in flight into the spool, and ends the sender. NULL: nothing. */
void delivery_free(struct delivery *d);

/*
 * Replaces the exporters. One with the name of an old one keeps its queue and figures, and indices
 * are the new ones. Requests in flight are sent again. Entries of others stay in the spool until
 * they are the oldest, or their exporter comes back. Returns 0, or -errno after logging it: nothing
 * has changed.
 */
int delivery_set_exporters(struct delivery *d, const struct delivery_exporter *exporters,
			   size_t cnt);

/* Changes the limits of the spool. Entries that no longer fit, or are too old, are dropped. */
void delivery_set_limits(struct delivery *d, const struct spool_limits *limits,
			 uint64_t max_age_ns);

/*
 * Takes a request. info->exporter and info->created_ns are set here; the caller sets the rest.
 * payload: as it will be sent; it is copied. Returns 0: it is sent, or stored, or counted as
 * dropped. -EINVAL: info or exporter is invalid, and nothing was counted.
 */
int delivery_offer(struct delivery *d, size_t exporter, const struct request_info *info,
		   const void *payload, size_t len, uint64_t now);

/*
 * Requests of a window that is not finished yet. delivery_pack() appends one to a set, as
 * delivery_offer() would take it; returns 0, -ENOMEM, or -EINVAL. delivery_draft() keeps the set,
 * with so many samples, instead of the one before; an agent that starts after we were killed sends
 * it. delivery_meter() says how many samples there are now. delivery_offer_set() offers a set,
 * which may be the draft: then none of it is lost or sent twice, whenever we are killed.
 */
int delivery_pack(const struct delivery *d, size_t exporter, const struct request_info *info,
		  const void *payload, size_t len, struct buf *set);
void delivery_draft(struct delivery *d, const struct buf *set, uint64_t samples);
void delivery_meter(struct delivery *d, uint64_t samples);
void delivery_offer_set(struct delivery *d, const struct buf *set, uint64_t now);
/* Samples of the last agent, which was killed, that no draft had. */
uint64_t delivery_killed_samples(const struct delivery *d);

/* Returns a descriptor to poll for POLLIN: there are answers. It never changes. */
int delivery_fd(const struct delivery *d);
/* Takes answers, replaces a sender that has ended or hangs, and sends requests that are due. */
void delivery_tick(struct delivery *d, uint64_t now);
/* Returns when to call delivery_tick() without an answer; UINT64_MAX: not before an offer. */
uint64_t delivery_next_ns(const struct delivery *d, uint64_t now);

/*
 * The agent ends: sends for at most this long what servers take at once. The rest stays in the
 * spool.
 */
void delivery_finish(struct delivery *d, int timeout_ms);

/* Returns the figures; valid until delivery_set_exporters() or delivery_free(). */
const struct delivery_counts *delivery_counts(const struct delivery *d, size_t exporter);
void delivery_state(const struct delivery *d, size_t exporter, struct delivery_state *out);
const struct spool_dir *delivery_spool(const struct delivery *d);
/* Returns how many senders have ended and were replaced. */
uint64_t delivery_senders_lost(const struct delivery *d);

#endif
