/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_tables.h - decodes the strings and frames of a TACH file or journal, and what a header says
 * about the profile. Part of tach_reader and recover; the bytes are hostile.
 */
#ifndef TACHBPF_TACH_TABLES_H
#define TACHBPF_TACH_TABLES_H

#include "model/event.h"
#include "model/sink.h"

/* The least size of an entry in bytes: limits a count before memory is allocated for it. */
#define TACH_STRING_MIN_BYTES 1
static inline size_t tach_frame_min_bytes(enum profile_layout layout)
{
	return layout == LAYOUT_DRAFT2 ? 3 : 7;
}

/*
 * Decodes up to cnt entries at *p; *p is then the end of the last valid one. Returns their number.
 * Strings point into the bytes; frames only refer to strings below string_cnt, which say what kind
 * they are.
 */
uint32_t tach_take_strings(const uint8_t **p, const uint8_t *end, uint32_t cnt,
			   struct string_ref *out);
uint32_t tach_take_frames(const uint8_t **p, const uint8_t *end, uint32_t cnt,
			  enum profile_layout layout, const struct string_ref *strings,
			  uint32_t string_cnt, struct frame *out);

/*
 * Decodes the first lines of the functions of cnt frames from [p, end), as in TACH_FIRST_LINES but
 * without its beginning; no bytes: none is known. Returns false if these are not cnt numbers; the
 * frames are then unchanged.
 */
bool tach_take_first_lines(const uint8_t *p, const uint8_t *end, struct frame *frames,
			   uint32_t cnt);

/*
 * If the last string has the first lines of the functions, one for each frame: enters them in
 * frames and returns true: it is no name. No program's own names are taken for it, because frames
 * refer to names.
 */
bool tach_take_first_line_string(const struct string_ref *strings, uint32_t string_cnt,
				 struct frame *frames, uint32_t frame_cnt);

/* Reads what the header has besides counts and offsets. Returns 0; -EBADMSG: invalid mode. */
int tach_take_meta(const uint8_t *header, enum profile_layout layout, bool swapped,
		   struct profile_meta *meta, uint32_t *mode);

#endif
