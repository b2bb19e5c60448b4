// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery.c - see delivery.h: what is sent when. */
#include "delivery/delivery.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "delivery/delivery_parts.h"

/*
 * A sender is checked if it has not answered for this long after a transfer's timeout. If it has
 * not run since then, or has used this much CPU time, it hangs. Otherwise it lacks a CPU, and is
 * checked again, up to a limit.
 */
#define GRACE_NS 5000000000ull
#define GRACE_MAX_NS 60000000000ull
#define DISK_PAUSE_NS 10000000000ull
/* The pause if a sender's socket, or a table of files, is full. */
#define FULL_PAUSE_NS 100000000ull

/* Returns 0: in flight; -EBADMSG: it is gone; -EAGAIN: not now; -EPIPE: there is no sender. */
static int send_item(struct delivery *d, size_t exporter, struct item *i, uint64_t now)
{
	struct request_info info;
	struct sender_job job = {
		.id = d->jobs + 1, .exporter = (uint32_t)exporter, .length = i->bytes,
		.timeout_ms = i->queue->timeout_ms, .fd = i->fd, .info = i->info,
	};
	int err;

	if (i->entry) {
		job.fd = spool_dir_get(d->spool, i->entry, &info);
		job.offset = i->entry->head_bytes;
		job.info = &info;
		if (job.fd == -EMFILE || job.fd == -ENFILE || job.fd == -ENOMEM)
			return -EAGAIN;
		if (job.fd < 0) {
			delivery_drop(d, i, DROP_DAMAGED);
			return -EBADMSG;
		}
	}
	i->cpu_ns = sender_cpu_ns(&d->sender);
	err = sender_send(&d->sender, &job);
	if (i->entry)
		close(job.fd);
	if (err)
		return err == -EAGAIN ? err : -EPIPE;
	d->jobs++;
	queue_depart(i, job.id, now, GRACE_NS);
	return 0;
}

/* An ending agent does not try again what a server does not take: it stays in the spool. */
static bool gives_up(const struct delivery *d, const struct queue *q)
{
	return d->finishing && q->failures;
}

/* Has a request waited too long? A clock that was put back makes nothing old. */
static bool is_old(const struct delivery *d, uint64_t created_ns, uint64_t wall)
{
	return wall > created_ns && wall - created_ns > d->max_age_ns;
}

/* Entries whose exporter is not configured have no item. */
static void drop_old_strangers(struct delivery *d, uint64_t wall)
{
	struct spool_entry *e = spool_dir_oldest(d->spool), *next;
	uint64_t cnt = 0, samples = 0;

	for (; e && is_old(d, e->created_ns, wall); e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->owner)
			continue;
		cnt++;
		samples += e->samples;
		spool_dir_remove(d->spool, e);
	}
	if (cnt)
		log_warn("%llu requests with %llu samples were dropped: they have waited longer "
			 "than spool.max_age, and their exporter is not configured",
			 (unsigned long long)cnt, (unsigned long long)samples);
}

static void drop_old(struct delivery *d, uint64_t wall)
{
	struct item *i, *next;
	size_t q;

	if (!d->max_age_ns)
		return;
	for (q = 0; q < d->cnt; q++)
		for (i = TAILQ_FIRST(&d->queues[q]->items); i; i = next) {
			next = TAILQ_NEXT(i, link);
			if (!is_old(d, i->created_ns, wall))
				break;
			if (!i->job)
				delivery_drop(d, i, DROP_TOO_OLD);
		}
	drop_old_strangers(d, wall);
}

static void depart_all(struct delivery *d, uint64_t now)
{
	struct item *i;
	int err = 0;
	size_t q;

	for (q = 0; q < d->cnt && sender_is_running(&d->sender) && now >= d->full_until; q++) {
		while (!gives_up(d, d->queues[q]) && (i = queue_next(d->queues[q], now))) {
			err = send_item(d, q, i, now);
			if (err && err != -EBADMSG)
				break;
		}
		if (err == -EAGAIN)
			d->full_until = now + FULL_PAUSE_NS;
		if (err == -EPIPE)
			delivery_lose_sender(d, now, "has ended");
	}
}

int delivery_offer(struct delivery *d, size_t exporter, const struct request_info *info,
		   const void *payload, size_t len, uint64_t now)
{
	struct request_info its = *info;
	struct item *i;
	struct queue *q;

	if (exporter >= d->cnt)
		return -EINVAL;
	q = d->queues[exporter];
	strcpy(its.exporter, q->name);
	its.created_ns = wall_ns();
	if (request_info_check(&its))
		return -EINVAL;
	queue_count(&q->counts.offered, &(struct item){ .samples = its.samples,
							.weight = its.weight });
	delivery_store(d, q, &its, payload, len, spool_dir_take_seq(d->spool));
	i = queue_next(q, now);
	if (i && i == TAILQ_LAST(&q->items, item_list) && sender_is_running(&d->sender))
		send_item(d, exporter, i, now);	/* if that fails, delivery_tick() sees why */
	return 0;
}

/* ---- windows that are not finished ---- */

int delivery_pack(const struct delivery *d, size_t exporter, const struct request_info *info,
		  const void *payload, size_t len, struct buf *set)
{
	struct request_info its = *info;
	uint8_t head[SPOOL_HEAD_MAX];
	size_t head_len;
	int err;

	if (exporter >= d->cnt)
		return -EINVAL;
	strcpy(its.exporter, d->queues[exporter]->name);
	its.created_ns = wall_ns();
	err = spool_entry_head(head, &head_len, &its, payload, len);
	if (!err)
		err = buf_add(set, head, head_len);
	return err ? err : buf_add(set, payload, len);
}

void delivery_draft(struct delivery *d, const struct buf *set, uint64_t samples)
{
	int err = spool_draft_write(&d->draft, set->data, set->len, samples);

	if (err && !d->draft_failed)
		log_warn("cannot write the open window to the spool: %s; kill -9 would lose it",
			 strerror(-err));
	d->draft_failed = err;
}

void delivery_meter(struct delivery *d, uint64_t samples)
{
	spool_draft_meter(&d->draft, samples);
}

void delivery_offer_set(struct delivery *d, const struct buf *set, uint64_t now)
{
	const uint8_t *p = set->data, *end = p + set->len;
	struct request_info info;
	struct spool_sizes sizes;
	size_t exporter;

	for (; p < end; p += sizes.head_bytes + sizes.payload_bytes) {
		if (spool_entry_parse(p, (size_t)(end - p), &info, &sizes) ||
		    sizes.payload_bytes > (uint64_t)(end - p) - sizes.head_bytes)
			break;
		for (exporter = 0; exporter < d->cnt; exporter++)
			if (!strcmp(d->queues[exporter]->name, info.exporter))
				break;
		delivery_offer(d, exporter, &info, p + sizes.head_bytes, sizes.payload_bytes, now);
	}
	delivery_draft(d, &(struct buf){ 0 }, 0);
}

/* Returns true if a transfer is overdue, and not because the sender lacks CPU time. */
static bool sender_hangs(struct delivery *d, uint64_t now)
{
	uint64_t cpu, used, last;
	struct item *i;
	size_t q, f;

	for (q = 0; q < d->cnt; q++)
		for (f = 0; f < DELIVERY_TRANSFERS_MAX; f++) {
			i = d->queues[q]->flights[f];
			if (!i || now < i->deadline)
				continue;
			cpu = sender_cpu_ns(&d->sender);
			used = cpu - i->cpu_ns;	/* huge if it has ended */
			last = i->started + i->queue->timeout_ms * 1000000ull + GRACE_MAX_NS;
			if (!used || used >= GRACE_NS || now >= last)
				return true;
			i->cpu_ns = cpu;
			i->deadline = now + GRACE_NS;
		}
	return false;
}

/* Spools requests that the disk did not take. */
static void spool_waiting(struct delivery *d, uint64_t now)
{
	size_t q;

	for (q = 0; q < d->cnt; q++)
		if (now >= d->disk_again && queue_oldest_in_memory(d->queues[q]) &&
		    !delivery_all_to_spool(d, d->queues[q]))
			d->disk_again = now + DISK_PAUSE_NS;
}

void delivery_tick(struct delivery *d, uint64_t now)
{
	if (sender_is_running(&d->sender))
		delivery_take_answers(d, now);
	if (sender_is_running(&d->sender) && sender_hangs(d, now))
		delivery_lose_sender(d, now, "does not answer");
	delivery_start_sender(d, now);
	drop_old(d, wall_ns());
	depart_all(d, now);
	spool_waiting(d, now);
}

uint64_t delivery_next_ns(const struct delivery *d, uint64_t now)
{
	bool running = sender_is_running(&d->sender);
	uint64_t next = running || !delivery_has_servers(d) ? UINT64_MAX : d->sender_again, its;
	const struct item *waits;
	const struct queue *q;
	size_t i, f;

	for (i = 0; i < d->cnt; i++) {
		q = d->queues[i];
		waits = queue_oldest_in_memory(q);
		its = waits ? d->disk_again : UINT64_MAX;
		next = its < next ? its : next;
		its = running && !gives_up(d, q) ? queue_next_ns(q) : UINT64_MAX;
		its = its > d->full_until ? its : d->full_until;
		next = its < next ? its : next;
		for (f = 0; f < DELIVERY_TRANSFERS_MAX; f++)
			if (q->flights[f] && q->flights[f]->deadline < next)
				next = q->flights[f]->deadline;
	}
	return next < now ? now : next;
}

int delivery_fd(const struct delivery *d)
{
	return d->epoll;
}

/* Returns true if an ending agent waits for an answer or for a request to be sent. */
static bool is_pending(const struct delivery *d, uint64_t now)
{
	size_t q;

	for (q = 0; q < d->cnt; q++)
		if (d->queues[q]->flight_cnt ||
		    (!gives_up(d, d->queues[q]) && queue_next(d->queues[q], now)))
			return true;
	return false;
}

void delivery_finish(struct delivery *d, int timeout_ms)
{
	uint64_t now = now_ns(), end = now + timeout_ms * 1000000ull, next;
	struct pollfd p = { .fd = d->epoll, .events = POLLIN };

	d->finishing = true;
	for (; now < end && is_pending(d, now); now = now_ns()) {
		delivery_tick(d, now);
		next = delivery_next_ns(d, now);
		if (is_pending(d, now))
			poll(&p, 1, (int)(((next < end ? next : end) - now) / 1000000 + 1));
	}
}
