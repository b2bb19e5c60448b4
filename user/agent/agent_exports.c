// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_exports.c - see agent_exports.h. */
#include "agent/agent_exports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/exporter_servers.h"
#include "agent/pyroscope_push.h"
#include "base/gzip.h"
#include "base/time.h"
#include "base/util.h"
#include "config/config.h"
#include "telemetry/service_labels.h"

#define CONTENT_OTLP "application/x-protobuf"
#define CONTENT_PYROSCOPE "application/proto"
/*
 * The upper limit of max_request_bytes; a spooled request is no larger when decompressed. Splitting
 * one takes 14 times as much memory.
 */
#define REQUEST_BYTES_MAX (16u << 20)

struct agent_exports {
	const struct agent_config *config;
	struct delivery *delivery;
	/* The OTLP exporters, and their indices in the delivery. */
	struct otlp_exporter {
		const struct agent_otlp *config;
		size_t exporter;
	} otlp[AGENT_OTLP_MAX];
	size_t otlp_cnt;
	int pyroscope;				/* its index in the delivery; -1: off */
	const char *names[EXPORTER_SERVERS_MAX];
	size_t cnt;
	uint64_t servers_hash;
	struct buf zipped;
	struct buf set;				/* requests of the window that is encoded */
	struct agent_exports_counts counts;
	/* While a window is encoded: */
	const struct window *window;
	const struct agent_services *services;
	const struct service_config *service_config;
	bool is_open;				/* it is not finished */
	uint64_t max_bytes;			/* of the requests of this round */
};

/* ---- configuration ---- */

static bool writes_files(const struct agent_config *c)
{
	return *c->exporters.tach.dir || *c->exporters.pprof.dir;
}

static void add_otlp(struct agent_exports *x, const struct agent_otlp *otlp, size_t exporter)
{
	x->otlp[x->otlp_cnt++] = (struct otlp_exporter){ otlp, exporter };
}

static void take_names(struct agent_exports *x, const struct exporter_servers *servers)
{
	const struct agent_otlp *otlp;
	size_t i;

	x->otlp_cnt = 0;
	x->pyroscope = -1;
	x->cnt = servers->cnt;
	for (i = 0; i < servers->cnt; i++) {
		x->names[i] = servers->exporters[i].name;
		otlp = agent_config_otlp(x->config, i);
		if (!strcmp(x->names[i], EXPORTER_PYROSCOPE))
			x->pyroscope = (int)i;
		else if (otlp)
			add_otlp(x, otlp, i);
		else if (!writes_files(x->config))
			add_otlp(x, &x->config->exporters.otlp, i);
	}
}

/*
 * The server says that a request is too large: send it in two halves. Each half gets half of the
 * figures. Which samples went where is not examined, and the sums stay the same.
 */
static int split_request(void *ctx, struct delivery *d, size_t exporter,
			 const struct request_info *info, const void *payload, size_t len)
{
	struct buf whole = { 0 }, parts[2] = { { 0 }, { 0 } }, zipped = { 0 };
	bool gzip = !strcmp(info->encoding, "gzip");
	struct request_info its = *info;
	int err, i;

	err = gzip ? gunzip_bytes(payload, len, REQUEST_BYTES_MAX, &whole) :
		     buf_add(&whole, payload, len);
	if (!err && info->path == REQUEST_PYROSCOPE)
		err = pyroscope_split(whole.data, whole.len, parts);
	else if (!err)
		err = otlp_split(whole.data, whole.len, parts);
	for (i = 0; !err && i < 2; i++) {
		its.samples = i ? info->samples - info->samples / 2 : info->samples / 2;
		its.weight = i ? info->weight - info->weight / 2 : info->weight / 2;
		zipped.len = 0;
		if (gzip)
			err = gzip_bytes(parts[i].data, parts[i].len, GZIP_LEVEL, &zipped);
		if (!err)
			err = delivery_offer(d, exporter, &its,
					     gzip ? zipped.data : parts[i].data,
					     gzip ? zipped.len : parts[i].len, now_ns());
	}
	buf_free(&whole);
	buf_free(&parts[0]);
	buf_free(&parts[1]);
	buf_free(&zipped);
	return err;
}

int agent_exports_new(struct agent_exports **out, const struct agent_config *c)
{
	struct agent_exports *x = calloc(1, sizeof(*x));
	struct exporter_servers servers;
	struct delivery_args args = {
		.spool = c->spool.dir, .limits = { .bytes = c->spool.size_bytes },
		.max_age_ns = c->spool.max_age_ns, .split = split_request,
	};
	int err = x ? exporter_servers_make(c, &servers) : -ENOMEM;

	if (!x)
		return err;
	x->config = c;
	args.exporters = servers.exporters;
	args.exporter_cnt = servers.cnt;
	if (!err)
		err = delivery_new(&x->delivery, &args);
	if (!err) {
		x->servers_hash = servers.hash;
		take_names(x, &servers);
	}
	exporter_servers_free(&servers);
	if (err)
		agent_exports_free(x);
	else
		*out = x;
	return err;
}

void agent_exports_free(struct agent_exports *x)
{
	if (!x)
		return;
	delivery_free(x->delivery);
	buf_free(&x->zipped);
	buf_free(&x->set);
	free(x);
}

int agent_exports_set(struct agent_exports *x, const struct agent_config *c)
{
	struct spool_limits limits = { .bytes = c->spool.size_bytes };
	struct exporter_servers servers;
	int err = exporter_servers_make(c, &servers);

	if (!err && servers.hash != x->servers_hash)
		err = delivery_set_exporters(x->delivery, servers.exporters, servers.cnt);
	if (!err) {
		x->config = c;
		x->servers_hash = servers.hash;
		take_names(x, &servers);
		delivery_set_limits(x->delivery, &limits, c->spool.max_age_ns);
	}
	exporter_servers_free(&servers);
	return err;
}

/* ---- windows ---- */

static struct request_info info_of(const struct agent_exports *x, uint64_t samples,
				   uint64_t weight)
{
	return (struct request_info){
		.begin_ns = window_begin_ns(x->window), .end_ns = window_end_ns(x->window),
		.samples = samples, .weight = weight,
	};
}

static int pack_message(struct agent_exports *x, size_t exporter, const struct request_info *info,
			const void *bytes, size_t len)
{
	x->counts.requests += !x->is_open;
	x->counts.bytes += x->is_open ? 0 : len;
	return delivery_pack(x->delivery, exporter, info, bytes, len, &x->set);
}

/* Returns true if an exporter's requests are those of this round. */
static bool in_round(const struct agent_exports *x, const struct otlp_exporter *o)
{
	return o->config->http.max_request_bytes == x->max_bytes;
}

static int zip_request(struct agent_exports *x, const void *bytes, size_t len)
{
	return x->zipped.len ? 0 : gzip_bytes(bytes, len, GZIP_LEVEL, &x->zipped);
}

/* Packs a request for all exporters of the round; it is compressed once. */
static int emit_otlp(void *ctx, const struct otlp_request *r)
{
	struct agent_exports *x = ctx;
	struct request_info info = info_of(x, r->taken, r->time_ns);
	size_t i;
	int err = 0;

	info.path = REQUEST_OTLP;
	strcpy(info.content_type, CONTENT_OTLP);
	x->zipped.len = 0;
	for (i = 0; i < x->otlp_cnt && !err; i++) {
		const struct otlp_exporter *o = &x->otlp[i];
		bool plain = o->config->compression == AGENT_COMPRESSION_NONE;

		if (!in_round(x, o))
			continue;
		strcpy(info.encoding, plain ? "" : "gzip");
		err = plain ? 0 : zip_request(x, r->bytes, r->len);
		if (!err)
			err = pack_message(x, o->exporter, &info,
					   plain ? r->bytes : x->zipped.data,
					   plain ? r->len : x->zipped.len);
	}
	return err;
}

static int emit_pyroscope(void *ctx, const struct pyroscope_request *r)
{
	struct agent_exports *x = ctx;
	struct request_info info = info_of(x, r->taken, r->value);
	int err;

	info.path = REQUEST_PYROSCOPE;
	strcpy(info.content_type, CONTENT_PYROSCOPE);
	strcpy(info.encoding, "gzip");
	x->zipped.len = 0;
	err = zip_request(x, r->bytes, r->len);
	return err ? err : pack_message(x, (size_t)x->pyroscope, &info, x->zipped.data,
					x->zipped.len);
}

/* Descriptions of all services of the window, in one allocation; NULL if there is no memory. */
static struct otlp_service *describe_services(const struct agent_exports *x, uint32_t cnt)
{
	struct otlp_attribute *attributes;
	struct otlp_service *all =
		calloc(1, cnt * (sizeof(*all) + SERVICE_ATTRIBUTES_MAX * sizeof(*attributes)));
	uint32_t i;

	attributes = (void *)(all ? all + cnt : NULL);
	for (i = 0; all && i < cnt; i++, attributes += SERVICE_ATTRIBUTES_MAX) {
		all[i].attributes = attributes;
		all[i].attribute_cnt = service_attributes(agent_services_get(x->services, i),
							  x->service_config, attributes);
	}
	return all;
}

static int encode_otlp(struct agent_exports *x, const struct agent_window_facts *facts)
{
	uint32_t cnt = window_service_cnt(x->window);
	struct otlp_args args = {
		.service_cnt = cnt, .version = TACHBPF_VERSION, .period_ns = facts->period_ns,
		.max_bytes = x->max_bytes, .emit = emit_otlp, .ctx = x,
	};
	struct otlp_result result;
	struct otlp_service *services = describe_services(x, cnt);
	int err;

	if (!services)
		return cnt ? -ENOMEM : 0;
	args.services = services;
	if (facts->links)
		window_links_table(facts->links, &args);
	err = otlp_encode(x->window, &args, &result);
	x->counts.too_large += x->is_open ? 0 : result.too_large;
	free(services);
	return err;
}

static void note_failure(struct agent_exports *x, const char *exporter, int err)
{
	if (!err || x->is_open)		/* it is tried again */
		return;
	x->counts.failed++;
	log_warn("exporter %s: a window, or the rest of one, was lost: %s", exporter,
		 strerror(-err));
}

/* Encodes a window for all OTLP exporters: once for those whose requests have the same limit. */
static void pack_otlp(struct agent_exports *x, const struct agent_window_facts *facts)
{
	size_t i, k;

	for (i = 0; i < x->otlp_cnt; i++) {
		x->max_bytes = x->otlp[i].config->http.max_request_bytes;
		for (k = 0; k < i && !in_round(x, &x->otlp[k]);)
			k++;
		if (k == i)
			note_failure(x, x->otlp[i].config->name, encode_otlp(x, facts));
	}
}

/* Encodes a window for all exporters to x->set. */
static void pack_window(struct agent_exports *x, const struct window *w,
			const struct agent_services *services,
			const struct agent_window_facts *facts)
{
	const struct pyroscope_args pyroscope = {
		.services = services, .config = facts->config, .period_ns = facts->period_ns,
		.max_bytes = x->config->exporters.pyroscope.http.max_request_bytes,
		.emit = emit_pyroscope, .ctx = x,
	};
	double begin_s = cpu_time_s();

	x->window = w;
	x->services = services;
	x->service_config = facts->config;
	x->set.len = 0;
	pack_otlp(x, facts);
	if (x->pyroscope >= 0)
		note_failure(x, EXPORTER_PYROSCOPE, pyroscope_push(w, &pyroscope));
	buf_free(&x->zipped);
	x->counts.encode_ns += (uint64_t)((cpu_time_s() - begin_s) * 1e9);
}

void agent_exports_window(struct agent_exports *x, const struct window *w,
			  const struct agent_services *services,
			  const struct agent_window_facts *facts)
{
	x->is_open = false;
	pack_window(x, w, services, facts);
	delivery_draft(x->delivery, &x->set, facts->samples);
	delivery_offer_set(x->delivery, &x->set, now_ns());
	buf_free(&x->set);
}

void agent_exports_draft(struct agent_exports *x, const struct window *w,
			 const struct agent_services *services,
			 const struct agent_window_facts *facts)
{
	x->is_open = true;
	pack_window(x, w, services, facts);
	delivery_draft(x->delivery, &x->set, facts->samples);
	buf_free(&x->set);
}

struct delivery *agent_exports_delivery(const struct agent_exports *x)
{
	return x->delivery;
}

size_t agent_exports_cnt(const struct agent_exports *x)
{
	return x->cnt;
}

const char *agent_exports_name(const struct agent_exports *x, size_t exporter)
{
	return x->names[exporter];
}

const struct agent_exports_counts *agent_exports_counts(const struct agent_exports *x)
{
	return &x->counts;
}
