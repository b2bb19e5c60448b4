// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery_answer.c - what happens to a request, by its server's answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/delivery_parts.h"
#include "base/arith.h"

static void say_failing(struct queue *q, const struct sender_answer *a)
{
	bool same = a->status == q->last_status && a->cause == q->last_cause;

	if (a->result == SEND_RETRY && !q->failures)
		log_warn("exporter %s: the server does not accept requests (%s %u: %s); they are "
			 "kept in the "
			 "spool", q->name, send_cause_name(a->cause), a->status, a->text);
	else if (a->result == SEND_DONE && !same)
		log_warn("exporter %s: the server accepted a request except for %llu profiles: %s",
			 q->name, (unsigned long long)a->rejected, a->text);
	else if (a->result != SEND_RETRY && !same)
		log_warn("exporter %s: the server rejected a request (status %u: %s)", q->name,
			 a->status, a->text);
	q->last_status = a->status;
	q->last_cause = a->cause;
	memcpy(q->last_text, a->text, sizeof(q->last_text));
}

static void retry_item(struct delivery *d, struct item *i, const struct sender_answer *a,
		       uint64_t now)
{
	struct queue *q = i->queue;

	q->counts.retried++;
	queue_failed(q, i->started, now, a->retry_after_ms, delivery_chance(d));
	queue_land(i);
	if (a->cause == CAUSE_STATUS && a->status != 429)
		i->passed |= ++i->tries >= TRIES_FIRST;
	delivery_all_to_spool(d, q);
}

static void split_item(struct delivery *d, size_t exporter, struct item *i)
{
	struct queue *q = i->queue;
	struct request_info info;
	void *payload = d->split ? delivery_copy_payload(d, i, &info) : NULL;

	if (!payload || d->split(d->ctx, d, exporter, &info, payload, i->bytes)) {
		delivery_drop(d, i, DROP_TOO_LARGE);
	} else {
		queue_count(&q->counts.split, i);
		delivery_remove(d, i);
	}
	free(payload);
}

static void take_success(struct delivery *d, struct item *i, const struct sender_answer *a)
{
	struct queue *q = i->queue;

	queue_count(&q->counts.sent, i);
	q->counts.rejected_profiles = add_capped(q->counts.rejected_profiles, a->rejected);
	if (a->rejected)
		say_failing(q, a);
	delivery_remove(d, i);
}

static void take_answer(struct delivery *d, size_t exporter, struct item *i,
			const struct sender_answer *a, uint64_t now)
{
	struct queue *q = i->queue;

	q->counts.sent_bytes = add_capped(q->counts.sent_bytes, a->sent_bytes);
	if (a->result != SEND_DONE) {
		q->counts.failures[a->cause]++;
		say_failing(q, a);
	}
	if (a->result == SEND_RETRY) {
		retry_item(d, i, a, now);
		return;
	}
	if (q->failures)
		log_info("exporter %s: the server accepts requests again", q->name);
	queue_is_well(q);
	if (a->result == SEND_DONE) {
		take_success(d, i, a);
	} else if (a->result == SEND_TOO_LARGE) {
		split_item(d, exporter, i);	/* stays in flight: its parts do not push it out */
	} else {
		delivery_drop(d, i, a->status / 100 == 3 ? DROP_REDIRECTED : DROP_REFUSED);
	}
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
