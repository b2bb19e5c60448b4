// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery_queue.c - see delivery_queue.h. */
#include "delivery/delivery_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/time.h"

#define DOUBLINGS_MAX 20

int queue_set_up(struct queue *q, const struct delivery_exporter *e)
{
	if (!q->name) {
		TAILQ_INIT(&q->items);
		q->name = strdup(e->name);
	}
	if (!q->name)
		return -ENOMEM;
	q->held = !e->server.url;
	q->timeout_ms = e->timeout_ms ? e->timeout_ms : 30000;
	q->transfers = e->transfers ? e->transfers : 4;
	if (q->transfers > DELIVERY_TRANSFERS_MAX)
		q->transfers = DELIVERY_TRANSFERS_MAX;
	q->pause_ns = e->pause_ns ? e->pause_ns : NS_PER_S;
	q->pause_max_ns = e->pause_max_ns ? e->pause_max_ns : 60 * NS_PER_S;
	return 0;
}

/* ---- items ---- */

/* In the order of numbers: almost always the newest. */
static void link_item(struct item *i)
{
	struct queue *q = i->queue;
	struct item *older = TAILQ_LAST(&q->items, item_list);

	while (older && older->seq > i->seq)
		older = TAILQ_PREV(older, item_list, link);
	if (older)
		TAILQ_INSERT_AFTER(&q->items, older, i, link);
	else
		TAILQ_INSERT_HEAD(&q->items, i, link);
	q->cnt++;
	q->bytes += i->bytes;
}

/* Makes an immutable file in memory. Returns -1 without memory. */
static int memory_file(const void *payload, size_t len)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	int fd = memfd_create("tachbpf-request", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && (write_all(fd, payload, len) || fcntl(fd, F_ADD_SEALS, seals))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

struct item *queue_new_memory(struct queue *q, uint64_t seq, const struct request_info *info,
			      const void *payload, size_t len)
{
	struct item *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	*i = (struct item){
		.queue = q, .seq = seq, .bytes = len, .samples = info->samples,
		.weight = info->weight, .created_ns = info->created_ns,
		.fd = memory_file(payload, len), .info = malloc(sizeof(*info)),
	};
	if (i->fd < 0 || !i->info) {
		if (i->fd >= 0)
			close(i->fd);
		free(i->info);
		free(i);
		return NULL;
	}
	*i->info = *info;
	link_item(i);
	q->memory_bytes += len;
	return i;
}

struct item *queue_new_spooled(struct queue *q, struct spool_entry *e)
{
	struct item *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	*i = (struct item){
		.queue = q, .seq = e->seq, .bytes = e->payload_bytes, .samples = e->samples,
		.weight = e->weight, .created_ns = e->created_ns, .fd = -1, .entry = e,
	};
	e->owner = i;
	link_item(i);
	q->spooled_cnt++;
	return i;
}

static void forget_memory(struct item *i)
{
	if (i->fd < 0)
		return;
	close(i->fd);
	free(i->info);
	i->queue->memory_bytes -= i->bytes;
	i->fd = -1;
	i->info = NULL;
}

void queue_now_spooled(struct item *i, struct spool_entry *e)
{
	forget_memory(i);
	i->entry = e;
	e->owner = i;
	i->queue->spooled_cnt++;
}

struct item *queue_oldest_in_memory(const struct queue *q)
{
	struct item *i = q->memory_bytes ? TAILQ_FIRST(&q->items) : NULL;

	while (i && (i->fd < 0 || i->job))
		i = TAILQ_NEXT(i, link);
	return i;
}

void queue_free_item(struct item *i)
{
	struct queue *q = i->queue;

	queue_land(i);
	forget_memory(i);
	TAILQ_REMOVE(&q->items, i, link);
	q->cnt--;
	q->bytes -= i->bytes;
	if (i->entry) {
		i->entry->owner = NULL;
		q->spooled_cnt--;
	}
	free(i);
}

void queue_count(struct delivery_sum *sum, const struct item *i)
{
	sum->requests++;
	sum->samples = add_capped(sum->samples, i->samples);
	sum->weight = add_capped(sum->weight, i->weight);
}

/* ---- scheduling ---- */

/* Returns how many may be in flight: one while it is unknown whether the server takes any. */
static size_t flights_allowed(const struct queue *q)
{
	return q->failures ? 1 : q->transfers;
}

/* Returns the oldest that is not in flight and has not let others go first; else the oldest. */
static struct item *oldest_waiting(const struct queue *q)
{
	struct item *i, *passed = NULL;

	TAILQ_FOREACH(i, &q->items, link) {
		if (i->job)
			continue;
		if (!i->passed)
			return i;
		if (!passed)
			passed = i;
	}
	return passed;
}

struct item *queue_next(const struct queue *q, uint64_t now)
{
	if (q->held || q->flight_cnt >= flights_allowed(q) || now < q->again)
		return NULL;
	return oldest_waiting(q);
}

uint64_t queue_next_ns(const struct queue *q)
{
	if (q->held || q->flight_cnt >= flights_allowed(q) || q->cnt == q->flight_cnt)
		return UINT64_MAX;
	return q->again;
}

void queue_depart(struct item *i, uint64_t job, uint64_t now, uint64_t grace_ns)
{
	struct queue *q = i->queue;
	size_t f = 0;

	while (q->flights[f])
		f++;
	q->flights[f] = i;
	q->flight_cnt++;
	i->job = job;
	i->started = now;
	i->deadline = now + q->timeout_ms * 1000000ull + grace_ns;
	if (i->entry)
		i->entry->busy = true;
}

void queue_land(struct item *i)
{
	struct queue *q = i->queue;
	size_t f = 0;

	if (!i->job)
		return;
	while (q->flights[f] != i)
		f++;
	q->flights[f] = NULL;
	q->flight_cnt--;
	i->job = 0;
	if (i->entry)
		i->entry->busy = false;
}

struct item *queue_find(const struct queue *q, uint64_t job)
{
	size_t f;

	for (f = 0; f < DELIVERY_TRANSFERS_MAX; f++)
		if (q->flights[f] && q->flights[f]->job == job)
			return q->flights[f];
	return NULL;
}

void queue_is_well(struct queue *q)
{
	q->failures = 0;
	q->again = 0;
}

/* Half of the pause is fixed, so that not all hosts come back at once. */
static uint64_t pause_of(const struct queue *q, uint64_t chance)
{
	uint32_t doublings = q->failures - 1 < DOUBLINGS_MAX ? q->failures - 1 : DOUBLINGS_MAX;
	uint64_t ns = q->pause_ns << doublings;

	if (ns > q->pause_max_ns || ns >> doublings != q->pause_ns)
		ns = q->pause_max_ns;
	return ns / 2 + chance % (ns / 2 + 1);
}

void queue_failed(struct queue *q, uint64_t started, uint64_t now, uint32_t after_ms,
		  uint64_t chance)
{
	uint64_t until, asked = after_ms * 1000000ull;

	/* Failures of simultaneous transfers count as one. */
	if (!q->failures || started >= q->failed) {
		q->failures += q->failures < UINT32_MAX;
		q->failed = now;
	}
	until = pause_of(q, chance);
	until = now + (until > asked ? until : asked);
	if (until > q->again)
		q->again = until;
}
