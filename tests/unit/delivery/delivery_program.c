// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * delivery_program.c - drives a delivery for test_delivery.py: commands on stdin, one a line, and
 * one line of JSON for each on stdout. Its clock can be put forward.
 *
 *     delivery_program SPOOL [keeper]
 *
 * exporter NAME otlp|pyroscope URL [KEY=VALUE]...   add one; values that begin with @ are files;
 *                                                   URL "-": there is no server yet
 * open [BYTES [ENTRIES [MAX_AGE_MS]]]               delivery_new()
 * forget                                            the exporters that were added
 * set                                               delivery_set_exporters() with those added since
 * offer INDEX BYTES SAMPLES                         delivery_offer()
 * draft SAMPLES [BYTES]                             two requests that are not finished
 * meter SAMPLES                                     there are so many samples now
 * offer_half                                        offer the first of the draft's
 * until FIELD N [INDEX]                             go on until a figure is as high
 * skip MS                                           put the clock forward, tick
 * pid | finish MS | close | figures [INDEX]
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delivery/delivery_parts.h"
#include "base/util.h"
#include "worker/worker.h"

#define PATIENCE_NS 60000000000ull
/* So long that only `skip` ends a pause, however busy the machine is. */
#define PAUSE_NS 60000000000ull

static struct delivery *delivery;
static struct delivery_exporter exporters[SENDER_EXPORTERS_MAX];
static enum request_path paths[SENDER_EXPORTERS_MAX];
static size_t cnt;
static uint64_t skipped;
static const char *spool;

static uint64_t test_now_ns(void)
{
	return now_ns() + skipped;
}

static char *value_of(const char *text)
{
	struct buf b = { 0 };
	int fd;

	if (*text != '@')
		return strdup(text);
	fd = open(text + 1, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || buf_add_file(&b, fd, 1 << 20) || buf_add(&b, "", 1))
		exit(3);
	close(fd);
	return (char *)b.data;
}

static void set_key(struct delivery_exporter *e, char *word)
{
	uint32_t pause_ms, pause_max_ms;
	struct {
		const char *name;
		const char **text;
		uint32_t *number;
	} keys[] = {
		{ "headers", &e->server.headers, NULL }, { "user", &e->server.user, NULL },
		{ "password", &e->server.password, NULL }, { "bearer", &e->server.bearer, NULL },
		{ "proxy", &e->server.proxy, NULL }, { "ca", &e->server.ca, NULL },
		{ "certificate", &e->server.certificate, NULL }, { "key", &e->server.key, NULL },
		{ "stall_ms", NULL, &e->server.stall_ms }, { "timeout_ms", NULL, &e->timeout_ms },
		{ "transfers", NULL, &e->transfers }, { "pause_ms", NULL, &pause_ms },
		{ "pause_max_ms", NULL, &pause_max_ms },
	};
	char *equals = strchr(word, '=');
	size_t i;

	pause_ms = pause_max_ms = 0;

	for (i = 0; equals && i < ARRAY_SIZE(keys); i++) {
		if (strncmp(keys[i].name, word, equals - word) || keys[i].name[equals - word])
			continue;
		if (keys[i].text)
			*keys[i].text = value_of(equals + 1);
		else
			*keys[i].number = (uint32_t)atoi(equals + 1);
		e->pause_ns = pause_ms ? pause_ms * 1000000ull : e->pause_ns;
		e->pause_max_ns = pause_max_ms ? pause_max_ms * 1000000ull : e->pause_max_ns;
		return;
	}
	exit(4);
}

static void add_exporter(char **w)
{
	struct delivery_exporter *e = &exporters[cnt];

	*e = (struct delivery_exporter){ .name = strdup(w[1]),
					 .server.url = strcmp(w[3], "-") ? strdup(w[3]) : NULL,
					 .pause_ns = PAUSE_NS, .pause_max_ns = PAUSE_NS };
	paths[cnt++] = strcmp(w[2], "otlp") ? REQUEST_PYROSCOPE : REQUEST_OTLP;
	for (w += 4; *w; w++)
		set_key(e, *w);
}

static int offer(size_t exporter, size_t len, uint64_t samples)
{
	struct request_info info = {
		.content_type = "application/x-protobuf", .encoding = "gzip", .samples = samples,
		.weight = samples * 10, .path = paths[exporter],
	};
	uint8_t *payload = malloc(len + 1);
	static unsigned int number;
	int err;

	memset(payload, 'x', len);
	snprintf((char *)payload, len, "%u ", number++);
	err = delivery_offer(delivery, exporter, &info, payload, len, test_now_ns());
	free(payload);
	return err;
}

static struct buf set;
static size_t first_len;	/* of the set */

/* Two requests with half of the samples each. */
static void draft(uint64_t samples, size_t len)
{
	struct request_info info = { .content_type = "application/x-protobuf", .path = paths[0] };
	uint8_t payload[4096];
	int i;

	set.len = 0;
	for (i = 0; i < 2; i++) {
		memset(payload, 'a' + i, len);
		snprintf((char *)payload, len, "%u ", 100 + i);
		info.samples = i ? samples - samples / 2 : samples / 2;
		if (delivery_pack(delivery, 0, &info, payload, len, &set))
			exit(7);
		first_len = i ? first_len : set.len;
	}
	delivery_draft(delivery, &set, samples);
}

static int offer_half(void)
{
	struct request_info info;
	struct spool_sizes sizes;

	if (spool_entry_parse(set.data, first_len, &info, &sizes))
		exit(8);
	return delivery_offer(delivery, 0, &info, set.data + sizes.head_bytes, sizes.payload_bytes,
			      test_now_ns());
}

static int split(void *ctx, struct delivery *d, size_t exporter, const struct request_info *info,
		 const void *payload, size_t len)
{
	struct request_info part = *info;
	const uint8_t *p = payload;
	int err;

	if (len < 2)
		return -E2BIG;
	part.samples = info->samples / 2;
	part.weight = info->weight / 2;
	err = delivery_offer(d, exporter, &part, p, len / 2, test_now_ns());
	part.samples = info->samples - part.samples;
	part.weight = info->weight - part.weight;
	return err ? err : delivery_offer(d, exporter, &part, p + len / 2, len - len / 2,
					  test_now_ns());
}

static int open_delivery(char **w)
{
	const struct delivery_args args = {
		.spool = spool, .exporters = exporters, .exporter_cnt = cnt, .split = split,
		.limits = { w[1] ? strtoull(w[1], NULL, 10) : 0,
			    w[1] && w[2] ? strtoull(w[2], NULL, 10) : 0 },
		.max_age_ns = w[1] && w[2] && w[3] ? strtoull(w[3], NULL, 10) * 1000000 : 0,
		.memory_bytes = 1 << 20,
	};
	int err = delivery_new(&delivery, &args);

	if (!err)
		delivery_tick(delivery, test_now_ns());
	return err;
}

struct figure {
	const char *name;
	uint64_t value;
};

#define FIGURES_MAX 64
static struct figure figures[FIGURES_MAX];
static size_t figure_cnt;

static void put(const char *name, uint64_t value)
{
	figures[figure_cnt++] = (struct figure){ name, value };
}

static void collect(size_t exporter)
{
	const struct delivery_counts *c = delivery_counts(delivery, exporter);
	const struct spool_counts *s = spool_dir_counts(delivery_spool(delivery));
	struct delivery_state st;
	int i;

	figure_cnt = 0;
	delivery_state(delivery, exporter, &st);
	put("offered", c->offered.requests);
	put("offered_samples", c->offered.samples);
	put("sent", c->sent.requests);
	put("sent_samples", c->sent.samples);
	put("sent_weight", c->sent.weight);
	put("found", c->found.requests);
	put("split", c->split.requests);
	put("spooled", c->spooled);
	put("retried", c->retried);
	put("lost_answers", c->lost_answers);
	put("rejected_profiles", c->rejected_profiles);
	put("sent_bytes", c->sent_bytes);
	for (i = 0; i < DROP_CAUSES; i++)
		put(drop_cause_name(i), c->dropped[i].requests);
	put("spool_full_samples", c->dropped[DROP_SPOOL_FULL].samples);
	put("memory_full_samples", c->dropped[DROP_MEMORY_FULL].samples);
	for (i = CAUSE_STATUS; i < SEND_CAUSES; i++)
		put(send_cause_name(i), c->failures[i]);
	put("waiting", st.waiting);
	put("in_flight", st.in_flight);
	put("memory_bytes", st.memory_bytes);
	put("failures_in_row", st.failures_in_row);
	put("last_status", st.last_status);
	put("oldest_ns", st.oldest_ns);
	put("killed_samples", delivery_killed_samples(delivery));
	put("senders_lost", delivery_senders_lost(delivery));
	put("spool_entries", spool_dir_cnt(delivery_spool(delivery)));
	put("spool_bytes", spool_dir_bytes(delivery_spool(delivery)));
	put("damaged_files", s->damaged);
	put("other_version", s->other_version);
	put("leftovers", s->leftovers);
	put("disk_failures", s->disk_failures);
	put("next_ms", delivery_next_ns(delivery, test_now_ns()) == UINT64_MAX ? 0 :
		       (delivery_next_ns(delivery, test_now_ns()) - test_now_ns()) / 1000000);
}

static uint64_t figure(const char *name, size_t exporter)
{
	size_t i;

	collect(exporter);
	for (i = 0; i < figure_cnt; i++)
		if (!strcmp(figures[i].name, name))
			return figures[i].value;
	exit(5);
}

/* The text is printable, but may have quotes. */
static void show(size_t exporter)
{
	struct delivery_state st;
	size_t i;
	char *c;

	collect(exporter);
	delivery_state(delivery, exporter, &st);
	for (c = st.last_text; *c; c++)
		if (*c == '"' || *c == '\\')
			*c = '_';
	printf("{");
	for (i = 0; i < figure_cnt; i++)
		printf("\"%s\": %llu, ", figures[i].name, (unsigned long long)figures[i].value);
	printf("\"last_text\": \"%s\"}\n", st.last_text);
}

/* 0, or -ETIMEDOUT: something is broken. */
static int until(const char *name, uint64_t value, size_t exporter)
{
	uint64_t end = now_ns() + PATIENCE_NS, next, now;
	struct pollfd p = { .fd = delivery_fd(delivery), .events = POLLIN };

	for (;;) {
		now = test_now_ns();
		delivery_tick(delivery, now);
		if (figure(name, exporter) >= value)
			return 0;
		if (now_ns() > end)
			return -ETIMEDOUT;
		next = delivery_next_ns(delivery, now);
		next = next == UINT64_MAX ? 1000 : (next - now) / 1000000 + 1;
		poll(&p, 1, next < 1000 ? (int)next : 1000);
	}
}

static int command(char **w)
{
	const char *c = w[0];
	size_t index = w[1] && !strcmp(c, "figures") ? strtoul(w[1], NULL, 10) : 0;

	if (!strcmp(c, "exporter"))
		return add_exporter(w), 0;
	if (!strcmp(c, "forget"))
		return cnt = 0;
	if (!strcmp(c, "open"))
		return open_delivery(w);
	if (!strcmp(c, "set"))
		return delivery_set_exporters(delivery, exporters, cnt);
	if (!strcmp(c, "offer"))
		return offer(strtoul(w[1], NULL, 10), strtoul(w[2], NULL, 10),
			     strtoul(w[3], NULL, 10));
	if (!strcmp(c, "draft"))
		return draft(strtoull(w[1], NULL, 10), w[2] ? strtoul(w[2], NULL, 10) : 100), 0;
	if (!strcmp(c, "meter"))
		return delivery_meter(delivery, strtoull(w[1], NULL, 10)), 0;
	if (!strcmp(c, "offer_half"))
		return offer_half();
	if (!strcmp(c, "until"))
		return until(w[1], strtoull(w[2], NULL, 10), w[3] ? strtoul(w[3], NULL, 10) : 0);
	if (!strcmp(c, "skip")) {
		skipped += strtoull(w[1], NULL, 10) * 1000000;
		return delivery_tick(delivery, test_now_ns()), 0;
	}
	if (!strcmp(c, "pid"))
		return delivery->sender.worker.pid;
	if (!strcmp(c, "finish"))
		return delivery_finish(delivery, atoi(w[1])), 0;
	if (!strcmp(c, "close")) {
		delivery_free(delivery);
		delivery = NULL;
		return 0;
	}
	if (!strcmp(c, "figures"))
		return show(index), 1 << 30;
	exit(6);
}

int main(int argc, char **argv)
{
	static const struct worker_kind *const kinds[] = { &sender_kind };
	char line[8192], *w[32];
	size_t n;
	int result;

	if (argc < 2)
		return 2;
	spool = argv[1];
	if (argc > 2 && keeper_start(kinds, 1))
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		for (w[n] = strtok(line, " \n"); w[n] && n < 30; w[n] = strtok(NULL, " \n"))
			n++;
		w[n] = NULL;
		result = n ? command(w) : 0;
		if (result != 1 << 30)
			printf("%d\n", result);
		fflush(stdout);
	}
	delivery_free(delivery);
	buf_free(&set);
	keeper_end();
	return 0;
}
