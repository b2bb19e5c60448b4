// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp_messages.c - see otlp_messages.h. Owns nothing. */
#include "formats/otlp/otlp_messages.h"

#include "base/proto.h"
#include "base/util.h"
#include "formats/otlp/otlp_fields.h"

#define LENGTH_BYTES 4

/* ---- detection ---- */

/* The part of a message that can be seen; `whole` bytes of it are left. */
struct look {
	const uint8_t *p, *end;
	size_t whole;
};

enum seen { SEEN_OTHER, SEEN_CUT, SEEN_FIELD };

/*
 * Looks into the next field, which must have bytes and fit into its message. Afterwards l is behind
 * it, or at the end of what can be seen. SEEN_CUT: that ends before the field's content.
 */
static enum seen look_into(struct look *l, uint32_t number_max, uint32_t *number,
			   struct look *inner)
{
	uint64_t key, len;
	const uint8_t *p = varint_get(l->p, l->end, &key), *content;

	if (!p)
		return l->end - l->p < VARINT_MAX ? SEEN_CUT : SEEN_OTHER;
	if ((key & 7) != WIRE_BYTES || key < 8 || key >> 3 > number_max)
		return SEEN_OTHER;
	content = varint_get(p, l->end, &len);
	if (!content)
		return l->end - p < VARINT_MAX ? SEEN_CUT : SEEN_OTHER;
	l->whole -= (size_t)(content - l->p);
	if (len > l->whole)
		return SEEN_OTHER;
	*number = (uint32_t)(key >> 3);
	*inner = (struct look){ content, l->end, (size_t)len };
	if (len < (size_t)(l->end - content))
		inner->end = content + len;
	l->p = inner->end;
	l->whole -= (size_t)len;
	return SEEN_FIELD;
}

/* Returns false if the next field cannot be one of these. */
static bool may_begin(struct look l, uint32_t number_max)
{
	struct look inner;
	uint32_t number;

	return !l.whole || look_into(&l, number_max, &number, &inner) != SEEN_OTHER;
}

/* A resource, profiles of scopes, and a schema's URL, of which the first two are messages. */
static bool is_resource_profiles(struct look l)
{
	struct look inner;
	uint32_t number;
	enum seen seen = l.whole ? look_into(&l, RESOURCE_PROFILES_SCHEMA_URL, &number, &inner) :
				   SEEN_CUT;

	if (seen != SEEN_FIELD)
		return seen == SEEN_CUT;
	if (number == RESOURCE_PROFILES_SCOPE_PROFILES)
		return may_begin(inner, SCOPE_PROFILES_SCHEMA_URL);
	if (number == RESOURCE_PROFILES_RESOURCE && inner.p < inner.end)
		return *inner.p >> 3 && *inner.p >> 3 <= RESOURCE_ENTITY_REFS;
	return true;
}

/* The first entry of a table is its zero value. */
static bool is_dictionary(struct look l)
{
	struct look inner;
	uint32_t number;

	return look_into(&l, TABLE_CNT - 1, &number, &inner) == SEEN_FIELD && !inner.whole;
}

/* Of profile.proto, field 1 is a type, which only has numbers: no file is both. */
static bool is_message(const uint8_t *data, size_t len, size_t whole)
{
	struct look l = { data, data + len, whole }, inner;
	enum seen seen = SEEN_FIELD;
	bool known = false;
	uint32_t number;

	while (l.p < l.end) {
		seen = look_into(&l, REQUEST_DICTIONARY, &number, &inner);
		if (seen != SEEN_FIELD)
			break;
		if (number == REQUEST_RESOURCE_PROFILES ? !is_resource_profiles(inner) :
							  !known && !is_dictionary(inner))
			return false;
		known |= inner.whole > 0;
	}
	return known && seen != SEEN_OTHER;
}

static uint32_t read_length(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool otlp_begins(const uint8_t *data, size_t len, size_t whole)
{
	size_t message;

	if (is_message(data, len, whole))
		return true;
	if (len <= LENGTH_BYTES)
		return false;
	message = read_length(data);
	data += LENGTH_BYTES;
	len -= LENGTH_BYTES;
	return message && message <= OTLP_MESSAGE_MAX &&
	       is_message(data, len < message ? len : message, message);
}

/* ---- messages ---- */

/* A stream begins with a length, whose first byte is less than any that a message begins with. */
struct otlp_messages otlp_messages_of(const uint8_t *data, size_t len)
{
	_Static_assert(OTLP_MESSAGE_MAX >> 24 < REQUEST_RESOURCE_PROFILES << 3, "they differ");

	return (struct otlp_messages){
		.p = data, .end = data + len,
		.stream = len && data[0] <= OTLP_MESSAGE_MAX >> 24,
	};
}

static size_t next_length(const struct otlp_messages *m)
{
	size_t left = (size_t)(m->end - m->p);

	return left < LENGTH_BYTES ? SIZE_MAX : read_length(m->p);
}

bool otlp_messages_next(struct otlp_messages *m, struct otlp_message *out)
{
	size_t len = (size_t)(m->end - m->p);

	while (m->stream && m->p < m->end) {
		len = next_length(m);
		m->cut = len > OTLP_MESSAGE_MAX || len > (size_t)(m->end - m->p) - LENGTH_BYTES;
		if (m->cut)
			return false;
		m->p += LENGTH_BYTES;
		if (len)
			break;
	}
	if (m->p == m->end)
		return false;
	*out = (struct otlp_message){ m->p, len };
	m->p += len;
	m->cnt++;
	return true;
}
