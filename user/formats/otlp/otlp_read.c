// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * otlp_read.c - reads OTLP profiles of any producer: a request, or a stream of them. See
 * docs/format-otlp.md.
 *
 * A message's dictionary may follow its profiles, and which type of values counts depends on all
 * messages: they are read twice, first for their types, then for the samples of one of these.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/content.h"
#include "formats/describe.h"
#include "formats/formats.h"
#include "formats/otlp/otlp_fields.h"
#include "formats/otlp/otlp_head.h"
#include "formats/otlp/otlp_messages.h"
#include "formats/otlp/otlp_tables.h"
#include "formats/sample_labels.h"
#include "formats/sample_store.h"
#include "formats/value_type.h"

#define TYPES_MAX 64
#define DAMAGE_BYTES 160

struct otlp_reader {
	struct sample_store store;	/* first */
	struct content content;
	struct otlp_tables *tables;
	struct value_type types[TYPES_MAX];	/* distinct by name */
	size_t type_cnt;
	struct string_ref chosen;	/* the name of the type that counts */
	uint64_t begin_ns, end_ns;	/* of all profiles with times; 0: none */
	uint64_t longest_ns;		/* of profiles without */
	struct buf type_names;		/* const char *, texts of the store */
	struct buf ids;
	uint64_t usable;		/* messages before the damage */
	char damage[DAMAGE_BYTES];	/* "": none */
	uint32_t told;			/* the profile whose run reports the damage */
	const struct reader_args *args;
	const struct reason *why;
};

#define NOBODY UINT32_MAX

static struct otlp_reader *to_otlp(struct reader *r)
{
	return (struct otlp_reader *)(void *)r;
}

/* ---- walking ---- */

typedef int (*field_fn)(struct otlp_reader *o, const struct proto_field *f, void *ctx);

/* Calls each() for every field of a message with this number. what: the message, for errors. */
static int each_field(struct otlp_reader *o, struct proto_in in, uint32_t number, const char *what,
		      field_fn each, void *ctx)
{
	struct proto_field f;
	int err = 0;

	while (!err && proto_next(&in, &f)) {
		o->store.at = (uint64_t)(in.p - o->content.data);
		if (f.number == number)
			err = each(o, &f, ctx);
	}
	if (!err && in.bad)
		err = reason_at(o->why, o->store.at, "%s that is no message", what);
	return err;
}

static int read_head(struct otlp_reader *o, const struct proto_field *profile, struct otlp_head *h)
{
	return otlp_head_read(otlp_tables_strings(o->tables), profile, o->store.at, h, o->why);
}

/* ---- the first pass: types and times ---- */

static void note_time(struct otlp_reader *o, const struct otlp_head *h)
{
	uint64_t end_ns = h->time_ns + h->duration_ns;

	if (!h->time_ns) {
		if (h->duration_ns > o->longest_ns)
			o->longest_ns = h->duration_ns;
		return;
	}
	if (!o->begin_ns || h->time_ns < o->begin_ns)
		o->begin_ns = h->time_ns;
	if (end_ns > o->end_ns)
		o->end_ns = end_ns;
}

static int note_profile(struct otlp_reader *o, const struct proto_field *f, void *ctx)
{
	struct value_type type;
	struct otlp_head h;
	size_t i;
	int err = read_head(o, f, &h);

	if (err)
		return err;
	note_time(o, &h);
	type = otlp_shown_of(&h, o->args).type;
	for (i = 0; i < o->type_cnt; i++) {
		if (!ref_compare(o->types[i].type, type.type))
			return 0;
	}
	if (o->type_cnt == TYPES_MAX)
		return reason_at(o->why, o->store.at, "more than %d sample types", TYPES_MAX);
	o->types[o->type_cnt++] = type;
	return 0;
}

static int note_scope(struct otlp_reader *o, const struct proto_field *f, void *ctx)
{
	return each_field(o, proto_inside(f), SCOPE_PROFILES_PROFILES, "a scope", note_profile,
			  ctx);
}

static int note_resource(struct otlp_reader *o, const struct proto_field *f, void *ctx)
{
	return each_field(o, proto_inside(f), RESOURCE_PROFILES_SCOPE_PROFILES, "a resource",
			  note_scope, ctx);
}

/* ---- attributes ---- */

static int take_pair(struct otlp_reader *o, const struct otlp_pair *pair, struct sample_labels *l)
{
	char room[OTLP_NUMBER_BYTES];

	if (sample_labels_take(&o->store, pair->key, otlp_pair_text(pair, room), 0, l))
		return reason_memory(o->why);
	return 0;
}

static int take_attribute(struct otlp_reader *o, const struct proto_field *f, void *labels)
{
	struct otlp_pair pair;

	if (!otlp_read_pair(otlp_tables_strings(o->tables), f, KEY_VALUE_KEY_STRINDEX, &pair))
		return reason_at(o->why, o->store.at, "an attribute that is no message");
	return take_pair(o, &pair, labels);
}

static int take_resource(struct otlp_reader *o, const struct proto_field *f, void *labels)
{
	return each_field(o, proto_inside(f), RESOURCE_ATTRIBUTES, "a resource", take_attribute,
			  labels);
}

/* Attributes by their index in the table. */
static int take_indices(struct otlp_reader *o, const struct proto_field *f, void *labels)
{
	struct proto_numbers n = proto_numbers_of(f);
	const struct otlp_pair *pair;
	uint64_t index;
	int err = 0;

	while (!err && proto_numbers_next(&n, &index)) {
		if (!index)
			continue;
		pair = otlp_tables_attribute(o->tables, index);
		if (!pair)
			return reason_at(o->why, o->store.at, "an attribute %lld, which is missing",
					 (long long)index);
		err = take_pair(o, pair, labels);
	}
	return !err && n.in.bad ?
		       reason_at(o->why, o->store.at, "an attribute that is no number") : err;
}

/* ---- the second pass: samples ---- */

/* The profile whose samples are read. */
struct current {
	struct otlp_shown shown;
	struct stored_kind kind;
	struct sample_labels labels;
};

/* Values add up: a sample has one, or one for each of its times. */
static int add_values(struct otlp_reader *o, const struct proto_field *f, uint64_t factor,
		      uint64_t *sum)
{
	struct proto_numbers n = proto_numbers_of(f);
	uint64_t v, weight;
	int err = 0;

	while (!err && proto_numbers_next(&n, &v)) {
		err = value_weigh(v, factor, o->store.at, &weight, o->why);
		if (!err && __builtin_add_overflow(*sum, weight, sum))
			err = reason_at(o->why, o->store.at,
					"values that add up to more than 63 bits");
	}
	return !err && n.in.bad ?
		       reason_at(o->why, o->store.at, "a value that is no number") : err;
}

/* Times are 8 bytes each, packed or not. */
static uint64_t count_times(const struct proto_field *f)
{
	return f->wire == WIRE_BYTES ? f->len / 8 : 1;
}

/* Without values, each time is one. */
static int store_sample(struct otlp_reader *o, const struct current *c,
			const struct sample_labels *l, uint64_t weight)
{
	uint32_t profile;
	int err = 0;

	if (weight)
		err = sample_store_profile(&o->store, &l->of, &c->kind, &profile, o->why);
	if (err || !weight)
		return err;
	return sample_store_add(&o->store, profile, &l->thread, &o->ids, weight, l->status, o->why);
}

static int read_sample(struct otlp_reader *o, const struct proto_field *f, void *ctx)
{
	const struct current *c = ctx;
	uint64_t factor = c->shown.scale.factor, stack = 0, weight = 0, times = 0;
	struct sample_labels labels = c->labels;
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	bool valued = false;
	int err = 0;

	while (!err && proto_next(&in, &inner)) {
		if (inner.number == SAMPLE_STACK) {
			stack = inner.value;
		} else if (inner.number == SAMPLE_ATTRIBUTES) {
			err = take_indices(o, &inner, &labels);
		} else if (inner.number == SAMPLE_VALUES) {
			err = add_values(o, &inner, factor, &weight);
			valued = true;
		} else if (inner.number == SAMPLE_TIMESTAMPS) {
			times += count_times(&inner);
		}
	}
	if (!err && in.bad)
		err = reason_at(o->why, o->store.at, "a sample that is no message");
	if (!err && !valued)
		err = value_weigh(times, factor, o->store.at, &weight, o->why);
	if (!err)
		err = otlp_tables_stack(o->tables, stack, o->store.at, &o->ids, o->why);
	return err ? err : store_sample(o, c, &labels, weight);
}

static const char *text_of(struct otlp_reader *o, struct string_ref s)
{
	return sample_store_text(&o->store, s.data, s.len);
}

/* The file's profiles are of the same time, or follow one another. */
static int set_kind(struct otlp_reader *o, const struct otlp_head *h, struct current *c)
{
	const struct value_type *named = c->shown.made || c->shown.scale.unit == UNIT_SAMPLES ?
					 &h->period_type : &h->type;

	c->kind = (struct stored_kind){
		.type = text_of(o, c->shown.type.type),
		.type_unit = text_of(o, c->shown.type.unit),
		.unit = c->shown.scale.unit, .mode = value_mode_of(named),
		.interval_us = value_period_ns(&h->period_type, h->period) / 1000,
		.start_utc_ns = o->begin_ns,
		.duration_ns = o->begin_ns ? o->end_ns - o->begin_ns : o->longest_ns,
	};
	return c->kind.type && c->kind.type_unit ? 0 : reason_memory(o->why);
}

/* A scope's resource, and whether it has profiles whose own type is the one that counts. */
struct scope {
	struct sample_labels labels;
	bool own;
};

static int find_own(struct otlp_reader *o, const struct proto_field *f, void *scope)
{
	struct scope *s = scope;
	struct otlp_head h;
	int err = read_head(o, f, &h);

	s->own |= !err && !ref_compare(h.type.type, o->chosen);
	return err;
}

static int read_profile(struct otlp_reader *o, const struct proto_field *f, void *scope)
{
	const struct scope *s = scope;
	struct current c = { .labels = s->labels };
	struct otlp_head h;
	int err = read_head(o, f, &h);

	if (err)
		return err;
	c.shown = otlp_shown_of(&h, o->args);
	if (ref_compare(c.shown.type.type, o->chosen) || (c.shown.made && s->own))
		return 0;
	err = set_kind(o, &h, &c);
	if (!err)
		err = each_field(o, proto_inside(f), PROFILE_ATTRIBUTES, "a profile", take_indices,
				 &c.labels);
	if (!err)
		err = each_field(o, proto_inside(f), PROFILE_SAMPLES, "a profile", read_sample, &c);
	return err;
}

/* Where the same samples are there as a time and as counts, as in pprof, the time counts. */
static int read_scope(struct otlp_reader *o, const struct proto_field *f, void *scope)
{
	struct scope *s = scope;
	int err;

	s->own = false;
	err = each_field(o, proto_inside(f), SCOPE_PROFILES_PROFILES, "a scope", find_own, s);
	if (!err)
		err = each_field(o, proto_inside(f), SCOPE_PROFILES_PROFILES, "a scope",
				 read_profile, s);
	return err;
}

static int read_resource(struct otlp_reader *o, const struct proto_field *f, void *ctx)
{
	struct scope s = { .own = false };
	int err = each_field(o, proto_inside(f), RESOURCE_PROFILES_RESOURCE, "a resource",
			     take_resource, &s.labels);

	if (!err)
		err = each_field(o, proto_inside(f), RESOURCE_PROFILES_SCOPE_PROFILES, "a resource",
				 read_scope, &s);
	return err;
}

/* ---- messages ---- */

static int read_message(struct otlp_reader *o, const struct otlp_message *m,
			enum otlp_tables_part part, field_fn each)
{
	const struct proto_in in = { .p = m->data, .end = m->data + m->len };
	int err = otlp_tables_read(o->tables, m, part, o->content.data, o->why);

	o->store.at = (uint64_t)(m->data - o->content.data);
	if (err)
		return err;
	if (!otlp_tables_found(o->tables))
		return reason_at(o->why, o->store.at, "no dictionary of profiles; OTLP traces, "
				 "metrics and logs are not supported");
	return each_field(o, in, REQUEST_RESOURCE_PROFILES, "a request", each, NULL);
}

/* What precedes damage is read. Returns err if that is nothing. */
static int note_damage(struct otlp_reader *o, int err, uint64_t before)
{
	if (err != -EBADMSG || !before)
		return err;
	snprintf(o->damage, sizeof(o->damage), "%s", o->why->why);
	o->usable = before;
	return 0;
}

static int each_message(struct otlp_reader *o, enum otlp_tables_part part, field_fn each)
{
	struct otlp_messages all = otlp_messages_of(o->content.data, o->content.len);
	struct otlp_message m;
	int err = 0;

	while (!err && all.cnt < o->usable && otlp_messages_next(&all, &m)) {
		err = read_message(o, &m, part, each);
		if (err)
			return note_damage(o, err, all.cnt - 1);
	}
	if (!all.cut)
		return 0;
	reason_at(o->why, (uint64_t)(all.p - o->content.data), "the file ends inside of a message");
	return note_damage(o, -EBADMSG, all.cnt);
}

/* ---- the choice ---- */

static int keep_types(struct otlp_reader *o)
{
	const char *text;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < o->type_cnt; i++) {
		text = text_of(o, o->types[i].type);
		err = text ? buf_add(&o->type_names, &text, sizeof(text)) : -ENOMEM;
	}
	return err ? reason_memory(o->why) : 0;
}

/* Time on CPU, if it is there, else the first type. A value is of one type: none is held apart. */
static int choose_type(struct otlp_reader *o)
{
	size_t preset = value_find(o->types, o->type_cnt, "cpu"), chosen;
	struct reader_args args = *o->args;

	if (!o->type_cnt)
		return reason_at(o->why, o->content.len, "no profile");
	if (args.value == VALUE_BOTH)
		args.value = VALUE_DEFAULT;
	chosen = value_choose(o->types, o->type_cnt, preset < o->type_cnt ? preset : 0, &args);
	if (chosen == o->type_cnt)
		return value_missing(o->types, o->type_cnt, args.type, o->why);
	o->chosen = o->types[chosen].type;
	return 0;
}

/* A file without samples has a profile, too. */
static int add_empty(struct otlp_reader *o)
{
	const struct stored_identity nobody = { .tgid = 0 };
	const struct stored_kind kind = { .unit = UNIT_SAMPLES };
	uint32_t profile;

	return sample_store_profile(&o->store, &nobody, &kind, &profile, o->why);
}

/* ---- the reader ---- */

static int read_content(struct otlp_reader *o, const struct input *in)
{
	int err = sample_store_init(&o->store, &reader_otlp, o->why);

	if (!err)
		err = content_of(in, SIZE_MAX, &o->content, o->why);
	if (err)
		return err;
	o->tables = otlp_tables_new(o->store.names);
	if (!o->tables)
		return reason_memory(o->why);
	o->usable = UINT64_MAX;
	err = each_message(o, OTLP_STRINGS, note_resource);
	err = err ? err : keep_types(o);
	err = err ? err : choose_type(o);
	err = err ? err : each_message(o, OTLP_ALL_TABLES, read_resource);
	if (!err && !o->store.reader.profile_cnt)
		err = add_empty(o);
	return err ? err : sample_store_finish(&o->store, o->why);
}

/* What is not needed once the samples are stored. */
static void free_content(struct otlp_reader *o)
{
	otlp_tables_free(o->tables);
	o->tables = NULL;
	content_free(&o->content);
	buf_free(&o->ids);
	o->args = NULL;
	o->why = NULL;
}

static void free_otlp(struct reader *r)
{
	struct otlp_reader *o = to_otlp(r);

	free_content(o);
	buf_free(&o->type_names);
	sample_store_free(&o->store);
	free(o);
}

static struct reader *open_otlp(const struct input *in, const struct reader_args *args, char *why,
				size_t why_size)
{
	const struct reason reason = { why, why_size };
	struct otlp_reader *o = calloc(1, sizeof(*o));
	int err;

	if (!o) {
		reason_memory(&reason);
		return NULL;
	}
	o->why = &reason;
	o->args = args;
	o->told = NOBODY;
	err = read_content(o, in);
	free_content(o);
	if (!err)
		return &o->store.reader;
	free_otlp(&o->store.reader);
	errno = -err;
	return NULL;
}

/* Damage is reported once: by the first profile that is run. */
static int run_otlp(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
		    size_t why_size)
{
	struct otlp_reader *o = to_otlp(r);
	int err = sample_store_run(r, on_event, ctx, why, why_size);

	if (err || !*o->damage)
		return err;
	if (o->told == NOBODY)
		o->told = o->store.current;
	if (o->told != o->store.current)
		return 0;
	return reason_say(&(struct reason){ why, why_size }, "%s", o->damage);
}

static bool probe_otlp(const struct input *in)
{
	struct content_head head;

	content_head_of(in, &head);
	return otlp_begins(head.data, head.len, head.whole);
}

static void describe_otlp(const struct reader *r, struct describe *d)
{
	const struct otlp_reader *o = (const struct otlp_reader *)(const void *)r;

	describe_texts(d, "sample_types", "type", &o->type_names);
}

const struct reader_ops reader_otlp = {
	.name = "otlp",
	.help = "OTLP profiles: a request, or a stream of the OpenTelemetry Collector's file "
		"exporter",
	.probe = probe_otlp,
	.typed = true,
	.open = open_otlp,
	.select = sample_store_select,
	.run = run_otlp,
	.describe = describe_otlp,
	.free = free_otlp,
};
