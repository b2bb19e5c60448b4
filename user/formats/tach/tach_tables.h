/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_tables.h - the strings and frames of a TACH file (or of a journal) as
 * they are encoded, and what a header says of the profile. Part of tach_reader
 * and recover; the bytes are hostile.
 */
#ifndef TACHBPF_TACH_TABLES_H
#define TACHBPF_TACH_TABLES_H

#include "model/event.h"
#include "model/sink.h"

/* What an entry takes at least, in bytes: to bound a count before memory is given to it. */
#define TACH_STRING_MIN_BYTES 1
static inline size_t tach_frame_min_bytes(enum tach_layout layout)
{
	return layout == TACH_DRAFT2 ? 3 : 7;
}

/*
 * Take up to cnt entries from *p on, which ends up behind the last good one. How
 * many there were. Strings point into the bytes; frames name only the string_cnt strings
 * there are, which tell their kinds.
 */
uint32_t tach_take_strings(const uint8_t **p, const uint8_t *end, uint32_t cnt,
			   struct string_ref *out);
uint32_t tach_take_frames(const uint8_t **p, const uint8_t *end, uint32_t cnt,
			  enum tach_layout layout, const struct string_ref *strings,
			  uint32_t string_cnt, struct frame *out);

/* What the header says besides counts and offsets. -EBADMSG: *mode is none. */
int tach_take_meta(const uint8_t *header, enum tach_layout layout, bool swapped,
		   struct profile_meta *meta, uint32_t *mode);

#endif
