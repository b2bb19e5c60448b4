// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp_pair.c - see otlp_pair.h. */
#include "formats/otlp/otlp_pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/otlp/otlp_fields.h"
#include "formats/symbol_frame.h"

static struct string_ref cut(struct string_ref s, uint32_t max)
{
	return (struct string_ref){ s.data, s.len < max ? s.len : max };
}

static struct string_ref text_of(const struct proto_field *f)
{
	if (f->wire != WIRE_BYTES || !f->len)
		return (struct string_ref){ "", 0 };
	return (struct string_ref){ (const char *)f->data, (uint32_t)f->len };
}

bool otlp_strings_add(struct otlp_strings *s, const struct proto_field *f)
{
	const struct string_ref text = cut(text_of(f), SYMBOL_TEXT_MAX);

	return !buf_add(&s->refs, &text, sizeof(text));
}

struct string_ref otlp_string_at(const struct otlp_strings *s, uint64_t index)
{
	const struct string_ref *all = (const struct string_ref *)(const void *)s->refs.data;

	return index < s->refs.len / sizeof(*all) ? all[index] : (struct string_ref){ "", 0 };
}

static void set_text(struct otlp_pair *p, struct string_ref text)
{
	p->kind = OTLP_TEXT;
	p->text = cut(text, OTLP_VALUE_MAX);
}

static void set_number(struct otlp_pair *p, enum otlp_value kind, const struct proto_field *f)
{
	p->kind = kind;
	p->bits = f->value;
}

/* Of several values the last one counts. */
static bool read_value(const struct otlp_strings *s, const struct proto_field *f,
		       struct otlp_pair *out)
{
	struct proto_in in = proto_inside(f);
	struct proto_field inner;

	while (proto_next(&in, &inner)) {
		if (inner.number == ANY_VALUE_STRING || inner.number == ANY_VALUE_BYTES)
			set_text(out, text_of(&inner));
		else if (inner.number == ANY_VALUE_STRINDEX)
			set_text(out, otlp_string_at(s, inner.value));
		else if (inner.number == ANY_VALUE_BOOL)
			set_number(out, OTLP_BOOL, &inner);
		else if (inner.number == ANY_VALUE_INT)
			set_number(out, OTLP_INT, &inner);
		else if (inner.number == ANY_VALUE_DOUBLE)
			set_number(out, OTLP_DOUBLE, &inner);
	}
	return !in.bad;
}

bool otlp_read_pair(const struct otlp_strings *s, const struct proto_field *f, uint32_t key_index,
		    struct otlp_pair *out)
{
	_Static_assert((int)KEY_VALUE_VALUE == (int)ATTRIBUTE_VALUE, "one function reads both");
	struct proto_in in = proto_inside(f);
	struct proto_field inner;
	bool good = true;

	*out = (struct otlp_pair){ .key = { "", 0 }, .text = { "", 0 } };
	while (good && proto_next(&in, &inner)) {
		if (inner.number == KEY_VALUE_KEY && inner.wire == WIRE_BYTES)
			out->key = text_of(&inner);
		else if (inner.number == key_index)
			out->key = otlp_string_at(s, inner.value);
		else if (inner.number == KEY_VALUE_VALUE)
			good = read_value(s, &inner, out);
	}
	out->key = cut(out->key, OTLP_VALUE_MAX);
	return good && !in.bad;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

struct string_ref otlp_pair_text(const struct otlp_pair *p, char room[OTLP_NUMBER_BYTES])
{
	switch (p->kind) {
	case OTLP_TEXT:
		return p->text;
	case OTLP_BOOL:
		return string_of(p->bits ? "true" : "false");
	case OTLP_INT:
		snprintf(room, OTLP_NUMBER_BYTES, "%" PRId64, (int64_t)p->bits);
		return string_of(room);
	case OTLP_DOUBLE:
		snprintf(room, OTLP_NUMBER_BYTES, "%.15g", double_of(p->bits));
		return string_of(room);
	default:
		return (struct string_ref){ "", 0 };
	}
}
