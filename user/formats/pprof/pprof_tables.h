/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pprof_tables.h - the tables of a profile.proto, read from hostile bytes: strings, and the frames
 * of locations. For pprof_read.c.
 *
 * Ids may be any numbers, and messages may come in any order. Inlined functions are frames of their
 * own.
 */
#ifndef TACHBPF_PPROF_TABLES_H
#define TACHBPF_PPROF_TABLES_H

#include "base/proto.h"
#include "base/string_ref.h"
#include "formats/read_error.h"

struct intern;
struct pprof_tables;

/*
 * Reads the tables of a profile; its bytes must stay as long as they are used. Frames are added to
 * names. Returns NULL with errno (ENOMEM, EBADMSG) and a reason. Freed by pprof_tables_free().
 */
struct pprof_tables *pprof_tables_read(const uint8_t *data, size_t len, struct intern *names,
				       const struct reason *why);
void pprof_tables_free(struct pprof_tables *t);

/* Returns the string with this number; "" if there is none. */
struct string_ref pprof_tables_string(const struct pprof_tables *t, uint64_t number);
/* Returns the frame ids of a location, *cnt of them, innermost first; NULL: there is none. */
const uint32_t *pprof_tables_location(const struct pprof_tables *t, uint64_t id, uint32_t *cnt);

#endif
