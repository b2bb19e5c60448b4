/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kept_events.h - events of one process in compact form: a stack stores only how it differs from
 * the previous one. Frames keep the process' ids.
 */
#ifndef TACHBPF_RECORDING_KEPT_EVENTS_H
#define TACHBPF_RECORDING_KEPT_EVENTS_H

#include "base/util.h"
#include "model/event.h"

/* The last event, from which the next one differs; one per process, for all its lists. */
struct kept_last {
	uint64_t time_us, thread_id;
	uint32_t nframes;
	uint32_t frames[EVENT_MAX_FRAMES];
};

/* Zero-initialise; freed by kept_events_free(). */
struct kept_events {
	struct buf data;
	uint32_t cnt;
};

/* Resets last before a new list. */
void kept_last_reset(struct kept_last *last);
/*
 * Appends an event, without its context (trace). last is that of the previous event in this list.
 * 0, or -ENOMEM with the list unchanged.
 */
int kept_events_add(struct kept_events *k, struct kept_last *last, const struct event *ev);
/* Frees unused memory; no more events will come. */
void kept_events_close(struct kept_events *k);
/* Returns about how many bytes it takes. */
size_t kept_events_bytes(const struct kept_events *k);
/* Calls event() for each in order, until it returns non-zero; returns that, or 0. */
int kept_events_replay(const struct kept_events *k,
		       int (*event)(void *ctx, const struct event *ev), void *ctx);
void kept_events_free(struct kept_events *k);

#endif
