/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remap.h - translates events of one profile to another profile's tables: for writers that join
 * profiles, or that keep only the used part of one.
 *
 * A frame that is not in the tables (recovery only) becomes <lost frame>.
 */
#ifndef TACHBPF_REMAP_H
#define TACHBPF_REMAP_H

#include "model/event.h"
#include "model/intern.h"

struct remap;

/* From tables to into; both must outlive it. Returns NULL with errno. Freed by remap_free(). */
struct remap *remap_new(const struct profile_tables *tables, struct intern *into);
void remap_free(struct remap *r);

/*
 * Reuses it for other tables: like a new one, but keeps its memory. Takes constant time, as many
 * profiles may share large tables.
 */
void remap_begin(struct remap *r, const struct profile_tables *tables, struct intern *into);

/*
 * Adds the libraries of the tables (native_library.h) to into, if frames of any were translated:
 * call this when the tables are complete. Returns 0 or -ENOMEM.
 */
int remap_libraries(const struct remap *r);

/* Sets *out to ev with frames of into, valid until the next call. Returns 0 or -ENOMEM. */
int remap_event(struct remap *r, const struct event *ev, struct event *out);

#endif
