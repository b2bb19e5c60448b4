// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kept_room.c - see kept_room.h. */
#include "recording/kept_room.h"

#include <errno.h>
#include <stdlib.h>

#include "recording/kept_process.h"

static uint64_t key_of(uint32_t uid)
{
	return (uint64_t)uid + 1;
}

int kept_room_join(struct kept_room *r, struct kept_process *k, uint32_t uid)
{
	struct kept_owner *o = u64map_get(&r->owners, key_of(uid));

	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o || u64map_put(&r->owners, key_of(uid), o)) {
			free(o);
			return -ENOMEM;
		}
		o->uid = uid;
	}
	o->processes++;
	k->owner = o;
	kept_room_changed(r, k, 0);
	return 0;
}

void kept_room_leave(struct kept_room *r, struct kept_process *k)
{
	struct kept_owner *o = k->owner;

	r->bytes -= k->bytes;
	o->bytes -= k->bytes;
	o->over -= k->over;
	r->over -= k->over;
	if (--o->processes)
		return;
	u64map_remove(&r->owners, key_of(o->uid));
	free(o);
	if (!r->owners.cnt)
		u64map_free(&r->owners);
}

void kept_room_changed(struct kept_room *r, const struct kept_process *k, size_t before)
{
	r->bytes += k->bytes - before;
	k->owner->bytes += k->bytes - before;
}

void kept_room_over(struct kept_room *r, struct kept_process *k)
{
	r->over++;
	k->owner->over++;
}

struct kept_owner *kept_room_largest(const struct kept_room *r)
{
	struct kept_owner *o, *most = NULL;
	size_t pos = 0;

	while ((o = u64map_next(&r->owners, &pos)))
		if (!most || o->bytes > most->bytes)
			most = o;
	return most;
}

struct kept_owner *kept_room_most_over(const struct kept_room *r)
{
	struct kept_owner *o, *most = NULL;
	size_t pos = 0;

	while ((o = u64map_next(&r->owners, &pos)))
		if (o->over && (!most || o->over > most->over))
			most = o;
	return most;
}
