// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery_sender.c - the sending process: its start, its end, and its replacement. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "delivery/delivery_parts.h"

/* A sender that has ended is replaced after this time, twice as long after each further one. */
#define SENDER_PAUSE_NS 1000000000ull
#define SENDER_DOUBLINGS 6

uint64_t delivery_chance(struct delivery *d)
{
	d->chance = hash_u64(d->chance + 1);
	return d->chance;
}

void delivery_end_sender(struct delivery *d)
{
	if (!sender_is_running(&d->sender))
		return;
	epoll_ctl(d->epoll, EPOLL_CTL_DEL, sender_fd(&d->sender), NULL);
	sender_end(&d->sender);
}

bool delivery_has_servers(const struct delivery *d)
{
	size_t q;

	for (q = 0; q < d->cnt; q++)
		if (!d->queues[q]->held)
			return true;
	return false;
}

void delivery_start_sender(struct delivery *d, uint64_t now)
{
	struct epoll_event ev = { .events = EPOLLIN };
	unsigned int doublings = d->sender_failures;
	int err;

	if (sender_is_running(&d->sender) || now < d->sender_again || !delivery_has_servers(d))
		return;
	d->sender_failures += d->sender_failures < SENDER_DOUBLINGS;
	d->sender_again = now + (SENDER_PAUSE_NS << doublings);
	err = sender_start(&d->sender, d->servers, d->cnt);
	if (!err && epoll_ctl(d->epoll, EPOLL_CTL_ADD, sender_fd(&d->sender), &ev)) {
		err = -errno;
		sender_end(&d->sender);
	}
	if (err)
		log_warn("cannot start the process that sends to servers: %s; requests are kept in "
			 "the spool", strerror(-err));
}

void delivery_land_all(struct delivery *d, uint64_t now)
{
	struct item *i;
	size_t q, f;

	for (q = 0; q < d->cnt; q++)
		for (f = 0; f < DELIVERY_TRANSFERS_MAX; f++) {
			i = d->queues[q]->flights[f];
			if (!i)
				continue;
			i->queue->counts.lost_answers++;
			i->queue->counts.retried++;
			queue_failed(i->queue, i->started, now, 0, delivery_chance(d));
			queue_land(i);
		}
	for (q = 0; q < d->cnt; q++)
		delivery_all_to_spool(d, d->queues[q]);
}

void delivery_lose_sender(struct delivery *d, uint64_t now, const char *why)
{
	log_warn("the process that sends to servers %s; it is being restarted", why);
	d->senders_lost++;
	delivery_end_sender(d);
	delivery_land_all(d, now);
}
