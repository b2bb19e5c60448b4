/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kept_room.h - how much of what is kept is whose: if there is too much, the user who has most loses
 * something first.
 */
#ifndef TACHBPF_RECORDING_KEPT_ROOM_H
#define TACHBPF_RECORDING_KEPT_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

struct kept_process;

/* What a user has. */
struct kept_owner {
	uint32_t uid;
	uint32_t processes, over;	/* over: of these, those that have ended */
	size_t bytes;
};

/* Zero-initialise; empty when all processes have left. */
struct kept_room {
	struct u64map owners;		/* uid and 1 -> struct kept_owner */
	size_t bytes;			/* of all */
	uint32_t over;
};

/* A process of this user begins: k->owner. 0 or -ENOMEM. */
int kept_room_join(struct kept_room *r, struct kept_process *k, uint32_t uid);
/* It goes. To be called before it is freed. */
void kept_room_leave(struct kept_room *r, struct kept_process *k);
/* k->bytes has changed; it was before. */
void kept_room_changed(struct kept_room *r, const struct kept_process *k, size_t before);
/* It is over. */
void kept_room_over(struct kept_room *r, struct kept_process *k);
/* Who has most bytes; who has most processes that are over. NULL: nobody. */
struct kept_owner *kept_room_largest(const struct kept_room *r);
struct kept_owner *kept_room_most_over(const struct kept_room *r);

#endif
