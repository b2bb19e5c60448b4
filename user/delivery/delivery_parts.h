/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* delivery_parts.h - what the files of the delivery share. For delivery*.c. */
#ifndef TACHBPF_DELIVERY_PARTS_H
#define TACHBPF_DELIVERY_PARTS_H

#include "delivery/delivery.h"
#include "delivery/delivery_queue.h"

struct delivery {
	struct spool_dir *spool;
	uint64_t memory_max;
	struct queue *queues[SENDER_EXPORTERS_MAX];
	size_t cnt;
	struct buf texts;			/* of servers */
	struct sender_server servers[SENDER_EXPORTERS_MAX];
	struct sender sender;
	int epoll;
	uint64_t jobs;				/* numbers that were given */
	uint64_t chance;
	uint64_t sender_again, senders_lost;
	unsigned int sender_failures;		/* in a row */
	uint64_t disk_again;			/* when a disk that took nothing is tried again */
	uint64_t full_until;			/* nothing departs before */
	bool finishing;				/* nothing leaves the spool any more */
	delivery_split_fn split;
	void *ctx;
};

/* ---- delivery_store.c ---- */

/* The request is done: away from queue and spool. */
void delivery_remove(struct delivery *d, struct item *i);
/* It does not arrive: count it, and remove it. */
void delivery_drop(struct delivery *d, struct item *i, enum drop_cause cause);
/* For the spool: an entry makes room for newer ones. ctx: the delivery. */
void delivery_gone(void *ctx, const struct spool_entry *e);
/* What is in memory, with what is in flight. */
uint64_t delivery_memory_bytes(const struct delivery *d);
/* A copy of a request's payload, to be freed, and its info; NULL: it cannot be read. */
void *delivery_copy_payload(struct delivery *d, const struct item *i, struct request_info *info);
/*
 * What waits in memory goes to the spool, what is in flight stays. false: the disk does not take
 * it; what is more than may be in memory is dropped.
 */
bool delivery_all_to_spool(struct delivery *d, struct queue *q);
/* Store a new request: in the spool, else in memory, else it is counted as dropped. */
void delivery_store(struct delivery *d, struct queue *q, const struct request_info *info,
		    const void *payload, size_t len, uint64_t seq);
/* The spool's entries of this queue's exporter that nobody has. 0 or -ENOMEM. */
int delivery_adopt(struct delivery *d, struct queue *q);

/* ---- delivery_sender.c ---- */

/* A number by chance, for pauses. */
uint64_t delivery_chance(struct delivery *d);
/* Is there one exporter that has a server? */
bool delivery_has_servers(const struct delivery *d);
/* Start a sender, if there is none, somebody needs it, and it is time. */
void delivery_start_sender(struct delivery *d, uint64_t now);
void delivery_end_sender(struct delivery *d);
/* What was in flight has no answer, and is sent again. */
void delivery_land_all(struct delivery *d, uint64_t now);
/* End a sender that cannot be used: why, for the log. */
void delivery_lose_sender(struct delivery *d, uint64_t now, const char *why);

/* ---- delivery_answer.c ---- */

/* Take all answers that are there; a sender that has ended, or lies, is lost. */
void delivery_take_answers(struct delivery *d, uint64_t now);

#endif
