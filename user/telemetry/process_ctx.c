// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_ctx.c - see process_ctx.h: the header and its seqlock, then the payload.
 *
 * An attribute's value may be a list of lists: with 64 KiB of them, a reader that recursed as deep
 * as the payload is nested would overflow the stack. Here, each level of interest is a function, no
 * other is entered, and nothing is allocated.
 */
#include "telemetry/process_ctx.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"

/* ---- the payload ---- */

/* opentelemetry.proto.processcontext.v1development.ProcessContext */
enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2 };
/* opentelemetry.proto.resource.v1.Resource; opentelemetry.proto.common.v1: the others */
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEYVALUE_KEY = 1, KEYVALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_BOOL = 2, ANY_INT = 3, ANY_DOUBLE = 4, ANY_ARRAY = 5 };
enum { ARRAY_VALUES = 1 };

/* The value of an AnyValue: its last field, as for every oneof; number 0: none. */
static bool any_value(const struct proto_field *any, struct proto_field *value)
{
	struct proto_in in = proto_inside(any);
	struct proto_field f;

	*value = (struct proto_field){ 0 };
	while (proto_next(&in, &f))
		*value = f;
	return !in.bad;
}

static bool is_text(const struct proto_field *value)
{
	return value->number == ANY_STRING && value->wire == WIRE_BYTES;
}

static void put_text(struct attrs *a, const struct proto_field *key, const void *text, size_t len)
{
	attrs_put(a, (const char *)key->data, key->len, text, len);
}

/* Lists, bytes and unknown values are dropped; booleans and doubles are kept as text. */
static void put_value(struct attrs *a, const struct proto_field *key,
		      const struct proto_field *value)
{
	unsigned int kind = value->number << 3 | value->wire;
	const char *truth = value->value ? "true" : "false";
	char number[40];
	double d;

	switch (kind) {
	case ANY_STRING << 3 | WIRE_BYTES:
		put_text(a, key, value->data, value->len);
		break;
	case ANY_BOOL << 3 | WIRE_VARINT:
		put_text(a, key, truth, strlen(truth));
		break;
	case ANY_INT << 3 | WIRE_VARINT:
		attrs_put_number(a, (const char *)key->data, key->len, (int64_t)value->value);
		break;
	case ANY_DOUBLE << 3 | WIRE_FIXED64:
		memcpy(&d, &value->value, sizeof(d));
		snprintf(number, sizeof(number), "%.17g", d);
		put_text(a, key, number, strlen(number));
		break;
	default:
		a->dropped++;
	}
}

/* Reads the parts of a KeyValue; either may be missing: number 0. */
static bool key_value(const struct proto_field *kv, struct proto_field *key,
		      struct proto_field *value)
{
	struct proto_in in = proto_inside(kv);
	struct proto_field f, any = { 0 };

	*key = *value = (struct proto_field){ 0 };
	while (proto_next(&in, &f)) {
		if (f.number == KEYVALUE_KEY && f.wire == WIRE_BYTES)
			*key = f;
		else if (f.number == KEYVALUE_VALUE && f.wire == WIRE_BYTES)
			any = f;
	}
	return !in.bad && (!any.number || any_value(&any, value));
}

static bool take_resource(const struct proto_field *resource, struct attrs *a)
{
	struct proto_in in = proto_inside(resource);
	struct proto_field f, key, value;

	while (proto_next(&in, &f)) {
		if (f.number != RESOURCE_ATTRIBUTES)
			continue;
		if (!key_value(&f, &key, &value))
			return false;
		put_value(a, &key, &value);
	}
	return !in.bad;
}

/* A name with its NUL. "" replaces what is no text, so that indices stay right. */
static void add_thread_key(struct thread_keys *k, size_t *used, const struct proto_field *value)
{
	char name[ATTR_KEY_BYTES] = "";
	size_t len;

	if (is_text(value))
		escape_text((const char *)value->data, value->len, name, sizeof(name));
	len = strlen(name) + 1;
	if (k->beyond || k->cnt == THREAD_KEYS_MAX || len > sizeof(k->text) - *used) {
		k->beyond += k->beyond < UINT16_MAX;
		return;
	}
	k->at[k->cnt++] = (uint16_t)*used;
	memcpy(k->text + *used, name, len);
	*used += len;
}

static bool take_key_map(const struct proto_field *array, struct thread_keys *k)
{
	struct proto_in in = proto_inside(array);
	struct proto_field f, value;
	size_t used = 0;

	k->cnt = k->beyond = 0;
	while (proto_next(&in, &f)) {
		if (f.number != ARRAY_VALUES)
			continue;
		if (!any_value(&f, &value))
			return false;
		add_thread_key(k, &used, &value);
	}
	return !in.bad;
}

static bool has_name(const struct proto_field *key, const char *name)
{
	return key->len == strlen(name) && !memcmp(key->data, name, key->len);
}

/* An attribute of the context itself. */
static bool take_attribute(const struct proto_field *kv, struct thread_keys *k)
{
	struct proto_field key, value;

	if (!key_value(kv, &key, &value))
		return false;
	if (!key.number)
		return true;
	if (has_name(&key, "threadlocal.schema_version") && is_text(&value))
		escape_text((const char *)value.data, value.len, k->schema, sizeof(k->schema));
	if (has_name(&key, "threadlocal.attribute_key_map") && value.number == ANY_ARRAY)
		return take_key_map(&value, k);
	return true;
}

int process_ctx_parse(const void *payload, size_t len, struct process_ctx *out)
{
	struct proto_in in = { .p = payload, .end = (const uint8_t *)payload + len };
	struct proto_field f;

	attrs_clear(&out->resource);
	out->threads.schema[0] = '\0';
	out->threads.cnt = out->threads.beyond = 0;
	while (proto_next(&in, &f)) {
		if (f.number == CONTEXT_RESOURCE && !take_resource(&f, &out->resource))
			return -EBADMSG;
		if (f.number == CONTEXT_ATTRIBUTES && !take_attribute(&f, &out->threads))
			return -EBADMSG;
	}
	return in.bad ? -EBADMSG : 0;
}

const char *thread_key(const struct thread_keys *keys, unsigned int index)
{
	return index < keys->cnt ? keys->text + keys->at[index] : "";
}

/* ---- the header ---- */

/* OTEP 4719: the mapping's header, in the byte order of the machine. */
struct header {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	uint64_t published_ns;		/* 0: being changed */
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

#define SIGNATURE "OTEL_CTX"
#define VERSION_DEVELOPMENT 1
#define VERSION 2

static int read_header(const struct target_mem *mem, uint64_t at, struct header *h)
{
	int err = mem->read(mem->ctx, at, h, sizeof(*h));

	if (err)
		return err;
	if (memcmp(h->signature, SIGNATURE, sizeof(h->signature)) ||
	    (h->version != VERSION && h->version != VERSION_DEVELOPMENT))
		return -ENOENT;
	if (!h->published_ns)
		return -EAGAIN;
	return h->payload_size > PROCESS_CTX_BYTES_MAX ? -E2BIG : 0;
}

/*
 * Reads the payload and then the header again: if that is unchanged, nobody had begun to change the
 * context when the payload was read. -EAGAIN: somebody had. A payload that changed meanwhile, or
 * its error, is meaningless.
 */
static int read_payload(const struct target_mem *mem, uint64_t at, const struct header *h,
			uint8_t *payload)
{
	struct header again;
	int payload_err = 0, err;

	if (h->payload_size)
		payload_err = mem->read(mem->ctx, h->payload, payload, h->payload_size);
	if (payload_err == -EBUSY || payload_err == -ESRCH)
		return payload_err;
	err = read_header(mem, at, &again);
	if (!err && memcmp(h, &again, sizeof(again)))
		err = -EAGAIN;
	return err ? err : payload_err;
}

static int try_to_read(const struct target_mem *mem, uint64_t at, uint64_t known_ns,
		       struct process_ctx *out)
{
	uint8_t *payload;
	struct header h;
	int err = read_header(mem, at, &h);

	if (err)
		return err;
	if (known_ns && h.published_ns == known_ns)
		return -EALREADY;
	payload = malloc(h.payload_size + 1);
	if (!payload)
		return -ENOMEM;
	err = read_payload(mem, at, &h, payload);
	if (!err) {
		out->published_ns = h.published_ns;
		out->version = h.version;
		err = process_ctx_parse(payload, h.payload_size, out);
	}
	free(payload);
	return err;
}

/* Reads the context at one address. Returns as process_ctx_read_any(). */
static int process_ctx_read(const struct target_mem *mem, uint64_t at, uint64_t known_ns,
			    struct process_ctx *out)
{
	int err = -EAGAIN, i;

	for (i = 0; err == -EAGAIN && i < PROCESS_CTX_TRIES; i++)
		err = try_to_read(mem, at, known_ns, out);
	return err;
}

int process_ctx_read_any(const struct target_mem *mem, const struct otel_mappings *mappings,
			 uint64_t known_ns, struct process_ctx *out)
{
	int err = -ENOENT, later = 0;
	uint32_t i;

	for (i = 0; i < mappings->cnt && i < OTEL_MAPPINGS_MAX; i++) {
		err = process_ctx_read(mem, mappings->at[i], known_ns, out);
		if (!err || err == -EALREADY)
			return err;
		if (err == -EAGAIN || err == -EBUSY)
			later = err;
	}
	return later ? later : err;
}
