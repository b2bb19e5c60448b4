// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery_store.c - where requests are: in the spool or in memory, and how they leave it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delivery/delivery_parts.h"

void delivery_remove(struct delivery *d, struct item *i)
{
	struct spool_entry *e = i->entry;

	queue_free_item(i);
	if (e)
		spool_dir_remove(d->spool, e);
}

void delivery_drop(struct delivery *d, struct item *i, enum drop_cause cause)
{
	queue_count(&i->queue->counts.dropped[cause], i);
	delivery_remove(d, i);
}

/* Called by the spool: the entry makes room for newer ones. */
void delivery_gone(void *ctx, const struct spool_entry *e)
{
	struct item *i = e->owner;

	if (!i)		/* its exporter is not configured */
		return;
	queue_count(&i->queue->counts.dropped[DROP_SPOOL_FULL], i);
	queue_free_item(i);
}

/* Returns the bytes in memory, including those in flight. */
static uint64_t memory_bytes(const struct delivery *d)
{
	uint64_t bytes = 0;
	size_t q;

	for (q = 0; q < d->cnt; q++)
		bytes += d->queues[q]->memory_bytes;
	return bytes;
}

/* Returns the oldest request that is in memory and not in flight, or NULL. */
static struct item *oldest_in_memory(const struct delivery *d)
{
	struct item *i, *oldest = NULL;
	size_t q;

	for (q = 0; q < d->cnt; q++) {
		i = queue_oldest_in_memory(d->queues[q]);
		if (i && (!oldest || i->seq < oldest->seq))
			oldest = i;
	}
	return oldest;
}

/* Drop the oldest that are in memory until the rest may be. */
static void delivery_bound_memory(struct delivery *d)
{
	struct item *i;

	while (memory_bytes(d) > d->memory_max && (i = oldest_in_memory(d)))
		delivery_drop(d, i, DROP_MEMORY_FULL);
}

void *delivery_copy_payload(struct delivery *d, const struct item *i, struct request_info *info)
{
	int fd = i->entry ? spool_dir_get(d->spool, i->entry, info) : i->fd;
	uint64_t off = i->entry ? i->entry->head_bytes : 0;
	uint8_t *copy = fd < 0 ? NULL : malloc(i->bytes + 1);
	ssize_t n;

	n = copy ? pread(fd, copy, i->bytes, (off_t)off) : -1;
	if (i->entry && fd >= 0)
		close(fd);
	else if (!i->entry)
		*info = *i->info;
	if (n >= 0 && (uint64_t)n == i->bytes)
		return copy;
	free(copy);
	return NULL;
}

/* A request in memory moves to the spool. */
/* Returns 0: it is no longer in memory; -errno: the disk does not take it. */
static int to_spool(struct delivery *d, struct item *i)
{
	struct request_info info;
	struct spool_entry *e;
	void *payload = delivery_copy_payload(d, i, &info);
	int err = -ENOMEM;

	if (payload)
		err = spool_dir_put(d->spool, i->seq, &info, payload, i->bytes, &e);
	free(payload);
	if (err == -EFBIG)
		delivery_drop(d, i, DROP_TOO_LARGE);
	if (err)
		return err == -EFBIG ? 0 : err;
	queue_now_spooled(i, e);
	i->queue->counts.spooled++;
	return 0;
}

bool delivery_all_to_spool(struct delivery *d, struct queue *q)
{
	struct item *i;
	int err = 0;

	/* A stored request can push out any other: so start over each time. */
	while (!err && (i = queue_oldest_in_memory(q)))
		err = to_spool(d, i);
	delivery_bound_memory(d);
	return !err;
}

int delivery_adopt(struct delivery *d, struct queue *q)
{
	struct spool_entry *e;
	struct item *i;

	for (e = spool_dir_oldest(d->spool); e; e = TAILQ_NEXT(e, link)) {
		if (e->owner || strcmp(spool_dir_exporter(d->spool, e), q->name))
			continue;
		i = queue_new_spooled(q, e);
		if (!i)
			return -ENOMEM;
		queue_count(&q->counts.found, i);
	}
	return 0;
}

/* Into the spool; if the disk does not take it, into memory. */
void delivery_store(struct delivery *d, struct queue *q, const struct request_info *info,
		  const void *payload, size_t len, uint64_t seq)
{
	const struct item lost = { .samples = info->samples, .weight = info->weight };
	struct spool_entry *e;
	int err = spool_dir_put(d->spool, seq, info, payload, len, &e);

	if (err == -EFBIG) {
		queue_count(&q->counts.dropped[DROP_TOO_LARGE], &lost);
		return;
	}
	if (!err && queue_new_spooled(q, e)) {
		q->counts.spooled++;
		return;
	}
	if (!err)
		spool_dir_remove(d->spool, e);
	if (queue_new_memory(q, seq, info, payload, len))
		delivery_bound_memory(d);
	else
		queue_count(&q->counts.dropped[DROP_MEMORY_FULL], &lost);
}
