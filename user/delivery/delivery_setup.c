// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* delivery_setup.c - see delivery.h: its beginning and end, its exporters, its figures. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/time.h"
#include "delivery/delivery_parts.h"
#include "delivery/sender_wire.h"

const char *drop_cause_name(enum drop_cause cause)
{
	static const char *const names[DROP_CAUSES] = {
		[DROP_SPOOL_FULL] = "spool_full", [DROP_MEMORY_FULL] = "memory_full",
		[DROP_REFUSED] = "refused", [DROP_TOO_OLD] = "too_old",
		[DROP_TOO_LARGE] = "too_large", [DROP_DAMAGED] = "damaged",
	};

	return names[cause];
}

static struct queue *find_queue(const struct delivery *d, const char *name)
{
	size_t q;

	for (q = 0; q < d->cnt; q++)
		if (!strcmp(d->queues[q]->name, name))
			return d->queues[q];
	return NULL;
}

/* Returns 0, or -EINVAL after logging it. */
static int check_exporters(const struct delivery_exporter *e, size_t cnt)
{
	struct request_info info = { 0 };
	char why[256] = "", shown[256];
	size_t i, j;

	if (!cnt || cnt > SENDER_EXPORTERS_MAX) {
		log_error("there are %zu exporters; 1 to %u are possible", cnt,
			  SENDER_EXPORTERS_MAX);
		return -EINVAL;
	}
	for (i = 0; i < cnt; i++) {
		snprintf(info.exporter, sizeof(info.exporter), "%s", e[i].name);
		if (request_info_check(&info) || strcmp(info.exporter, e[i].name))
			strcpy(why, "the name is empty, longer than 63 bytes, or has blanks");
		else
			sender_check_server(&e[i].server, why, sizeof(why));
		for (j = 0; j < i; j++)
			if (!strcmp(e[i].name, e[j].name))
				strcpy(why, "another exporter has the same name");
		if (why[0]) {
			escape_text(e[i].name, strlen(e[i].name), shown, sizeof(shown));
			log_error("exporter '%s': %s", shown, why);
			return -EINVAL;
		}
	}
	return 0;
}

static void free_queue(struct delivery *d, struct queue *q)
{
	uint64_t lost = 0;
	struct item *i;

	TAILQ_FOREACH(i, &q->items, link)
		queue_land(i);
	delivery_all_to_spool(d, q);
	while ((i = TAILQ_FIRST(&q->items))) {
		lost += i->fd >= 0;	/* the disk did not take it */
		queue_free_item(i);
	}
	if (lost)
		log_warn("exporter %s: %llu requests were lost: they could not be written to the "
			 "spool",
			 q->name, (unsigned long long)lost);
	free(q->name);
	free(q);
}

/* Keeps old queues that are still named, and creates new ones. 0, or -ENOMEM: none is left. */
static int make_queues(const struct delivery *d, const struct delivery_exporter *e, size_t cnt,
		       struct queue *queues[])
{
	size_t i;

	for (i = 0; i < cnt; i++) {
		queues[i] = find_queue(d, e[i].name);
		if (queues[i])
			continue;
		queues[i] = calloc(1, sizeof(*queues[i]));
		if (!queues[i] || queue_set_up(queues[i], &e[i]))
			break;
	}
	if (i == cnt)
		return 0;
	for (i++; i-- > 0;) {
		if (queues[i] && !(queues[i]->name && find_queue(d, queues[i]->name))) {
			free(queues[i]->name);
			free(queues[i]);
		}
	}
	return -ENOMEM;
}

/* Copies the servers' strings. Returns 0 or -ENOMEM. */
static int copy_servers(struct buf *texts, const struct delivery_exporter *e, size_t cnt)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < cnt; i++)
		err = sender_servers_put(texts, &e[i].server, 1);
	if (err)
		buf_free(texts);
	return err;
}

/* Queues and servers are ready; frees the old ones. */
static void exchange_queues(struct delivery *d, const struct delivery_exporter *e, size_t cnt,
			    struct queue *queues[], struct buf *texts)
{
	struct queue *old[SENDER_EXPORTERS_MAX];
	size_t old_cnt = d->cnt, i;

	memcpy(old, d->queues, sizeof(old));
	memcpy(d->queues, queues, cnt * sizeof(*queues));
	d->cnt = cnt;
	for (i = 0; i < old_cnt; i++)
		if (find_queue(d, old[i]->name) != old[i])
			free_queue(d, old[i]);
	for (i = 0; i < cnt; i++) {
		queue_set_up(d->queues[i], &e[i]);
		queue_reset(d->queues[i]);	/* its server may be another one */
		if (delivery_adopt(d, d->queues[i]))
			log_warn("no memory for the contents of the spool: they are kept until the "
				 "next start");
	}
	if (d->texts.data)
		explicit_bzero(d->texts.data, d->texts.len);
	buf_free(&d->texts);
	d->texts = *texts;
	sender_servers_get(&d->texts, d->servers);
}

int delivery_set_exporters(struct delivery *d, const struct delivery_exporter *exporters,
			   size_t cnt)
{
	struct queue *queues[SENDER_EXPORTERS_MAX];
	struct buf texts = { 0 };
	int err = check_exporters(exporters, cnt);

	if (err)
		return err;
	err = copy_servers(&texts, exporters, cnt);
	if (!err) {
		err = make_queues(d, exporters, cnt, queues);
		if (err)
			buf_free(&texts);
	}
	if (err) {
		log_error("no memory for the exporters");
		return err;
	}
	delivery_end_sender(d);
	d->sender_again = d->sender_failures = 0;
	delivery_land_all(d, 0);
	exchange_queues(d, exporters, cnt, queues, &texts);
	return 0;
}

/* Returns true if the request is an entry of the spool: we were killed after it was offered. */
static bool is_spooled(const struct delivery *d, const struct request_info *info,
		       const struct spool_sizes *sizes)
{
	const struct spool_entry *e;

	for (e = spool_dir_oldest(d->spool); e; e = TAILQ_NEXT(e, link))
		if (e->payload_crc == sizes->payload_crc &&
		    e->payload_bytes == sizes->payload_bytes &&
		    !strcmp(spool_dir_exporter(d->spool, e), info->exporter))
			return true;
	return false;
}

/*
 * The draft's request at p, with at most len bytes, becomes an entry of the spool. Returns its
 * bytes: where the next one begins. *err: why its samples are lost; otherwise as it was.
 */
static size_t take_drafted(struct delivery *d, const uint8_t *p, size_t len, int *err)
{
	struct request_info info;
	struct spool_sizes sizes;
	struct spool_entry *e;
	size_t room;
	int lost = spool_entry_parse(p, len, &info, &sizes);

	if (lost) {
		*err = lost;
		return len;
	}
	p += sizes.head_bytes;
	room = len - sizes.head_bytes;
	if (sizes.payload_bytes > room ||
	    spool_entry_crc(0, p, sizes.payload_bytes) != sizes.payload_crc)
		lost = -EBADMSG;
	else if (!is_spooled(d, &info, &sizes))
		lost = spool_dir_put(d->spool, spool_dir_take_seq(d->spool), &info, p,
				     sizes.payload_bytes, &e);
	if (lost) {
		*err = lost;
		d->draft.killed_samples += info.samples;
	}
	return sizes.payload_bytes > room ? len : sizes.head_bytes + sizes.payload_bytes;
}

/* What the last agent, which was killed, had of its open window becomes entries of the spool. */
static void take_left_draft(struct delivery *d)
{
	struct buf left = { 0 };
	int err = spool_draft_left(&d->draft, &left);
	size_t at = 0, q;

	while (at < left.len)
		at += take_drafted(d, left.data + at, left.len - at, &err);
	if (err)
		log_warn("the open window of the last agent, which was killed, is lost, or a part "
			 "of it: %s", strerror(-err));
	for (q = 0; q < d->cnt; q++)
		delivery_adopt(d, d->queues[q]);
	if (d->draft.killed_samples)
		log_warn("the last agent was killed: %llu samples of its open window are lost",
			 (unsigned long long)d->draft.killed_samples);
	delivery_draft(d, &(struct buf){ 0 }, 0);
	buf_free(&left);
}

int delivery_new(struct delivery **out, const struct delivery_args *args)
{
	struct delivery *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->max_age_ns = args->max_age_ns;
	d->memory_max = args->memory_bytes ? args->memory_bytes : DELIVERY_MEMORY_DEFAULT;
	d->split = args->split;
	d->ctx = args->ctx;
	if (getrandom(&d->chance, sizeof(d->chance), GRND_NONBLOCK) < 0)
		d->chance = now_ns();
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = d->epoll < 0 ? -errno : 0;
	if (!err)
		err = spool_dir_open(&d->spool, args->spool ? args->spool : SPOOL_DIR_DEFAULT,
				     &args->limits, delivery_gone, d);
	if (!err) {
		spool_draft_open(&d->draft, spool_dir_fd(d->spool));
		err = delivery_set_exporters(d, args->exporters, args->exporter_cnt);
	}
	if (err) {
		delivery_free(d);
		return err;
	}
	take_left_draft(d);
	*out = d;
	return 0;
}

void delivery_free(struct delivery *d)
{
	if (!d)
		return;
	delivery_end_sender(d);
	for (; d->cnt; d->cnt--)	/* moving to the spool uses the other queues */
		free_queue(d, d->queues[d->cnt - 1]);
	spool_draft_close(&d->draft);
	spool_dir_close(d->spool);
	if (d->epoll >= 0)
		close(d->epoll);
	if (d->texts.data)
		explicit_bzero(d->texts.data, d->texts.len);
	buf_free(&d->texts);
	free(d->sender.worker.stuck);
	free(d);
}

void delivery_set_limits(struct delivery *d, const struct spool_limits *limits,
			 uint64_t max_age_ns)
{
	d->max_age_ns = max_age_ns;
	spool_dir_set_limits(d->spool, limits);
}

/* ---- figures ---- */

const struct delivery_counts *delivery_counts(const struct delivery *d, size_t exporter)
{
	return &d->queues[exporter]->counts;
}

void delivery_state(const struct delivery *d, size_t exporter, struct delivery_state *out)
{
	const struct queue *q = d->queues[exporter];
	const struct item *oldest = TAILQ_FIRST(&q->items);

	*out = (struct delivery_state){
		.waiting = q->cnt - q->flight_cnt, .in_flight = q->flight_cnt,
		.waiting_bytes = q->bytes, .memory_bytes = q->memory_bytes,
		.oldest_ns = oldest ? oldest->created_ns : 0,
		.failures_in_row = q->failures, .last_status = q->last_status,
	};
	memcpy(out->last_text, q->last_text, sizeof(out->last_text));
}

const struct spool_dir *delivery_spool(const struct delivery *d)
{
	return d->spool;
}

uint64_t delivery_killed_samples(const struct delivery *d)
{
	return d->draft.killed_samples;
}

uint64_t delivery_senders_lost(const struct delivery *d)
{
	return d->senders_lost;
}
