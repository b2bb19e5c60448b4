/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remap.h - translates events of one profile to another profile's tables: for writers that
 * join profiles, or that keep only the used part of one.
 *
 * A frame that is not in the tables (recovery only) becomes <lost frame>.
 */
#ifndef TACHBPF_REMAP_H
#define TACHBPF_REMAP_H

#include "model/event.h"
#include "model/intern.h"

struct remap;

/* Translates from tables to into; both must outlive it. NULL with errno. Freed by remap_free(). */
struct remap *remap_new(const struct profile_tables *tables, struct intern *into);
void remap_free(struct remap *r);

/*
 * Use it for other tables: as a new one, but its memory is kept. It costs nothing that grows with
 * the tables, which many profiles may share.
 */
void remap_begin(struct remap *r, const struct profile_tables *tables, struct intern *into);

/*
 * Enter in into what the tables say of libraries (native_library.h), if frames of any were
 * translated: when the tables are complete. 0 or -ENOMEM.
 */
int remap_libraries(const struct remap *r);

/* Set *out to ev with frames of into, valid until the next call. 0 or -ENOMEM. */
int remap_event(struct remap *r, const struct event *ev, struct event *out);

#endif
