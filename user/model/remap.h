/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remap.h - events of one profile in terms of another's tables: for writers that
 * join profiles, or keep only what is used of one.
 *
 * A frame that the tables do not have (recovery only) becomes <lost frame>.
 */
#ifndef TACHBPF_REMAP_H
#define TACHBPF_REMAP_H

#include "model/event.h"
#include "model/intern.h"

struct remap;

/* From tables to into; both outlive it. NULL with errno. */
struct remap *remap_new(const struct profile_tables *tables, struct intern *into);
void remap_free(struct remap *r);

/* *out is ev with into's frames, valid until the next call. 0 or -ENOMEM. */
int remap_event(struct remap *r, const struct event *ev, struct event *out);

#endif
