// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery_answer.c - what happens to a request, by its server's answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/delivery_parts.h"

#define TIMES_BYTES 64
/* Returns what to add to a message: "" if it happened once since the last one. */
static const char *times_text(const struct said *s, char out[TIMES_BYTES])
{
	out[0] = '\0';
	if (s->times > 1)
		snprintf(out, TIMES_BYTES, "; %llu times since the last message",
			 (unsigned long long)s->times);
	return out;
}

/* It is logged now. */
static void was_said(struct said *s, uint64_t now)
{
	s->again = now + SAY_AGAIN_NS;
	s->times = 0;
}

/* Another request was refused for good, or taken in part. */
static void say_refused(struct queue *q, const struct sender_answer *a, uint64_t now)
{
	bool same = a->status == q->last_status && a->cause == q->last_cause;
	char times[TIMES_BYTES];

	q->said_refused.times++;
	if (now < q->said_refused.again && (same || q->said_refused.times > 1))
		return;
	times_text(&q->said_refused, times);
	if (a->result == SEND_DONE)
		log_warn("exporter %s: the server accepted a request except for %llu profiles: "
			 "%s%s", q->name, (unsigned long long)a->rejected, a->text, times);
	else
		log_warn("exporter %s: the server rejected a request (status %u: %s)%s", q->name,
			 a->status, a->text, times);
	was_said(&q->said_refused, now);
}

/* A failure after which the queue pauses was counted. A server that flaps is logged once. */
static void say_failing(struct queue *q, const struct sender_answer *a, uint64_t now)
{
	char times[TIMES_BYTES];

	if (q->says_failing ||
	    (now < q->said_failing.again && now < q->failing_since + SAY_LASTS_NS))
		return;
	log_warn("exporter %s: the server does not accept requests (%s %u: %s); they are kept in "
		 "the spool%s", q->name, send_cause_name(a->cause), a->status, a->text,
		 times_text(&q->said_failing, times));
	was_said(&q->said_failing, now);
	q->says_failing = true;
}

static void say_well(struct queue *q)
{
	if (q->says_failing)
		log_info("exporter %s: the server accepts requests again", q->name);
	q->says_failing = false;
}

static void keep_item(struct delivery *d, struct item *i, const struct sender_answer *a,
		      uint64_t now)
{
	struct queue *q = i->queue;
	uint64_t after = a->retry_after_ms * 1000000ull, chance = delivery_chance(d);

	if (a->result == SEND_DENIED && after < q->pause_max_ns)
		after = q->pause_max_ns;
	q->counts.retried++;
	if (a->cause != CAUSE_STATUS || !queue_refused(i, now, after, chance)) {
		q->said_failing.times += !q->failures;
		queue_failed(q, i->started, now, after, chance);
		say_failing(q, a, now);
	}
	queue_land(i);
	delivery_all_to_spool(d, q);
}

static void split_item(struct delivery *d, size_t exporter, struct item *i,
		       const struct sender_answer *a, uint64_t now)
{
	struct queue *q = i->queue;
	struct request_info info;
	void *payload = d->split ? delivery_copy_payload(d, i, &info) : NULL;

	if (!payload || d->split(d->ctx, d, exporter, &info, payload, i->bytes)) {
		say_refused(q, a, now);
		delivery_drop(d, i, DROP_TOO_LARGE);
	} else {
		queue_count(&q->counts.split, i);
		delivery_remove(d, i);
	}
	free(payload);
}

/* The server has taken it, or will never take it as it is. */
static void end_item(struct delivery *d, size_t exporter, struct item *i,
		     const struct sender_answer *a, uint64_t now)
{
	struct queue *q = i->queue;

	if (a->result == SEND_TOO_LARGE) {
		split_item(d, exporter, i, a, now);	/* in flight: parts do not push it out */
		return;
	}
	if (a->result == SEND_DROP || a->rejected)
		say_refused(q, a, now);
	if (a->result == SEND_DROP) {
		delivery_drop(d, i, DROP_REFUSED);
		return;
	}
	queue_count(&q->counts.sent, i);
	/* A profile has a sample at least. What a server claims beyond that would stay for ever. */
	q->counts.rejected_profiles += a->rejected < i->samples ? a->rejected : i->samples;
	delivery_remove(d, i);
}

/* For the status. */
static void remember(struct queue *q, const struct sender_answer *a)
{
	q->last_status = a->status;
	q->last_cause = a->cause;
	memcpy(q->last_text, a->text, sizeof(q->last_text));
}

static void take_answer(struct delivery *d, size_t exporter, struct item *i,
			const struct sender_answer *a, uint64_t now)
{
	struct queue *q = i->queue;

	q->counts.sent_bytes += a->sent_bytes < i->bytes ? a->sent_bytes : i->bytes;
	q->counts.failures[a->cause] += a->result != SEND_DONE;
	if (send_is_kept(a->result)) {
		keep_item(d, i, a, now);
	} else {
		say_well(q);
		queue_is_well(q);
		end_item(d, exporter, i, a, now);
	}
	if (a->result != SEND_DONE || a->rejected)
		remember(q, a);
}

/* Returns false if nobody waits for this answer. */
static bool find_and_take(struct delivery *d, const struct sender_answer *a, uint64_t now)
{
	struct item *i;
	size_t q;

	for (q = 0; q < d->cnt; q++) {
		i = queue_find(d->queues[q], a->job);
		if (i) {
			take_answer(d, q, i, a, now);
			return true;
		}
	}
	return false;
}

void delivery_take_answers(struct delivery *d, uint64_t now)
{
	struct sender_answer a;
	int got;

	while ((got = sender_receive(&d->sender, &a)) > 0) {
		d->sender_failures = 0;
		if (!find_and_take(d, &a, now)) {
			got = -EBADMSG;
			break;
		}
	}
	if (got == -EBADMSG)
		delivery_lose_sender(d, now, "sent an invalid message");
	else if (got && sender_is_running(&d->sender))
		delivery_lose_sender(d, now, "has ended");
}
