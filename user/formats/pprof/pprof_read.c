// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pprof_read.c - reads profile.proto, gzipped or not, of any producer. See docs/format-pprof.md.
 *
 * Of a sample's values one counts (value_type.h). Labels say which process and thread it is of, as
 * ours do and those of others; comments KEY=VALUE which service.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "formats/content.h"
#include "formats/describe.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/pprof/pprof_fields.h"
#include "formats/pprof/pprof_tables.h"
#include "formats/sample_labels.h"
#include "formats/sample_store.h"
#include "formats/value_type.h"

#define TYPES_MAX 64
#define COMMENTS_MAX 1024

/* The profile's own fields. */
struct head {
	struct value_type types[TYPES_MAX];
	size_t type_cnt;
	uint64_t default_type;		/* number of a string; 0: none */
	struct value_type period_type;
	uint64_t period, time_ns, duration_ns;
};

struct pprof_reader {
	struct sample_store store;	/* first */
	struct content content;
	const uint8_t *data;		/* the profile */
	size_t len;
	struct pprof_tables *tables;
	struct head head;
	size_t value, held;		/* the values that count; held: type_cnt: none */
	struct stored_kind kind;
	struct profile_service service;	/* of the comments */
	struct buf types, comments;	/* const char *, texts of the store */
	struct buf ids;
	const struct reason *why;
};

static struct pprof_reader *to_pprof(struct reader *r)
{
	return (struct pprof_reader *)(void *)r;
}

static struct string_ref string_at(const struct pprof_reader *p, uint64_t number)
{
	return pprof_tables_string(p->tables, number);
}

/* ---- detection ---- */

/* Returns true if it has nothing but the two numbers of a type, and at least one. */
static bool is_value_type(const struct proto_field *f)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	size_t cnt = 0;

	while (proto_next(&in, &inner)) {
		if (inner.number > VALUE_TYPE_UNIT || inner.wire != WIRE_VARINT)
			return false;
		cnt++;
	}
	return cnt && !in.bad;
}

static bool is_profile_field(const struct proto_field *f)
{
	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		return is_value_type(f);
	case PROFILE_SAMPLE:
	case PROFILE_MAPPING:
	case PROFILE_LOCATION:
	case PROFILE_FUNCTION:
	case PROFILE_STRING:
	case PROFILE_PERIOD_TYPE:
		return f->wire == WIRE_BYTES;
	case PROFILE_COMMENT:
		return f->wire == WIRE_BYTES || f->wire == WIRE_VARINT;
	default:
		return f->number <= PROFILE_DOC_URL && f->wire == WIRE_VARINT;
	}
}

/* Returns true if the beginning of a file has a sample type, and only fields of a profile. */
static bool is_profile(const uint8_t *data, size_t len)
{
	struct proto_in in = { .p = data, .end = data + len };
	struct proto_field f;
	bool typed = false;

	while (proto_next(&in, &f)) {
		if (!is_profile_field(&f))
			return false;
		typed |= f.number == PROFILE_SAMPLE_TYPE;
	}
	return typed;	/* the last field may be cut */
}

static bool pprof_probe(const struct input *in)
{
	struct content_head head;

	content_head_of(in, &head);
	return is_profile(head.data, head.len);
}

/* ---- the head ---- */

static int read_type(struct pprof_reader *p, const struct proto_field *f, struct value_type *out)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	uint64_t type = 0, unit = 0;

	while (proto_next(&in, &inner)) {
		if (inner.number == VALUE_TYPE_TYPE)
			type = inner.value;
		else if (inner.number == VALUE_TYPE_UNIT)
			unit = inner.value;
	}
	*out = (struct value_type){ string_at(p, type), string_at(p, unit) };
	return in.bad ? reason_at(p->why, p->store.at, "a type that is no message") : 0;
}

/* KEY=VALUE may say which service it is. */
static int add_comment(struct pprof_reader *p, struct string_ref s)
{
	const char *text = sample_store_text(&p->store, s.data, s.len), *equals;
	enum service_part part;

	if (!text)
		return reason_memory(p->why);
	equals = strchr(text, '=');
	if (equals && equals[1] && service_part_find(text, (size_t)(equals - text), &part))
		p->service.part[part] = equals + 1;
	if (p->comments.len == COMMENTS_MAX * sizeof(text))
		return 0;
	return buf_add(&p->comments, &text, sizeof(text)) ? reason_memory(p->why) : 0;
}

static int add_comments(struct pprof_reader *p, const struct proto_field *f)
{
	struct proto_numbers n = proto_numbers_of(f);
	uint64_t number;
	int err = 0;

	while (!err && proto_numbers_next(&n, &number))
		err = add_comment(p, string_at(p, number));
	return err;
}

static int read_head_field(struct pprof_reader *p, const struct proto_field *f)
{
	struct head *h = &p->head;

	switch (f->number) {
	case PROFILE_SAMPLE_TYPE:
		if (h->type_cnt == TYPES_MAX)
			return reason_at(p->why, p->store.at, "more than %d sample types",
					 TYPES_MAX);
		return read_type(p, f, &h->types[h->type_cnt++]);
	case PROFILE_PERIOD_TYPE:
		return read_type(p, f, &h->period_type);
	case PROFILE_COMMENT:
		return add_comments(p, f);
	case PROFILE_DEFAULT_TYPE:
		h->default_type = f->value;
		return 0;
	case PROFILE_PERIOD:
		h->period = f->value;
		return 0;
	case PROFILE_TIME:
		h->time_ns = f->value <= INT64_MAX ? f->value : 0;
		return 0;
	case PROFILE_DURATION:
		h->duration_ns = f->value <= INT64_MAX ? f->value : 0;
		return 0;
	default:
		return 0;
	}
}

/* The type that pprof shows: the one that is named, else the last. */
static size_t shown_type(const struct pprof_reader *p)
{
	struct string_ref name = string_at(p, p->head.default_type);
	size_t i;

	for (i = 0; name.len && i < p->head.type_cnt; i++) {
		if (!ref_compare(p->head.types[i].type, name))
			return i;
	}
	return p->head.type_cnt - 1;
}

static const char *text_of(struct pprof_reader *p, struct string_ref s)
{
	return sample_store_text(&p->store, s.data, s.len);
}

/* Keeps the names of all types, for `info`. */
static int keep_types(struct pprof_reader *p)
{
	const char *text;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < p->head.type_cnt; i++) {
		text = text_of(p, p->head.types[i].type);
		err = text ? buf_add(&p->types, &text, sizeof(text)) : -ENOMEM;
	}
	return err ? reason_memory(p->why) : 0;
}

static int choose_values(struct pprof_reader *p, const struct reader_args *args)
{
	struct head *h = &p->head;
	const struct value_type *t;
	enum profile_unit unit;

	if (!h->type_cnt)
		return reason_at(p->why, p->len, "no sample type");
	if (keep_types(p))
		return -ENOMEM;
	p->value = value_choose(h->types, h->type_cnt, shown_type(p), args);
	if (p->value == h->type_cnt)
		return value_missing(h->types, h->type_cnt, args->type, p->why);
	t = &h->types[p->value];
	p->held = h->type_cnt;
	if (args->value == VALUE_BOTH && ref_is(t->type, "alloc_space"))
		p->held = value_find(h->types, h->type_cnt, "inuse_space");
	unit = value_scale_of(t).unit;
	p->kind = (struct stored_kind){
		.type = text_of(p, t->type), .type_unit = text_of(p, t->unit),
		.unit = unit, .interval_us = value_period_ns(&h->period_type, h->period) / 1000,
		.mode = value_mode_of(unit == UNIT_SAMPLES ? &h->period_type : t),
		.start_utc_ns = h->time_ns, .duration_ns = h->duration_ns,
		.held_apart = p->held < h->type_cnt,
	};
	return p->kind.type && p->kind.type_unit ? 0 : reason_memory(p->why);
}

static int read_head(struct pprof_reader *p, const struct reader_args *args)
{
	struct proto_in in = { .p = p->data, .end = p->data + p->len };
	struct proto_field f;
	int err = 0;

	while (!err && proto_next(&in, &f)) {
		p->store.at = (uint64_t)(in.p - p->data);
		err = read_head_field(p, &f);
	}
	return err ? err : choose_values(p, args);
}

/* ---- samples ---- */

static int read_label(struct pprof_reader *p, const struct proto_field *f, struct sample_labels *l)
{
	struct string_ref key = { "", 0 }, text = { "", 0 };
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	uint64_t number = 0;

	while (proto_next(&in, &inner)) {
		if (inner.number == LABEL_KEY)
			key = string_at(p, inner.value);
		else if (inner.number == LABEL_STR)
			text = string_at(p, inner.value);
		else if (inner.number == LABEL_NUM)
			number = inner.value;
	}
	if (in.bad)
		return reason_at(p->why, p->store.at, "a label that is no message");
	return sample_labels_take(&p->store, key, text, number, l) ? reason_memory(p->why) : 0;
}

/* Beyond the frames that are kept, it only matters whether there are more. */
static int add_locations(struct pprof_reader *p, const struct proto_field *f)
{
	struct proto_numbers n = proto_numbers_of(f);
	const uint32_t *frames;
	uint64_t id;
	uint32_t cnt;

	while (p->ids.len <= EVENT_MAX_FRAMES * sizeof(*frames) && proto_numbers_next(&n, &id)) {
		frames = pprof_tables_location(p->tables, id, &cnt);
		if (!frames)
			return reason_at(p->why, p->store.at, "a sample of location %" PRIu64
					 ", which is missing", id);
		if (buf_add(&p->ids, frames, cnt * sizeof(*frames)))
			return reason_memory(p->why);
	}
	return n.in.bad ? reason_at(p->why, p->store.at, "a stack without numbers") : 0;
}

/* Values of the sample so far. */
struct values {
	uint64_t v[TYPES_MAX];
	size_t cnt;
};

static int add_values(struct pprof_reader *p, const struct proto_field *f, struct values *values)
{
	struct proto_numbers n = proto_numbers_of(f);
	uint64_t v;

	while (proto_numbers_next(&n, &v)) {
		if (values->cnt == p->head.type_cnt)
			return reason_at(p->why, p->store.at,
					 "a sample with more values than types");
		values->v[values->cnt++] = v;
	}
	return n.in.bad ? reason_at(p->why, p->store.at, "a value that is no number") : 0;
}

/* The weight of a value of this type. */
static int weigh_value(const struct pprof_reader *p, const struct values *values, size_t type,
		       uint64_t *weight)
{
	return value_weigh(values->v[type], value_scale_of(&p->head.types[type]).factor,
			   p->store.at, weight, p->why);
}

/* Bytes that are still held are an event of their own. */
static int store_held(struct pprof_reader *p, uint32_t profile, const struct sample_labels *l,
		      const struct values *values, uint64_t all)
{
	uint64_t held = 0;
	int err = weigh_value(p, values, p->held, &held);

	held = held < all ? held : all;
	if (!err)
		err = sample_store_add(&p->store, profile, &l->thread, &p->ids, held, STATUS_HELD,
				       p->why);
	if (!err)
		err = sample_store_add(&p->store, profile, &l->thread, &p->ids, all - held, 0,
				       p->why);
	return err;
}

static int store_sample(struct pprof_reader *p, const struct sample_labels *l,
			const struct values *values)
{
	uint64_t weight = 0;
	uint32_t profile;
	int err;

	if (values->cnt != p->head.type_cnt)
		return reason_at(p->why, p->store.at, "a sample of %zu values, but there are %zu "
				 "types", values->cnt, p->head.type_cnt);
	err = weigh_value(p, values, p->value, &weight);
	if (!err && weight)
		err = sample_store_profile(&p->store, &l->of, &p->kind, &profile, p->why);
	if (err || !weight)
		return err;
	if (p->held < p->head.type_cnt)
		return store_held(p, profile, l, values, weight);
	return sample_store_add(&p->store, profile, &l->thread, &p->ids, weight, l->status,
				p->why);
}

static int read_sample(struct pprof_reader *p, const struct proto_field *f)
{
	struct sample_labels l = { .of.service = p->service };
	struct proto_in in = proto_inside(f);
	struct values values = { .cnt = 0 };
	struct proto_field inner;
	int err = 0;

	p->ids.len = 0;
	while (!err && proto_next(&in, &inner)) {
		if (inner.number == SAMPLE_LOCATION)
			err = add_locations(p, &inner);
		else if (inner.number == SAMPLE_VALUE)
			err = add_values(p, &inner, &values);
		else if (inner.number == SAMPLE_LABEL)
			err = read_label(p, &inner, &l);
	}
	if (!err && in.bad)
		err = reason_at(p->why, p->store.at, "a sample that is no message");
	return err ? err : store_sample(p, &l, &values);
}

/* A profile without samples has its service, too. */
static int read_samples(struct pprof_reader *p)
{
	const struct stored_identity of = { .service = p->service };
	struct proto_in in = { .p = p->data, .end = p->data + p->len };
	struct proto_field f;
	uint32_t profile;
	int err = 0;

	while (!err && proto_next(&in, &f)) {
		p->store.at = (uint64_t)(in.p - p->data);
		if (f.number == PROFILE_SAMPLE)
			err = read_sample(p, &f);
	}
	if (!err && !p->store.reader.profile_cnt)
		err = sample_store_profile(&p->store, &of, &p->kind, &profile, p->why);
	return err ? err : sample_store_finish(&p->store, p->why);
}

/* ---- the reader ---- */

static int read_profile(struct pprof_reader *p, const struct input *in,
			const struct reader_args *args)
{
	int err = sample_store_init(&p->store, &reader_pprof, p->why);

	if (!err)
		err = content_of(in, CONTENT_MAX_BYTES, &p->content, p->why);
	if (err)
		return err;
	p->data = p->content.data;
	p->len = p->content.len;
	p->tables = pprof_tables_read(p->data, p->len, p->store.names, p->why);
	if (!p->tables)
		return -errno;
	err = read_head(p, args);
	return err ? err : read_samples(p);
}

/* What is not needed once the samples are stored. */
static void free_content(struct pprof_reader *p)
{
	pprof_tables_free(p->tables);
	p->tables = NULL;
	content_free(&p->content);
	buf_free(&p->ids);
	p->why = NULL;
}

static void free_pprof(struct reader *r)
{
	struct pprof_reader *p = to_pprof(r);

	free_content(p);
	buf_free(&p->types);
	buf_free(&p->comments);
	sample_store_free(&p->store);
	free(p);
}

static struct reader *open_pprof(const struct input *in, const struct reader_args *args, char *why,
				 size_t why_size)
{
	const struct reason reason = { why, why_size };
	struct pprof_reader *p = calloc(1, sizeof(*p));
	int err;

	if (!p) {
		reason_memory(&reason);
		return NULL;
	}
	p->why = &reason;
	err = read_profile(p, in, args);
	free_content(p);
	if (!err)
		return &p->store.reader;
	free_pprof(&p->store.reader);
	errno = -err;
	return NULL;
}

static void pprof_describe(const struct reader *r, struct describe *d)
{
	const struct pprof_reader *p = (const struct pprof_reader *)(const void *)r;

	describe_texts(d, "sample_types", "type", &p->types);
	describe_texts(d, "comments", "comment", &p->comments);
}

const struct reader_ops reader_pprof = {
	.name = "pprof",
	.help = "profile.proto of pprof: Go, google-perftools, py-spy, Pyroscope, ...",
	.probe = pprof_probe,
	.typed = true,
	.open = open_pprof,
	.select = sample_store_select,
	.run = sample_store_run,
	.describe = pprof_describe,
	.free = free_pprof,
};
