/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_encode.h - the header and single events of .mlyze files, as bytes: for mlyze_stream.c,
 * which writes them, and mlyze_join.c, which reads events that have no metadata yet.
 */
#ifndef TACHBPF_MLYZE_ENCODE_H
#define TACHBPF_MLYZE_ENCODE_H

#include "base/util.h"
#include "formats/mlyze/mlyze.h"

/* Type, varints, address, thread. */
#define MLYZE_EVENT_MAX_BYTES (1 + 3 * VARINT_MAX + 8 + 2)

/*
 * Writes an event at p, which must have room for MLYZE_EVENT_MAX_BYTES. name is an id of functions,
 * off is ignored. last_us: the time of the event before, or of the header. Returns the end.
 */
uint8_t *mlyze_encode(uint8_t *p, const struct mlyze_event *ev, uint64_t last_us);

/*
 * Reads an event at p, not beyond end; ids are as written, off is not set. last_us: as above.
 * Returns its end; NULL: the bytes end too early, or are no event.
 */
const uint8_t *mlyze_decode(const uint8_t *p, const uint8_t *end, struct mlyze_event *ev,
			    uint64_t last_us);

/* Makes a header for this many bytes of metadata. */
void mlyze_encode_header(uint8_t header[MLYZE_HEADER_BYTES], uint64_t start_us,
			 uint32_t metadata_bytes);

#endif
