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
/* The longest pause of a request that is refused while others are taken. */
#define PASSED_PAUSE_NS (3600 * NS_PER_S)

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

/* Returns the oldest that is not in flight and need not let others go first, else the soonest. */
static struct item *first_waiting(const struct queue *q)
{
	struct item *i, *passed = NULL;

	TAILQ_FOREACH(i, &q->items, link) {
		if (i->job)
			continue;
		if (!i->passed)
			return i;
		if (!passed || i->again < passed->again)
			passed = i;
	}
	return passed;
}

/* Returns when this one is due: its own pause counts while the server takes others. */
static uint64_t due_ns(const struct queue *q, const struct item *i)
{
	return i->passed && !q->failures && i->again > q->again ? i->again : q->again;
}

static struct item *next_waiting(const struct queue *q)
{
	return q->held || q->flight_cnt >= flights_allowed(q) ? NULL : first_waiting(q);
}

struct item *queue_next(const struct queue *q, uint64_t now)
{
	struct item *i = next_waiting(q);

	return i && now >= due_ns(q, i) ? i : NULL;
}

uint64_t queue_next_ns(const struct queue *q)
{
	const struct item *i = next_waiting(q);

	return i ? due_ns(q, i) : UINT64_MAX;
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
	struct item *i;

	if (q->failures)
		TAILQ_FOREACH(i, &q->items, link)
			i->again = 0;
	q->failures = 0;
	q->again = 0;
}

void queue_reset(struct queue *q)
{
	queue_is_well(q);
	q->said_failing = q->said_refused = (struct said){ 0 };
	q->says_failing = false;
}

/* After so many failures. Half of it is fixed, so that not all hosts come back at once. */
static uint64_t pause_of(uint64_t ns, uint64_t max_ns, uint32_t failures, uint64_t after_ns,
			 uint64_t chance)
{
	uint32_t doublings = failures - 1 < DOUBLINGS_MAX ? failures - 1 : DOUBLINGS_MAX;
	uint64_t pause = ns << doublings;

	if (pause > max_ns || pause >> doublings != ns)
		pause = max_ns;
	pause = pause / 2 + chance % (pause / 2 + 1);
	return pause > after_ns ? pause : after_ns;
}

void queue_failed(struct queue *q, uint64_t started, uint64_t now, uint64_t after_ns,
		  uint64_t chance)
{
	uint64_t until;

	if (!q->failures)
		q->failing_since = now;
	/* Failures of simultaneous transfers count as one. */
	if (!q->failures || started >= q->failed) {
		q->failures += q->failures < UINT32_MAX;
		q->failed = now;
	}
	until = now + pause_of(q->pause_ns, q->pause_max_ns, q->failures, after_ns, chance);
	if (until > q->again)
		q->again = until;
}

bool queue_refused(struct item *i, uint64_t now, uint64_t after_ns, uint64_t chance)
{
	struct queue *q = i->queue;
	bool alone = i->passed && !q->failures;

	i->tries += i->tries < UINT32_MAX;
	if (i->tries < TRIES_FIRST)
		return false;
	i->passed = true;
	i->again = now + pause_of(q->pause_max_ns, PASSED_PAUSE_NS, i->tries - TRIES_FIRST + 1,
				  after_ns, chance);
	return alone;
}
