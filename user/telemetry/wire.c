// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* wire.c - see wire.h. */
#include "telemetry/wire.h"

#include <string.h>

#include "base/util.h"

#define FIELD_NUMBER_MAX 0x1fffffffu	/* protobuf.dev: 2^29 - 1 */

/* Take a little-endian number of so many bytes. */
static bool fixed(struct wire *w, size_t bytes, uint64_t *v)
{
	size_t i;

	if ((size_t)(w->end - w->p) < bytes)
		return false;
	*v = 0;
	for (i = 0; i < bytes; i++)
		*v |= (uint64_t)*w->p++ << 8 * i;
	return true;
}

static bool varint(struct wire *w, uint64_t *v)
{
	const uint8_t *p = varint_get(w->p, w->end, v);

	if (p)
		w->p = p;
	return p;
}

static bool bytes(struct wire *w, struct wire_field *f)
{
	uint64_t len;

	if (!varint(w, &len) || len > (size_t)(w->end - w->p))
		return false;
	f->data = w->p;
	f->len = (size_t)len;
	w->p += f->len;
	return true;
}

static bool content(struct wire *w, struct wire_field *f)
{
	switch (f->type) {
	case WIRE_VARINT:
		return varint(w, &f->value);
	case WIRE_FIXED64:
		return fixed(w, 8, &f->value);
	case WIRE_FIXED32:
		return fixed(w, 4, &f->value);
	case WIRE_BYTES:
		return bytes(w, f);
	default:
		return false;
	}
}

bool wire_next(struct wire *w, struct wire_field *f)
{
	uint64_t tag;

	if (w->bad || w->p == w->end)
		return false;
	*f = (struct wire_field){ 0 };
	w->bad = true;
	if (!varint(w, &tag) || tag < 8 || tag >> 3 > FIELD_NUMBER_MAX)
		return false;
	f->number = (uint32_t)(tag >> 3);
	f->type = (enum wire_type)(tag & 7);
	w->bad = !content(w, f);
	return !w->bad;
}

struct wire wire_of(const struct wire_field *f)
{
	struct wire w = { .p = f->data, .end = f->data + f->len };

	w.bad = f->type != WIRE_BYTES;
	return w;
}
