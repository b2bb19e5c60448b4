/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_text.h - words for the values in a profile, and text that is cut to a terminal's
 * width.
 */
#ifndef TACHBPF_PROFILE_TEXT_H
#define TACHBPF_PROFILE_TEXT_H

#include <stdio.h>

#include "model/event.h"
#include "model/sink.h"

/* Names for messages. */
const char *profile_mode_name(enum profile_mode mode);
const char *profile_layout_name(enum tach_layout layout);
/* Name of the i-th feature, and its FEATURE_* bit in *bit; NULL: no more. */
const char *profile_feature_at(size_t i, uint32_t *bit);

/* s (any bytes) as printable text, for the caller to free; NULL: out of memory. */
char *text_escape(const char *s, size_t len);

/* Number of columns that text takes: one for each character. */
size_t text_width(const char *text);

/* Width in columns of the terminal that out is; 0: it is no terminal. */
size_t text_terminal_width(FILE *out);

enum text_cut { CUT_LEFT, CUT_RIGHT };	/* where "…" replaces text that is too long */

/*
 * Print text in width columns: padded with spaces if pad, cut if longer. width 0: print it
 * unchanged.
 */
void text_print(FILE *out, const char *text, size_t width, enum text_cut cut, bool pad);

#endif
