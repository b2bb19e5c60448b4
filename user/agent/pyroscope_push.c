// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pyroscope_push.c - see pyroscope_push.h. Numbers of fields: grafana/pyroscope, push.proto. */
#include "agent/pyroscope_push.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/arith.h"
#include "base/proto.h"
#include "telemetry/service_labels.h"
#include "telemetry/window_pprof.h"

enum { PUSH_SERIES = 1 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_PROFILE = 1 };

/* Around a profile in a request: keys, lengths, the name. */
#define AROUND_BYTES 128

static const char *const shared_keys[] = {
	"service.namespace", "service.version", "deployment.environment.name", "host.name",
	"k8s.namespace.name", "k8s.pod.name", "k8s.container.name", "container.name",
	"systemd.unit",
};

/* A service's labels, encoded; the same name twice would have the series refused. */
struct labels {
	struct proto_out out;
	char names[PYROSCOPE_LABELS_MAX][ATTR_KEY_BYTES + 1];
	size_t cnt;
};

struct push {
	const struct pyroscope_args *args;
	struct labels labels;
	struct proto_out out;
	uint32_t service;		/* of the request, if it has series */
	struct pyroscope_request request;
};

/* ---- labels ---- */

/*
 * A label's name consists of letters, digits and "_", and does not begin with a digit. Pyroscope's
 * own begin with "__".
 */
static void make_name(const char *key, char out[ATTR_KEY_BYTES + 1])
{
	size_t len = 0;

	if (isdigit((unsigned char)*key))
		out[len++] = '_';
	for (; *key && len < ATTR_KEY_BYTES; key++) {
		out[len] = isalnum((unsigned char)*key) ? *key : '_';
		len += out[len] != '_' || len != 1 || out[0] != '_';
	}
	out[len] = '\0';
}

static bool has_name(const struct labels *l, const char *name)
{
	size_t i = 0;

	while (i < l->cnt && strcmp(l->names[i], name))
		i++;
	return i < l->cnt;
}

static void put_pair(struct proto_out *o, const char *name, const char *value)
{
	size_t begin = proto_begin(o, SERIES_LABELS);

	proto_text(o, LABEL_NAME, name);
	proto_text(o, LABEL_VALUE, value);
	proto_end(o, begin);
}

/* Adds a label unless it has no value, its name is taken, or there is no room. */
static void add_label(struct labels *l, const char *name, const char *value)
{
	if (!*value || l->cnt == PYROSCOPE_LABELS_MAX || has_name(l, name) ||
	    l->out.b.len + strlen(name) + strlen(value) + AROUND_BYTES > PYROSCOPE_LABEL_BYTES)
		return;
	strcpy(l->names[l->cnt++], name);
	put_pair(&l->out, name, value);
}

/* Adds a service's attribute, or a label of the configuration; text: the latter's. */
static void add_attribute(struct labels *l, const struct service *service,
			  const struct service_config *config, const char *key, const char *text)
{
	const char *value = service_attribute(service, config, key);
	char name[ATTR_KEY_BYTES + 1];

	make_name(key, name);
	add_label(l, name, *value ? value : text);	/* a process' number is no label */
}

/* All labels of a service's series but "__name__", which has its place. */
static void make_labels(struct labels *l, const struct service *service,
			const struct service_config *config)
{
	const struct attrs *own = config->labels;
	size_t i;

	l->out.b.len = 0;
	l->cnt = 0;
	strcpy(l->names[l->cnt++], "__name__");
	/* The values are of this window: they are not a counter's. */
	add_label(l, "__delta__", "false");
	add_label(l, "service_name", service ? service_name_of(service) : SERVICE_OTHER_NAME);
	for (i = 0; own && i < own->cnt; i++)
		add_attribute(l, service, config, attr_key(own, &own->items[i]),
			      attr_value(own, &own->items[i]));
	for (i = 0; i < ARRAY_SIZE(shared_keys); i++)
		add_attribute(l, service, config, shared_keys[i], "");
}

/* ---- requests ---- */

/* The name that Pyroscope gives a profile of OTLP (pkg/ingester/otlp/convert.go). */
static const char *profile_name(enum window_kind kind)
{
	const struct window_kind_names *its = &window_kinds[kind];

	return kind == WINDOW_CPU ? "process_cpu" : its->period ? its->period : its->type;
}

static void begin_request(struct push *u)
{
	u->out.b.len = 0;
	u->request = (struct pyroscope_request){ 0 };
}

static int end_request(struct push *u)
{
	int err = u->out.err ? u->out.err : u->labels.out.err;

	if (!err && u->out.b.len) {
		u->request.bytes = u->out.b.data;
		u->request.len = u->out.b.len;
		err = u->args->emit(u->args->ctx, &u->request);
	}
	begin_request(u);
	return err;
}

static void put_series(struct push *u, const struct window_pprof *p)
{
	struct proto_out *o = &u->out;
	size_t series = proto_begin(o, PUSH_SERIES), sample;

	put_pair(o, "__name__", profile_name(p->kind));
	proto_append(o, &u->labels.out);
	sample = proto_begin(o, SERIES_SAMPLES);
	proto_bytes(o, SAMPLE_PROFILE, p->bytes, p->len);
	proto_end(o, sample);
	proto_end(o, series);
	u->request.taken = add_capped(u->request.taken, p->taken);
	u->request.value = add_capped(u->request.value, p->value);
}

static int take_profile(void *ctx, const struct window_pprof *p)
{
	struct push *u = ctx;
	size_t more = p->len + u->labels.out.b.len + AROUND_BYTES;
	int err = 0;

	if (u->service != p->service || u->out.b.len + more > u->args->max_bytes)
		err = end_request(u);
	if (u->service != p->service)
		make_labels(&u->labels, agent_services_get(u->args->services, p->service),
			    u->args->config);
	u->service = p->service;
	put_series(u, p);
	return err;
}

int pyroscope_push(const struct window *w, const struct pyroscope_args *args)
{
	struct push u = { .args = args, .service = UINT32_MAX };
	const struct window_pprof_args pprof = {
		.form = WINDOW_PPROF_PYROSCOPE, .period_ns = args->period_ns,
		.max_bytes = args->max_bytes - PYROSCOPE_LABEL_BYTES - AROUND_BYTES,
		.max_samples = PYROSCOPE_SAMPLES_MAX, .emit = take_profile, .ctx = &u,
	};
	int err = window_pprof(w, &pprof);

	if (!err)
		err = end_request(&u);
	proto_out_free(&u.labels.out);
	proto_out_free(&u.out);
	return err;
}

/* ---- splitting ---- */

static int count_series(struct proto_in in, size_t *cnt)
{
	struct proto_field f;

	for (*cnt = 0; proto_next(&in, &f); (*cnt)++)
		if (f.number != PUSH_SERIES || f.wire != WIRE_BYTES)
			return -EBADMSG;
	return in.bad ? -EBADMSG : *cnt < 2 ? -ERANGE : 0;
}

int pyroscope_split(const void *bytes, size_t len, struct buf parts[2])
{
	struct proto_in in = { .p = bytes, .end = (const uint8_t *)bytes + len };
	const uint8_t *middle = bytes;
	struct proto_field f;
	size_t cnt, i;
	int err = count_series(in, &cnt);

	if (err)
		return err;
	for (i = 0; i < cnt / 2 && proto_next(&in, &f); i++)
		middle = in.p;
	err = buf_add(&parts[0], bytes, (size_t)(middle - (const uint8_t *)bytes));
	return err ? err : buf_add(&parts[1], middle, (size_t)(in.end - middle));
}
