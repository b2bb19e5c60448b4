// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_read.c - reads the header and the events of a .mlyze file, and checks each rule of the
 * format where it can be violated.
 */
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/mlyze/mlyze_meta.h"
#include "model/intern.h"

/* Offsets of the header's fields. */
#define AT_VERSION 4
#define AT_START 8
#define AT_METADATA_BYTES 16
#define AT_RESERVED 20

struct mlyze_file {
	const uint8_t *data;
	size_t size;
	size_t events;		/* offset of the events */
	uint64_t start_us;
	struct mlyze_meta meta;
};

const char *mlyze_rule_name(enum mlyze_rule rule)
{
	static const char *const names[] = {
		[MLYZE_VALID] = "valid",	     [MLYZE_RULE_MAGIC] = "magic",
		[MLYZE_RULE_VERSION] = "version",    [MLYZE_RULE_METADATA] = "metadata",
		[MLYZE_RULE_REFERENCE] = "reference", [MLYZE_RULE_EVENT_TYPE] = "event type",
		[MLYZE_RULE_VARINT] = "varint",	     [MLYZE_RULE_SIZE] = "file size",
		[MLYZE_RULE_TIME] = "time",
	};

	return (size_t)rule < ARRAY_SIZE(names) ? names[rule] : "unknown";
}

__attribute__((format(printf, 4, 5)))
static int bad_file(struct mlyze_error *error, enum mlyze_rule rule, uint64_t off,
		    const char *fmt, ...)
{
	va_list ap;

	error->rule = rule;
	error->off = off;
	va_start(ap, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

static uint32_t load_le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static int parse_header(struct mlyze_file *f, struct mlyze_error *error)
{
	uint32_t version, bytes;

	if (f->size < 4 || memcmp(f->data, MLYZE_MAGIC, 4))
		return bad_file(error, MLYZE_RULE_MAGIC, 0,
				"not a Memlyze file: expected \"MTRC\"");
	if (f->size < MLYZE_HEADER_BYTES)
		return bad_file(error, MLYZE_RULE_SIZE, f->size,
				"truncated: the header has 256 bytes, the file %zu", f->size);
	version = load_le32(f->data + AT_VERSION);
	if (version != MLYZE_VERSION)
		return bad_file(error, MLYZE_RULE_VERSION, AT_VERSION,
				"version %u is not known, 1 is", version);
	f->start_us = load_le64(f->data + AT_START);
	bytes = load_le32(f->data + AT_METADATA_BYTES);
	if (bytes > f->size - MLYZE_HEADER_BYTES)
		return bad_file(error, MLYZE_RULE_SIZE, f->size,
				"truncated: %u bytes of metadata, the file has %zu", bytes,
				f->size - MLYZE_HEADER_BYTES);
	f->events = MLYZE_HEADER_BYTES + bytes;
	return mlyze_meta_parse(&f->meta, (const char *)f->data + MLYZE_HEADER_BYTES, bytes,
				MLYZE_HEADER_BYTES, error);
}

struct mlyze_file *mlyze_open(const uint8_t *data, size_t size, struct mlyze_error *error)
{
	struct mlyze_file *f = calloc(1, sizeof(*f));
	int err;

	memset(error, 0, sizeof(*error));
	if (!f) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return NULL;
	}
	f->data = data;
	f->size = size;
	err = parse_header(f, error);
	if (err) {
		mlyze_free(f);
		errno = -err;
		return NULL;
	}
	return f;
}

void mlyze_free(struct mlyze_file *f)
{
	if (!f)
		return;
	mlyze_meta_free(&f->meta);
	free(f);
}

uint64_t mlyze_start_us(const struct mlyze_file *f)
{
	return f->start_us;
}

uint32_t mlyze_metadata_bytes(const struct mlyze_file *f)
{
	return (uint32_t)(f->events - MLYZE_HEADER_BYTES);
}

bool mlyze_reserved_clear(const struct mlyze_file *f)
{
	size_t i;

	for (i = AT_RESERVED; i < MLYZE_HEADER_BYTES; i++) {
		if (f->data[i])
			return false;
	}
	return true;
}

size_t mlyze_stack_cnt(const struct mlyze_file *f)
{
	return f->meta.stacks.len / sizeof(struct mlyze_stack_entry);
}

size_t mlyze_file_cnt(const struct mlyze_file *f)
{
	return f->meta.files.len / sizeof(struct mlyze_name);
}

size_t mlyze_function_cnt(const struct mlyze_file *f)
{
	return f->meta.functions.len / sizeof(struct mlyze_name);
}

const struct profile_tables *mlyze_tables(const struct mlyze_file *f)
{
	return intern_tables(f->meta.names);
}

struct mlyze_stack mlyze_stack(const struct mlyze_file *f, uint32_t index)
{
	const struct mlyze_stack_entry *s = (const void *)f->meta.stacks.data;
	const uint32_t *frames = (const void *)f->meta.frames.data;

	s += index;
	return (struct mlyze_stack){ s->id, s->cnt ? frames + s->first : NULL, s->cnt };
}

uint32_t mlyze_event_frames(const struct mlyze_file *f, uint32_t index,
			    uint32_t out[EVENT_MAX_FRAMES])
{
	struct mlyze_stack s = mlyze_stack(f, index);
	size_t keep = s.frame_cnt;

	if (s.frame_cnt > EVENT_MAX_FRAMES) {
		keep = EVENT_MAX_FRAMES - 1;
		out[keep] = f->meta.truncated;
	}
	if (keep)
		memcpy(out, s.frames, keep * sizeof(*out));
	return (uint32_t)(keep + (s.frame_cnt > EVENT_MAX_FRAMES));
}

size_t mlyze_deep_stack_cnt(const struct mlyze_file *f)
{
	return f->meta.deep_cnt;
}

/* ---- events ---- */

void mlyze_rewind(struct mlyze_cursor *c, const struct mlyze_file *f)
{
	*c = (struct mlyze_cursor){ .file = f, .at = f->events, .time_us = f->start_us };
}

/* Decodes one event; the cursor only moves if all of the event is valid. */
struct decoder {
	const struct mlyze_file *f;
	const uint8_t *p, *end;
	const struct mlyze_event *ev;
	struct mlyze_error *error;
	int err;
};

static uint64_t decoder_offset(const struct decoder *d)
{
	return d->p - d->f->data;
}

static void cut_short(struct decoder *d)
{
	if (!d->err)
		d->err = bad_file(d->error, MLYZE_RULE_SIZE, d->ev->off,
				  "truncated: the file ends inside the event that begins here");
}

static uint64_t get_varint(struct decoder *d)
{
	const uint8_t *p;
	uint64_t v = 0;
	size_t i;

	if (d->err)
		return 0;
	p = varint_get(d->p, d->end, &v);
	if (p) {
		d->p = p;
		return v;
	}
	for (i = 0; i < VARINT_MAX && d->p + i < d->end && d->p[i] & 0x80; i++)
		;
	if (d->p + i == d->end && i < VARINT_MAX)
		cut_short(d);
	else
		d->err = bad_file(d->error, MLYZE_RULE_VARINT, decoder_offset(d),
				  "expected a varint of at most 64 bits");
	return 0;
}

/* Reads a little-endian integer of this many bytes. */
static uint64_t get_fixed(struct decoder *d, size_t bytes)
{
	uint8_t v[8] = { 0 };

	if (!d->err && (size_t)(d->end - d->p) < bytes)
		cut_short(d);
	if (d->err)
		return 0;
	memcpy(v, d->p, bytes);
	d->p += bytes;
	return load_le64(v);
}

static void get_alloc(struct decoder *d, struct mlyze_event *ev)
{
	uint64_t off, id;

	ev->addr = get_fixed(d, 8);
	ev->size = get_varint(d);
	off = decoder_offset(d);
	id = get_varint(d);
	ev->thread = (uint16_t)get_fixed(d, 2);
	if (!d->err && !mlyze_meta_stack(&d->f->meta, id, &ev->stack))
		d->err = bad_file(d->error, MLYZE_RULE_REFERENCE, off,
				  "stack %llu is not in the metadata", (unsigned long long)id);
}

static void get_free(struct decoder *d, struct mlyze_event *ev)
{
	ev->addr = get_fixed(d, 8);
}

static void get_gc(struct decoder *d, struct mlyze_event *ev)
{
	ev->objects = get_varint(d);
	ev->bytes = get_varint(d);
}

static void get_marker(struct decoder *d, struct mlyze_event *ev)
{
	uint64_t off = decoder_offset(d), id = get_varint(d);
	const struct mlyze_name *name = d->err ? NULL : mlyze_meta_name(&d->f->meta.functions, id);

	if (name)
		ev->name = name->string;
	else if (!d->err)
		d->err = bad_file(d->error, MLYZE_RULE_REFERENCE, off,
				  "name %llu is not among the metadata's functions",
				  (unsigned long long)id);
}

static void (*const getters[])(struct decoder *d, struct mlyze_event *ev) = {
	[MLYZE_ALLOC] = get_alloc,
	[MLYZE_FREE] = get_free,
	[MLYZE_GC] = get_gc,
	[MLYZE_MARKER] = get_marker,
};

int mlyze_next(struct mlyze_cursor *c, struct mlyze_event *ev, struct mlyze_error *error)
{
	const struct mlyze_file *f = c->file;
	struct decoder d = { .f = f, .p = f->data + c->at, .end = f->data + f->size, .ev = ev,
			     .error = error };
	uint64_t delta;
	uint8_t type;

	if (d.p == d.end)
		return 0;
	*ev = (struct mlyze_event){ .off = c->at };
	type = *d.p++;
	if (type >= ARRAY_SIZE(getters))
		return bad_file(error, MLYZE_RULE_EVENT_TYPE, c->at,
				"event type %u is not known, 0 to 3 are; its length is unknown",
				type);
	ev->type = type;
	delta = get_varint(&d);
	if (!d.err && __builtin_add_overflow(c->time_us, delta, &ev->time_us))
		d.err = bad_file(error, MLYZE_RULE_TIME, c->at, "a time beyond 64 bits");
	if (!d.err)
		getters[type](&d, ev);
	if (d.err)
		return d.err;
	c->at = decoder_offset(&d);
	c->time_us = ev->time_us;
	c->index++;
	return 1;
}
