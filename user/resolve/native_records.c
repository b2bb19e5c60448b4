// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_records.c - see native_records.h. */
#include "resolve/native_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct native_record {
	struct native_record *next;
	size_t cap;		/* bytes there are for raw, which has as many slots as it needs */
	struct raw_native raw;
};

void native_records_free(struct native_records *r)
{
	struct native_record *n, *next;

	for (n = r->kept; n; n = next) {
		next = n->next;
		free(n);
	}
	free(r->spare);
	*r = (struct native_records){ 0 };
}

/* Returns the length of a record that has valid numbers. */
static size_t record_bytes(const struct raw_native *raw)
{
	return offsetof(struct raw_native, slots) +
	       ((size_t)raw->nentries + raw->nframes) * sizeof(raw->slots[0]);
}

static bool is_whole(const struct raw_native *raw, size_t len)
{
	return len >= offsetof(struct raw_native, slots) &&
	       raw->nframes <= RAW_NATIVE_FRAMES && raw->nentries <= RAW_NATIVE_ENTRIES &&
	       raw->left_out < NATIVE_STEPS &&
	       (!raw->left_out || raw->nframes == RAW_NATIVE_FRAMES) &&
	       raw->end < NATIVE_END_CNT && len >= record_bytes(raw);
}

/* The frames from RAW_NATIVE_INNER on, which are a ring; the first of them is one of the gap's. */
static void copy_ring(struct raw_native *out, const struct raw_native_frame *ring)
{
	size_t first = out->left_out % RAW_NATIVE_OUTER, rest = RAW_NATIVE_OUTER - first;
	struct raw_native_frame *to = out->frames + RAW_NATIVE_INNER;

	memcpy(to, ring + first, rest * sizeof(*ring));
	memcpy(to + rest, ring, first * sizeof(*ring));
	to->addr = 0;
	to->file = 0;
	out->left_out++;
}

static void take_apart(struct raw_native *out, const struct raw_native *raw)
{
	const struct raw_native_frame *frames = raw->slots + raw->nentries;
	size_t straight = raw->left_out ? RAW_NATIVE_INNER : raw->nframes;

	memcpy(out, raw, offsetof(struct raw_native, slots));
	memcpy(out->entries, raw->slots, raw->nentries * sizeof(raw->slots[0]));
	memcpy(out->frames, frames, straight * sizeof(*frames));
	if (raw->left_out)
		copy_ring(out, frames + straight);
}

/* Returns where the record of this CPU is linked, or the end of the list. */
static struct native_record **place_of_cpu(struct native_records *r, uint16_t cpu)
{
	struct native_record **at = &r->kept;

	while (*at && (*at)->raw.cpu != cpu)
		at = &(*at)->next;
	return at;
}

/* Takes the record of this CPU, or the spare one, out of r. NULL: there is none. */
static struct native_record *take_memory(struct native_records *r, uint16_t cpu)
{
	struct native_record **at = place_of_cpu(r, cpu), *n = *at;

	if (n) {
		*at = n->next;
	} else {
		n = r->spare;
		r->spare = NULL;
	}
	return n;
}

int native_records_put(struct native_records *r, const struct raw_native *raw, size_t len)
{
	struct native_record *n, *bigger;

	if (!is_whole(raw, len))
		return -EBADMSG;
	len = record_bytes(raw);
	n = take_memory(r, raw->cpu);
	if (!n || n->cap < len) {
		bigger = malloc(offsetof(struct native_record, raw) + len);
		free(n);
		n = bigger;
		if (!n)
			return -ENOMEM;
		n->cap = len;
	}
	memcpy(&n->raw, raw, len);
	n->next = r->kept;
	r->kept = n;
	return 0;
}

int native_records_take(struct native_records *r, uint64_t time_ns, uint32_t tid, uint16_t cpu,
			struct raw_native *out)
{
	struct native_record **at = place_of_cpu(r, cpu), *n = *at;

	if (!n || n->raw.tid != tid || n->raw.h.time_ns != time_ns)
		return -ENOENT;
	*at = n->next;
	free(r->spare);
	r->spare = n;
	take_apart(out, &n->raw);
	return 0;
}
