// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* codes_seen.c - see codes_seen.h. */
#include "resolve/codes_seen.h"

#include "base/common_end.h"
#include "base/util.h"

/* One slot. */
struct seen {
	uint64_t code;		/* 0: the slot is free */
	uint64_t ns;
	uint32_t id;
};

static bool slot_used(const void *slot)
{
	return ((const struct seen *)slot)->code;
}

static uint64_t slot_hash(const void *record, const void *ctx)
{
	return hash_u64(((const struct seen *)record)->code);
}

static bool slot_same(const void *slot, const void *key, const void *ctx)
{
	return ((const struct seen *)slot)->code == ((const struct seen *)key)->code;
}

static const struct hash_kind kind = {
	.bytes = sizeof(struct seen), .cap_min = 256,
	.used = slot_used, .hash = slot_hash, .same = slot_same,
};

void codes_seen_free(struct codes_seen *c)
{
	hash_slots_free(&c->table);
}

void codes_seen_set(struct codes_seen *c, uint64_t code, uint32_t id, uint64_t ns)
{
	const struct seen fresh = { .code = code, .ns = ns, .id = id };
	struct seen *slot;

	if (c->table.cnt >= CODES_SEEN_MAX)
		hash_slots_clear(&c->table, &kind);
	if (!code || hash_slots_reserve(&c->table, &kind, NULL))
		return;
	slot = hash_slots_find(&c->table, &kind, &fresh, NULL);
	c->table.cnt += !slot->code;
	if (ns >= slot->ns)
		*slot = fresh;
}

/* Has the frame a code object with a fingerprint? */
static bool claims(const struct raw_frame *frame)
{
	return frame->id && !((frame->lasti & ~RAW_FRAME_UNREAD) >> RAW_KIND_SHIFT);
}

void codes_seen_add(struct codes_seen *c, const struct raw_frame *frames, uint32_t cnt,
		    uint64_t ns)
{
	uint32_t i, fresh = cnt;

	if (ns == c->last_ns)
		fresh -= common_end(c->last + ABI_MAX_FRAMES, frames + cnt,
				    c->last_cnt < cnt ? c->last_cnt : cnt, sizeof(*frames));
	for (i = 0; i < fresh; i++)
		if (claims(&frames[i]))
			codes_seen_set(c, frames[i].code, frames[i].id, ns);
	memcpy(c->last + ABI_MAX_FRAMES - cnt, frames, fresh * sizeof(*frames));
	c->last_cnt = cnt;
	c->last_ns = ns;
}

enum code_verdict codes_seen_verdict(const struct codes_seen *c, const struct raw_frame *frame,
				     uint64_t ns, uint64_t *until)
{
	const struct seen key = { .code = frame->code };
	const struct seen *slot;

	if (!claims(frame) || !frame->code || !(frame->lasti & RAW_FRAME_UNREAD))
		return CODE_SAME;
	if (!c->table.cap)
		return CODE_UNKNOWN;
	slot = hash_slots_find(&c->table, &kind, &key, NULL);
	if (!slot->code || slot->ns < ns)
		return CODE_UNKNOWN;
	if (slot->id != frame->id)
		return CODE_OTHER;
	if (slot->ns < *until)
		*until = slot->ns;
	return CODE_SAME;
}
