/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* delivery_parts.h - what the files of the delivery share. For delivery*.c. */
#ifndef TACHBPF_DELIVERY_PARTS_H
#define TACHBPF_DELIVERY_PARTS_H

#include "delivery/delivery.h"
#include "delivery/delivery_queue.h"
#include "delivery/spool_draft.h"

struct delivery {
	struct spool_dir *spool;
	struct spool_draft draft;
	bool draft_failed;			/* the last one could not be written */
	uint64_t memory_max, max_age_ns;
	struct queue *queues[SENDER_EXPORTERS_MAX];
	size_t cnt;
	struct buf texts;			/* of servers */
	struct sender_server servers[SENDER_EXPORTERS_MAX];
	struct sender sender;
	int epoll;
	uint64_t jobs;				/* last job number */
	uint64_t chance;
	uint64_t sender_again, senders_lost;
	unsigned int sender_failures;		/* consecutive */
	uint64_t disk_again;			/* when to retry a disk that took nothing */
	uint64_t full_until;			/* nothing is sent before */
	bool finishing;				/* nothing leaves the spool any more */
	delivery_split_fn split;
	void *ctx;
};

/* ---- delivery_store.c ---- */

/* The request is done: removes it from queue and spool. */
void delivery_remove(struct delivery *d, struct item *i);
/* It does not arrive: counts and removes it. */
void delivery_drop(struct delivery *d, struct item *i, enum drop_cause cause);
/* For the spool: an entry makes room for newer ones. ctx: the delivery. */
void delivery_gone(void *ctx, const struct spool_entry *e);
/* Returns a copy of a request's payload, to be freed, and its info; NULL: unreadable. */
void *delivery_copy_payload(struct delivery *d, const struct item *i, struct request_info *info);
/*
 * Moves requests that wait in memory to the spool, except those in flight. false: the disk does not
 * take them; those beyond the limit of memory are dropped.
 */
bool delivery_all_to_spool(struct delivery *d, struct queue *q);
/* Stores a new request: in the spool, or else in memory; otherwise it is counted as dropped. */
void delivery_store(struct delivery *d, struct queue *q, const struct request_info *info,
		    const void *payload, size_t len, uint64_t seq);
/* Takes the spool's entries of this queue's exporter that have no owner. Returns 0 or -ENOMEM. */
int delivery_adopt(struct delivery *d, struct queue *q);

/* ---- delivery_sender.c ---- */

/* Returns a random number, for pauses. */
uint64_t delivery_chance(struct delivery *d);
/* Returns true if at least one exporter has a server. */
bool delivery_has_servers(const struct delivery *d);
/* Starts a sender, if there is none, one is needed, and it is time. */
void delivery_start_sender(struct delivery *d, uint64_t now);
void delivery_end_sender(struct delivery *d);
/* Requests in flight will not be answered, and are sent again. */
void delivery_land_all(struct delivery *d, uint64_t now);
/* Ends a sender that cannot be used: why, for the log. */
void delivery_lose_sender(struct delivery *d, uint64_t now, const char *why);

/* ---- delivery_answer.c ---- */

/* Takes all available answers; a sender that has ended, or sends invalid ones, is lost. */
void delivery_take_answers(struct delivery *d, uint64_t now);

#endif
