/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kept_room.h - memory of kept data by user: if there is too much, the largest user loses some
 * first.
 */
#ifndef TACHBPF_RECORDING_KEPT_ROOM_H
#define TACHBPF_RECORDING_KEPT_ROOM_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

struct kept_process;

/* The share of a user. */
struct kept_owner {
	uint32_t uid;
	uint32_t processes, over;	/* over: those of them that have ended */
	size_t bytes;
};

/* Zero-initialise; empty when all processes have left. */
struct kept_room {
	struct u64map owners;		/* uid and 1 -> struct kept_owner */
	size_t bytes;			/* of all users */
	uint32_t over;
};

/* Adds a process of this user and sets k->owner. 0 or -ENOMEM. */
int kept_room_join(struct kept_room *r, struct kept_process *k, uint32_t uid);
/* Removes a process. To be called before it is freed. */
void kept_room_leave(struct kept_room *r, struct kept_process *k);
/* k->bytes has changed; its old value is before. */
void kept_room_changed(struct kept_room *r, const struct kept_process *k, size_t before);
/* The process has ended. */
void kept_room_over(struct kept_room *r, struct kept_process *k);
/* Return the user with the most bytes, and with the most ended processes. NULL: none. */
struct kept_owner *kept_room_largest(const struct kept_room *r);
struct kept_owner *kept_room_most_over(const struct kept_room *r);

#endif
