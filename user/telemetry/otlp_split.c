// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * otlp_split.c - cuts an encoded request in two. See otlp.h.
 *
 * The bytes may come from a file, so they are not trusted. A message is copied field by field: a
 * table of rules says which fields are indices into the dictionary, which get the half's own number
 * on first use, and which are messages with rules of their own. Other fields are copied unchanged.
 */
#include "telemetry/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/proto.h"
#include "telemetry/otlp_dictionary.h"

/* The rules below have no cycle: no bytes can nest deeper than they do. */
enum message {
	MSG_RESOURCE_PROFILES, MSG_RESOURCE, MSG_SCOPE_PROFILES, MSG_SCOPE, MSG_PROFILE, MSG_SAMPLE,
	MSG_VALUE_TYPE, MSG_KEY_VALUE, MSG_ANY_VALUE, MSG_LINE,
	/* Entries of tables. */
	MSG_MAPPING, MSG_LOCATION, MSG_FUNCTION, MSG_LINK, MSG_STRING, MSG_ATTRIBUTE, MSG_STACK,
	MSG_NONE
};

/* A field that is one or more indices into a table, or a message. */
struct rule {
	uint8_t message, field, table, into;
};

static const struct rule rules[] = {
	{ MSG_RESOURCE_PROFILES, RESOURCE_PROFILES_RESOURCE, 0, MSG_RESOURCE },
	{ MSG_RESOURCE_PROFILES, RESOURCE_PROFILES_SCOPE_PROFILES, 0, MSG_SCOPE_PROFILES },
	{ MSG_RESOURCE, RESOURCE_ATTRIBUTES, 0, MSG_KEY_VALUE },
	{ MSG_KEY_VALUE, KEY_VALUE_VALUE, 0, MSG_ANY_VALUE },
	{ MSG_KEY_VALUE, KEY_VALUE_KEY_STRINDEX, TABLE_STRING, 0 },
	{ MSG_ANY_VALUE, ANY_VALUE_STRINDEX, TABLE_STRING, 0 },
	{ MSG_SCOPE_PROFILES, SCOPE_PROFILES_PROFILES, 0, MSG_PROFILE },
	{ MSG_PROFILE, PROFILE_SAMPLE_TYPE, 0, MSG_VALUE_TYPE },
	{ MSG_PROFILE, PROFILE_SAMPLES, 0, MSG_SAMPLE },
	{ MSG_PROFILE, PROFILE_PERIOD_TYPE, 0, MSG_VALUE_TYPE },
	{ MSG_PROFILE, PROFILE_ATTRIBUTES, TABLE_ATTRIBUTE, 0 },
	{ MSG_VALUE_TYPE, VALUE_TYPE_TYPE, TABLE_STRING, 0 },
	{ MSG_VALUE_TYPE, VALUE_TYPE_UNIT, TABLE_STRING, 0 },
	{ MSG_SAMPLE, SAMPLE_STACK, TABLE_STACK, 0 },
	{ MSG_SAMPLE, SAMPLE_ATTRIBUTES, TABLE_ATTRIBUTE, 0 },
	{ MSG_SAMPLE, SAMPLE_LINK, TABLE_LINK, 0 },
	{ MSG_STACK, STACK_LOCATIONS, TABLE_LOCATION, 0 },
	{ MSG_LOCATION, LOCATION_MAPPING, TABLE_MAPPING, 0 },
	{ MSG_LOCATION, LOCATION_LINES, 0, MSG_LINE },
	{ MSG_LOCATION, LOCATION_ATTRIBUTES, TABLE_ATTRIBUTE, 0 },
	{ MSG_LINE, LINE_FUNCTION, TABLE_FUNCTION, 0 },
	{ MSG_FUNCTION, FUNCTION_NAME, TABLE_STRING, 0 },
	{ MSG_FUNCTION, FUNCTION_SYSTEM_NAME, TABLE_STRING, 0 },
	{ MSG_FUNCTION, FUNCTION_FILENAME, TABLE_STRING, 0 },
	{ MSG_MAPPING, MAPPING_FILENAME, TABLE_STRING, 0 },
	{ MSG_MAPPING, MAPPING_ATTRIBUTES, TABLE_ATTRIBUTE, 0 },
	{ MSG_ATTRIBUTE, ATTRIBUTE_KEY, TABLE_STRING, 0 },
	{ MSG_ATTRIBUTE, ATTRIBUTE_VALUE, 0, MSG_ANY_VALUE },
	{ MSG_ATTRIBUTE, ATTRIBUTE_UNIT, TABLE_STRING, 0 },
};

/* Bytes of a message. */
struct span {
	const uint8_t *data;
	size_t len;
};

/* One of the dictionary's tables, and what the half needs of it. */
struct table {
	struct span *entries;
	size_t cnt, cap;
	uint32_t *index;	/* the half's index of an entry; 0: none yet */
	struct buf used;	/* u32: entries in the order of the half's indices, from 1 */
};

struct split {
	struct table tables[TABLE_CNT];
	uint64_t from, to;	/* the half's samples, by their number in the request */
	uint64_t sample;	/* the next one's number */
};

/* The half's index of an entry; a new entry gets the next one. */
static int use_entry(struct split *sp, uint32_t table, uint64_t entry, uint32_t *index)
{
	struct table *t = &sp->tables[table];
	uint32_t number = (uint32_t)entry;

	*index = 0;
	if (!entry)
		return 0;
	if (entry >= t->cnt)
		return -EBADMSG;
	if (!t->index[entry]) {
		if (buf_add(&t->used, &number, sizeof(number)))
			return -ENOMEM;
		t->index[entry] = (uint32_t)(t->used.len / sizeof(number));
	}
	*index = t->index[entry];
	return 0;
}

static int copy_index(struct split *sp, const struct proto_field *f, uint32_t table,
		      struct proto_out *out)
{
	struct buf list = { 0 };
	struct proto_in in = proto_inside(f);
	uint64_t entry = f->value;
	uint32_t index;
	int err;

	if (f->wire == WIRE_VARINT) {
		err = use_entry(sp, table, entry, &index);
		if (!err)
			proto_number_or_0(out, f->number, index);
		return err;
	}
	err = 0;
	while (!err && proto_next_number(&in, &entry)) {
		err = use_entry(sp, table, entry, &index);
		if (!err)
			err = buf_add(&list, &index, sizeof(index));
	}
	if (in.bad)
		err = -EBADMSG;
	if (!err && list.len)
		proto_packed(out, f->number, (uint32_t *)(void *)list.data,
			     (uint32_t)(list.len / sizeof(index)));
	buf_free(&list);
	return err;
}

static const struct rule *rule_of(enum message message, uint32_t field)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].message == message && rules[i].field == field)
			return &rules[i];
	}
	return NULL;
}

static uint64_t load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The profile_id of a half of a profile: different for each, even if halves are cut again. */
static void copy_half_id(const struct split *sp, const struct proto_field *f,
			 struct proto_out *out)
{
	uint64_t id[2];

	if (f->wire != WIRE_BYTES || f->len != sizeof(id))
		return;
	id[0] = hash_secret_mix(load_le64(f->data) ^ HASH_SECRET_A,
				load_le64(f->data + 8) ^ (sp->from ? 1 : 2));
	id[1] = hash_secret_mix(load_le64(f->data + 8) ^ HASH_SECRET_B, id[0]);
	proto_bytes(out, f->number, id, sizeof(id));
}

/* Counts the samples in a message, which is a profile or contains some. */
static int count_samples(enum message message, struct proto_in in, uint64_t *cnt)
{
	const struct rule *rule;
	struct proto_field f;
	int err = 0;

	while (!err && proto_next(&in, &f)) {
		rule = rule_of(message, f.number);
		if (!rule || f.wire != WIRE_BYTES)
			continue;
		if (rule->into == MSG_SAMPLE)
			(*cnt)++;
		else if (rule->into == MSG_SCOPE_PROFILES || rule->into == MSG_PROFILE)
			err = count_samples(rule->into, proto_inside(&f), cnt);
	}
	return in.bad ? -EBADMSG : err;
}

/* Counts the samples in a field with this message. Returns false if the message can have none. */
static bool samples_in(enum message message, struct proto_in in, uint64_t *cnt, int *err)
{
	*cnt = message == MSG_SAMPLE;
	*err = 0;
	if (message != MSG_RESOURCE_PROFILES && message != MSG_SCOPE_PROFILES &&
	    message != MSG_PROFILE)
		return message == MSG_SAMPLE;
	*err = count_samples(message, in, cnt);
	return true;
}

static int copy_message(struct split *sp, enum message message, struct proto_in in,
			struct proto_out *out);

/* Copies a message in a field if it has samples of this half, or can have none. */
static int copy_field(struct split *sp, enum message message, const struct proto_field *f,
		      struct proto_out *out)
{
	uint64_t cnt;
	size_t begin;
	int err;

	if (f->wire != WIRE_BYTES)
		return -EBADMSG;
	if (samples_in(message, proto_inside(f), &cnt, &err)) {
		if (err)
			return err;
		if (sp->sample >= sp->to || sp->sample + cnt <= sp->from) {
			sp->sample += cnt;
			return 0;
		}
		sp->sample += message == MSG_SAMPLE;
	}
	begin = proto_begin(out, f->number);
	err = copy_message(sp, message, proto_inside(f), out);
	proto_end(out, begin);
	return err;
}

/* Returns whether the other half has samples of the next profile, too. */
static int is_cut(const struct split *sp, struct proto_in profile, bool *cut)
{
	uint64_t cnt = 0;
	int err = count_samples(MSG_PROFILE, profile, &cnt);

	*cut = sp->sample < sp->from || sp->sample + cnt > sp->to;
	return err;
}

static int copy_message(struct split *sp, enum message message, struct proto_in in,
			struct proto_out *out)
{
	const uint8_t *begin = in.p;
	const struct rule *rule;
	struct proto_field f;
	bool cut = false;
	int err = 0;

	if (message == MSG_PROFILE)
		err = is_cut(sp, in, &cut);

	for (; !err && proto_next(&in, &f); begin = in.p) {
		rule = rule_of(message, f.number);
		if (rule && rule->table)
			err = copy_index(sp, &f, rule->table, out);
		else if (rule)
			err = copy_field(sp, rule->into, &f, out);
		else if (cut && f.number == PROFILE_ID)
			copy_half_id(sp, &f, out);
		else if (buf_add(&out->b, begin, (size_t)(in.p - begin)))
			err = -ENOMEM;
	}
	return in.bad ? -EBADMSG : err;
}

/* Copies what the half uses of the tables: each refers to later ones only. */
static int copy_tables(struct split *sp, struct proto_out *out)
{
	static const struct {
		uint8_t table, message;
	} order[] = {
		{ TABLE_STACK, MSG_STACK }, { TABLE_LOCATION, MSG_LOCATION },
		{ TABLE_MAPPING, MSG_MAPPING }, { TABLE_FUNCTION, MSG_FUNCTION },
		{ TABLE_LINK, MSG_LINK }, { TABLE_ATTRIBUTE, MSG_ATTRIBUTE },
		{ TABLE_STRING, MSG_STRING },
	};
	struct proto_field entry = { .wire = WIRE_BYTES };
	struct span *span;
	size_t i, k;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		struct table *t = &sp->tables[order[i].table];

		entry.number = order[i].table;
		otlp_put_zero(out, order[i].table);
		for (k = 0; !err && k < t->used.len / sizeof(uint32_t); k++) {
			span = &t->entries[((uint32_t *)(void *)t->used.data)[k]];
			entry.data = span->data;
			entry.len = span->len;
			if (order[i].message == MSG_STRING)
				proto_entry(out, entry.number, entry.data, entry.len);
			else
				err = copy_field(sp, order[i].message, &entry, out);
		}
	}
	return err;
}

static void forget_used(struct split *sp)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		memset(sp->tables[t].index, 0, sp->tables[t].cnt * sizeof(uint32_t));
		sp->tables[t].used.len = 0;
	}
	sp->sample = 0;
}

static int copy_half(struct split *sp, struct proto_in in, struct proto_out *out)
{
	struct proto_field f;
	size_t begin;
	int err = 0;

	forget_used(sp);
	while (!err && proto_next(&in, &f)) {
		if (f.number == REQUEST_RESOURCE_PROFILES)
			err = copy_field(sp, MSG_RESOURCE_PROFILES, &f, out);
	}
	if (in.bad)
		return -EBADMSG;
	if (err)
		return err;
	begin = proto_begin(out, REQUEST_DICTIONARY);
	err = copy_tables(sp, out);
	proto_end(out, begin);
	return err ? err : out->err;
}

/* Adds the entries of a dictionary to the tables. */
static int read_dictionary(struct split *sp, struct proto_in in)
{
	struct proto_field f;
	struct table *t;
	void *entries;

	while (proto_next(&in, &f)) {
		if (f.number >= TABLE_CNT)
			continue;
		if (f.wire != WIRE_BYTES)
			return -EBADMSG;
		t = &sp->tables[f.number];
		entries = array_grow(t->entries, t->cnt, &t->cap, sizeof(*t->entries));
		if (!entries)
			return -ENOMEM;
		t->entries = entries;
		t->entries[t->cnt++] = (struct span){ f.data, f.len };
	}
	return in.bad ? -EBADMSG : 0;
}

/* Reads the tables, and counts the samples. */
static int read_request(struct split *sp, struct proto_in in, uint64_t *samples)
{
	struct proto_field f;
	int err = 0;
	uint32_t t;

	while (!err && proto_next(&in, &f)) {
		if (f.number != REQUEST_RESOURCE_PROFILES && f.number != REQUEST_DICTIONARY)
			continue;
		if (f.wire != WIRE_BYTES)
			return -EBADMSG;
		err = f.number == REQUEST_DICTIONARY ? read_dictionary(sp, proto_inside(&f)) :
			count_samples(MSG_RESOURCE_PROFILES, proto_inside(&f), samples);
	}
	if (in.bad)
		return -EBADMSG;
	for (t = TABLE_MAPPING; !err && t < TABLE_CNT; t++) {
		sp->tables[t].index = calloc(sp->tables[t].cnt + 1, sizeof(uint32_t));
		if (!sp->tables[t].index)
			err = -ENOMEM;
	}
	return err;
}

static void free_split(struct split *sp)
{
	uint32_t t;

	for (t = TABLE_MAPPING; t < TABLE_CNT; t++) {
		free(sp->tables[t].entries);
		free(sp->tables[t].index);
		buf_free(&sp->tables[t].used);
	}
}

int otlp_split(const void *bytes, size_t len, struct buf parts[2])
{
	struct proto_in in = { .p = bytes, .end = (const uint8_t *)bytes + len };
	struct proto_out out[2] = { 0 };
	struct split sp = { 0 };
	uint64_t samples = 0;
	uint32_t i;
	int err = len > INT32_MAX ? -EBADMSG : read_request(&sp, in, &samples);

	if (!err && samples < 2)
		err = -ERANGE;
	for (i = 0; !err && i < 2; i++) {
		sp.from = i ? samples / 2 : 0;
		sp.to = i ? samples : samples / 2;
		err = copy_half(&sp, in, &out[i]);
	}
	if (!err)
		err = buf_reserve(&parts[0], out[0].b.len);
	if (!err)
		err = buf_reserve(&parts[1], out[1].b.len);
	for (i = 0; !err && i < 2; i++)
		err = buf_add(&parts[i], out[i].b.data, out[i].b.len);
	proto_out_free(&out[0]);
	proto_out_free(&out[1]);
	free_split(&sp);
	return err;
}
