// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * otlp.c - encodes a window. See otlp.h.
 *
 * Entries of the dictionary get their index when a sample first needs them, so a request has no
 * entry that it does not use. When a sample makes the request too large, the tables are cut back to
 * their previous state, the request is emitted, and the sample becomes the first of the next one.
 */
#include "telemetry/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arith.h"
#include "telemetry/otlp_dictionary.h"

#define SCOPE "tachbpf"
/* The version of the semantic conventions that our attributes have their names from. */
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.44.0"
#define UNKNOWN_SERVICE "unknown_service"
/* At most this much surrounds the contents of the tables: keys, lengths, a profile's head. */
#define AROUND_BYTES 512

struct encoder {
	const struct window *w;
	const struct otlp_args *a;
	struct otlp_result *result;
	int err;
	/* Of the request: */
	struct otlp_dictionary dictionary;
	/* Finished ResourceProfiles; the dictionary follows at the end. */
	struct proto_out services;
	struct otlp_request request;
	/* Of the service, and of its profile: */
	struct proto_out resource, profiles, samples;
	enum window_kind kind;
	uint64_t left;				/* of the profile's divisions by the period */
};

static void note_error(struct encoder *e, int err)
{
	if (err && !e->err)
		e->err = err;
}

static void begin_request(struct encoder *e)
{
	otlp_dictionary_begin(&e->dictionary);
	e->services.b.len = 0;
	e->request = (struct otlp_request){ 0 };
}

static size_t request_bytes(const struct encoder *e)
{
	return AROUND_BYTES + e->services.b.len + e->resource.b.len + e->profiles.b.len +
	       e->samples.b.len + otlp_dictionary_bytes(&e->dictionary);
}

static void put_value_type(struct encoder *e, uint32_t field, const char *type, const char *unit)
{
	size_t begin = proto_begin(&e->profiles, field);

	proto_number(&e->profiles, VALUE_TYPE_TYPE, otlp_text(&e->dictionary, type));
	proto_number(&e->profiles, VALUE_TYPE_UNIT, otlp_text(&e->dictionary, unit));
	proto_end(&e->profiles, begin);
}

/* Returns true if the profile counts samples of the period. */
static bool counts_periods(const struct encoder *e)
{
	return e->kind == WINDOW_CPU && e->a->period_ns;
}

/* The type of the profile's values; its words enter the string table before the first sample. */
static struct window_kind_names value_names(const struct encoder *e)
{
	if (counts_periods(e))
		return (struct window_kind_names){ .type = "samples", .unit = "count" };
	return window_kinds[e->kind];
}

/*
 * The type of the period. Grafana Pyroscope takes a profile's name from it, except for off_cpu,
 * which must have none (pkg/ingester/otlp/convert.go).
 */
static void put_period(struct encoder *e)
{
	const struct window_kind_names *its = &window_kinds[e->kind];

	if (!its->period || (e->kind == WINDOW_CPU && !e->a->period_ns))
		return;
	put_value_type(e, PROFILE_PERIOD_TYPE, its->period, its->unit);
	proto_number(&e->profiles, PROFILE_PERIOD, e->kind == WINDOW_CPU ? e->a->period_ns : 1);
}

static void put_texts(struct encoder *e)
{
	struct window_kind_names names = value_names(e);

	otlp_text(&e->dictionary, names.type);
	otlp_text(&e->dictionary, names.unit);
	if (window_kinds[e->kind].period)
		otlp_text(&e->dictionary, window_kinds[e->kind].period);
	otlp_text(&e->dictionary, window_kinds[e->kind].unit);
}

/* Finishes the profile; if it has samples, it is added to the service. */
static void end_profile(struct encoder *e)
{
	struct window_kind_names names = value_names(e);
	uint64_t begin_ns = window_begin_ns(e->w), end_ns = window_end_ns(e->w);
	struct proto_out *o = &e->profiles;
	uint8_t id[OTLP_PROFILE_ID_BYTES];
	size_t begin;

	if (!e->samples.b.len)
		return;
	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		note_error(e, -EIO);
	begin = proto_begin(o, SCOPE_PROFILES_PROFILES);
	put_value_type(e, PROFILE_SAMPLE_TYPE, names.type, names.unit);
	proto_append(o, &e->samples);
	proto_fixed64(o, PROFILE_TIME, begin_ns);
	proto_number(o, PROFILE_DURATION, end_ns > begin_ns ? end_ns - begin_ns : 0);
	put_period(e);
	proto_bytes(o, PROFILE_ID, id, sizeof(id));
	proto_end(o, begin);
	e->samples.b.len = 0;
	e->request.profiles++;
}

/* Finishes the service; if it has profiles, it is added to the request. */
static void end_service(struct encoder *e)
{
	struct proto_out *o = &e->services;
	size_t begin, profiles, scope;

	if (!e->profiles.b.len)
		return;
	begin = proto_begin(o, REQUEST_RESOURCE_PROFILES);
	proto_append(o, &e->resource);
	profiles = proto_begin(o, RESOURCE_PROFILES_SCOPE_PROFILES);
	scope = proto_begin(o, SCOPE_PROFILES_SCOPE);
	proto_text(o, SCOPE_NAME, SCOPE);
	proto_text(o, SCOPE_VERSION, e->a->version);
	proto_end(o, scope);
	proto_append(o, &e->profiles);
	proto_text(o, SCOPE_PROFILES_SCHEMA_URL, SCHEMA_URL);
	proto_end(o, profiles);
	proto_text(o, RESOURCE_PROFILES_SCHEMA_URL, SCHEMA_URL);
	proto_end(o, begin);
	e->profiles.b.len = 0;
}

/* The first error of any buffer. */
static int first_error(struct encoder *e)
{
	note_error(e, otlp_dictionary_error(&e->dictionary));
	note_error(e, e->services.err);
	note_error(e, e->resource.err);
	note_error(e, e->profiles.err);
	note_error(e, e->samples.err);
	return e->err;
}

/* Emits the request, and begins another one in the same service and profile. */
static void end_request(struct encoder *e)
{
	struct proto_out *o = &e->services;

	end_profile(e);
	end_service(e);
	if (!o->b.len)
		return;
	otlp_dictionary_put(&e->dictionary, o);
	if (first_error(e))
		return;
	e->request.bytes = o->b.data;
	e->request.len = o->b.len;
	e->result->requests++;
	e->result->profiles += e->request.profiles;
	e->result->samples += e->request.samples;
	note_error(e, e->a->emit(e->a->ctx, &e->request));
	begin_request(e);
}

#define OTHER WINDOW_NONE	/* for a sample's stack */

static void put_sample(struct encoder *e, uint32_t stack, uint32_t link, uint64_t value)
{
	struct proto_out *o = &e->samples;
	uint32_t index = stack == OTHER ? otlp_other_stack(&e->dictionary) :
						   otlp_stack(&e->dictionary, stack);
	uint32_t attributes[OTLP_LINK_ATTRIBUTES_MAX];
	uint32_t cnt = otlp_link_attributes(&e->dictionary, link, attributes);
	size_t begin;

	link = otlp_link(&e->dictionary, link);
	begin = proto_begin(o, PROFILE_SAMPLES);
	proto_number(o, SAMPLE_STACK, index);
	if (cnt)
		proto_packed(o, SAMPLE_ATTRIBUTES, attributes, cnt);
	proto_number(o, SAMPLE_LINK, link);
	proto_packed_number(o, SAMPLE_VALUES, value < INT64_MAX ? value : INT64_MAX);
	proto_end(o, begin);
}

/* Adds a sample to the profile, in another request if it does not fit into this one. */
static void add_sample(struct encoder *e, uint32_t stack, uint32_t link, uint64_t value)
{
	struct otlp_dictionary_mark mark;
	size_t samples_len;

	samples_len = e->samples.b.len;
	mark = otlp_dictionary_mark(&e->dictionary);
	if (!samples_len)
		put_texts(e);
	put_sample(e, stack, link, value);
	if (request_bytes(e) > e->a->max_bytes) {
		e->samples.b.len = samples_len;
		otlp_dictionary_cut(&e->dictionary, &mark);
		if (e->request.samples) {
			end_request(e);
			if (!first_error(e))
				add_sample(e, stack, link, value);
			return;
		}
		/* It does not fit even alone. */
		begin_request(e);
		put_texts(e);
		put_sample(e, OTHER, 0, value);
		e->result->too_large++;
	}
	e->request.samples++;
}

/* Adds a time; the remainder of the period is added to the next one's. */
static void add_time(struct encoder *e, uint32_t stack, uint32_t link, uint64_t time_ns,
		     uint64_t taken)
{
	uint64_t value = time_ns;

	if (counts_periods(e)) {
		value = add_capped(value, e->left);
		e->left = value % e->a->period_ns;
		value /= e->a->period_ns;
	}
	if (value)
		add_sample(e, stack, link, value);
	e->request.time_ns = add_capped(e->request.time_ns, time_ns);
	e->request.taken = add_capped(e->request.taken, taken);
}

static void put_profile(struct encoder *e, const struct window_series *s)
{
	uint32_t cnt, i;
	const struct window_sample *all = window_samples(e->w, &cnt);

	e->left = counts_periods(e) ? e->a->period_ns / 2 : 0;	/* so that the sum is rounded */
	for (i = s->first; i != WINDOW_NONE && !e->err; i = all[i].next)
		add_time(e, all[i].stack, all[i].link, all[i].value, all[i].samples);
	if (s->other_value)
		add_time(e, OTHER, 0, s->other_value, s->other_samples);
	end_profile(e);
}

static void put_list(struct proto_out *o, const char *text)
{
	size_t list = proto_begin(o, ANY_VALUE_ARRAY);
	size_t item = proto_begin(o, ARRAY_VALUE_VALUES);

	proto_entry(o, ANY_VALUE_STRING, text, strlen(text));
	proto_end(o, item);
	proto_end(o, list);
}

static void put_attribute(struct encoder *e, const struct otlp_attribute *a)
{
	char text[WINDOW_NAME_BYTES + 1];
	struct proto_out *o = &e->resource;
	size_t begin = proto_begin(o, RESOURCE_ATTRIBUTES), value;

	proto_text(o, KEY_VALUE_KEY, escape_text(a->key, strlen(a->key), text, sizeof(text)));
	value = proto_begin(o, KEY_VALUE_VALUE);
	if (a->text)
		escape_text(a->text, strlen(a->text), text, sizeof(text));
	if (!a->text)
		proto_number_or_0(o, ANY_VALUE_INT, (uint64_t)a->number);
	else if (a->is_list)
		put_list(o, text);
	else
		proto_entry(o, ANY_VALUE_STRING, text, strlen(text));
	proto_end(o, value);
	proto_end(o, begin);
}

static void put_resource(struct encoder *e, const struct otlp_service *service)
{
	struct proto_out *o = &e->resource;
	uint32_t i, dropped = 0;
	size_t begin, before;

	o->b.len = 0;
	begin = proto_begin(o, RESOURCE_PROFILES_RESOURCE);
	for (i = 0; i < service->attribute_cnt; i++) {
		before = o->b.len;
		put_attribute(e, &service->attributes[i]);
		if (o->b.len > OTLP_ATTRIBUTE_BYTES_MAX) {
			o->b.len = before;
			dropped++;
		}
	}
	proto_number(o, RESOURCE_DROPPED_ATTRIBUTES, dropped);
	proto_end(o, begin);
}

static void put_service(struct encoder *e, uint32_t service)
{
	static const struct otlp_attribute name = { "service.name", UNKNOWN_SERVICE, 0, false };
	static const struct otlp_service unknown = { &name, 1 };
	uint32_t kind;

	put_resource(e, service < e->a->service_cnt ? &e->a->services[service] : &unknown);
	if (request_bytes(e) > e->a->max_bytes - OTLP_BYTES_MIN / 4)
		end_request(e);
	for (kind = 0; kind < WINDOW_KIND_CNT && !e->err; kind++) {
		e->kind = kind;
		put_profile(e, window_series(e->w, service, kind));
	}
	end_service(e);
}

static void free_encoder(struct encoder *e)
{
	otlp_dictionary_free(&e->dictionary);
	proto_out_free(&e->services);
	proto_out_free(&e->resource);
	proto_out_free(&e->profiles);
	proto_out_free(&e->samples);
	free(e);
}

int otlp_encode(const struct window *w, const struct otlp_args *args, struct otlp_result *result)
{
	struct otlp_result unused = { 0 };
	struct encoder *e;
	uint32_t i;
	int err;

	if (args->max_bytes < OTLP_BYTES_MIN)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->w = w;
	e->a = args;
	e->result = result ? result : &unused;
	*e->result = unused;
	otlp_dictionary_init(&e->dictionary, w, args);
	for (i = 0; i < window_service_cnt(w) && !e->err; i++)
		put_service(e, i);
	if (!first_error(e))
		end_request(e);
	err = e->err;
	free_encoder(e);
	return err;
}
