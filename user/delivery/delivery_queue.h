/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * delivery_queue.h - one exporter's requests in their order, those in flight, and when to try the
 * server again. For delivery.c. Knows no sender and no clock.
 */
#ifndef TACHBPF_DELIVERY_QUEUE_H
#define TACHBPF_DELIVERY_QUEUE_H

#include <sys/queue.h>

#include "delivery/delivery.h"

/* After this many refusals of a request by the server, others go first. */
#define TRIES_FIRST 5
/* What a server does again and again is logged once in this time, with a count. */
#define SAY_AGAIN_NS (600 * NS_PER_S)
/* But not a server that takes nothing for this long. */
#define SAY_LASTS_NS (60 * NS_PER_S)

struct queue;

/* A request: in the spool, or in memory. */
struct item {
	TAILQ_ENTRY(item) link;		/* from old to new, by seq */
	struct queue *queue;
	struct spool_entry *entry;	/* NULL: it is in memory */
	struct request_info *info;	/* in memory only; the item's */
	int fd;				/* the payload in memory: a sealed file; -1: none */
	uint64_t seq;			/* its number in the spool */
	uint64_t bytes, samples, weight, created_ns;
	uint32_t tries;			/* how often the server has refused it */
	bool passed;			/* others go first */
	uint64_t again;			/* passed: when it is tried while others are taken */
	uint64_t job;			/* 0: not in flight */
	uint64_t started, deadline;	/* of its transfer */
	uint64_t cpu_ns;		/* used by the sender at departure or last check */
};

/* What was logged, to be logged again with a count. Zero-initialised: nothing. */
struct said {
	uint64_t again;			/* not before this time */
	uint64_t times;			/* it happened since the last message */
};

struct queue {
	char *name;
	uint32_t timeout_ms, transfers;
	bool held;			/* there is no server */
	uint64_t pause_ns, pause_max_ns;
	TAILQ_HEAD(item_list, item) items;
	struct item *flights[DELIVERY_TRANSFERS_MAX];	/* NULL: free */
	size_t cnt, flight_cnt, spooled_cnt;
	uint64_t bytes, memory_bytes;
	uint32_t failures;		/* consecutive; 0: the server takes requests */
	uint64_t failing_since;		/* time of the first of these failures */
	uint64_t failed, again;		/* time of the last failure, and of the next try */
	struct said said_failing, said_refused;
	bool says_failing;		/* the log's last word is that it takes nothing */
	uint32_t last_status, last_cause;
	char last_text[SENDER_TEXT_BYTES];
	struct delivery_counts counts;
};

/* Returns 0 or -ENOMEM. queue: zero, or one that gets other settings. */
int queue_set_up(struct queue *q, const struct delivery_exporter *e);

/* Creates an item in memory; queue_free_item() frees what it owns. Returns NULL without memory. */
struct item *queue_new_memory(struct queue *q, uint64_t seq, const struct request_info *info,
			      const void *payload, size_t len);
/* Creates an item of the spool. Returns NULL without memory. */
struct item *queue_new_spooled(struct queue *q, struct spool_entry *e);
/* It is in the spool from now on. */
void queue_now_spooled(struct item *i, struct spool_entry *e);
/* Returns the oldest item that is in memory and not in flight, or NULL. */
struct item *queue_oldest_in_memory(const struct queue *q);
/* Removes it from its queue, and frees it; its entry stays. */
void queue_free_item(struct item *i);

/* Counts a request, or takes over its figures. */
void queue_count(struct delivery_sum *sum, const struct item *i);

/* Returns the next request to be sent now, or NULL. */
struct item *queue_next(const struct queue *q, uint64_t now);
/* Returns when there may be one; UINT64_MAX: not before another request or answer. */
uint64_t queue_next_ns(const struct queue *q);
/* It is in flight from now on, or no longer. */
void queue_depart(struct item *i, uint64_t job, uint64_t now, uint64_t grace_ns);
void queue_land(struct item *i);
struct item *queue_find(const struct queue *q, uint64_t job);

/* The server takes requests; after failures, those that it has refused are due, too. */
void queue_is_well(struct queue *q);
/* The server may be another one: also forgets what was logged. */
void queue_reset(struct queue *q);
/*
 * A transfer that began at this time has failed: pauses. after_ns: at least. chance: any number.
 */
void queue_failed(struct queue *q, uint64_t started, uint64_t now, uint64_t after_ns,
		  uint64_t chance);
/*
 * The server has answered, and refused this request. Returns true if it is the request's fault
 * alone: it has been refused before, and others are taken; then only it pauses.
 */
bool queue_refused(struct item *i, uint64_t now, uint64_t after_ns, uint64_t chance);

#endif
