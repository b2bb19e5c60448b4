// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_records.c - see native_records.h. */
#include "resolve/native_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct native_record {
	struct native_record *next;
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

/* In the ring buffer the entries follow the frames that were sent. */
static bool is_whole(const struct raw_native *raw, size_t len)
{
	return len >= offsetof(struct raw_native, frames) &&
	       raw->nframes <= RAW_NATIVE_FRAMES && raw->nentries <= RAW_NATIVE_ENTRIES &&
	       raw->end < NATIVE_END_CNT &&
	       len >= offsetof(struct raw_native, frames) +
		      raw->nframes * sizeof(raw->frames[0]) +
		      raw->nentries * sizeof(raw->entries[0]);
}

static void copy_record(struct raw_native *out, const struct raw_native *raw)
{
	size_t frames = raw->nframes * sizeof(raw->frames[0]);

	memcpy(out, raw, offsetof(struct raw_native, frames) + frames);
	memcpy(out->entries, (const uint8_t *)raw->frames + frames,
	       raw->nentries * sizeof(raw->entries[0]));
}

static struct native_record *of_cpu(const struct native_records *r, uint16_t cpu)
{
	struct native_record *n = r->kept;

	while (n && n->raw.cpu != cpu)
		n = n->next;
	return n;
}

int native_records_put(struct native_records *r, const struct raw_native *raw, size_t len)
{
	struct native_record *n;

	if (!is_whole(raw, len))
		return -EBADMSG;
	n = of_cpu(r, raw->cpu);
	if (!n) {
		n = r->spare ? r->spare : malloc(sizeof(*n));
		if (!n)
			return -ENOMEM;
		r->spare = NULL;
		n->next = r->kept;
		r->kept = n;
	}
	copy_record(&n->raw, raw);
	return 0;
}

const struct raw_native *native_records_take(struct native_records *r, uint64_t time_ns,
					     uint32_t tid, uint16_t cpu)
{
	struct native_record **at = &r->kept, *n;

	while (*at && (*at)->raw.cpu != cpu)
		at = &(*at)->next;
	n = *at;
	if (!n || n->raw.tid != tid || n->raw.h.time_ns != time_ns)
		return NULL;
	*at = n->next;
	free(r->spare);
	r->spare = n;
	return &n->raw;
}
