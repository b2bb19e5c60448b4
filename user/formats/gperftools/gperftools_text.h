/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gperftools_text.h - between the two halves of the gperftools reader: the binary profile and the
 * text around it. No other file includes it.
 */
#ifndef TACHBPF_GPERFTOOLS_TEXT_H
#define TACHBPF_GPERFTOOLS_TEXT_H

#include "model/reader.h"

struct intern;
struct gperf_text;

/* Returns NULL if memory runs out. Free it by gperf_text_free(). */
struct gperf_text *gperf_text_new(void);
void gperf_text_free(struct gperf_text *t);

/* Parses "--- symbol" sections before the profile: [0, len) of data. Returns 0 or -ENOMEM. */
int gperf_text_symbols(struct gperf_text *t, const char *data, size_t len);
/* Parses mappings and symbols after the profile; ignores other lines. Returns 0 or -ENOMEM. */
int gperf_text_trailer(struct gperf_text *t, const char *data, size_t len);

/* Finds the frame of an address; *id. caller: it is a return address. Returns 0 or -ENOMEM. */
int gperf_text_frame(struct gperf_text *t, struct intern *in, uint64_t addr, bool caller,
		     uint32_t *frame);

/* The numbers of symbols and mappings so far. */
size_t gperf_text_symbol_cnt(const struct gperf_text *t);
size_t gperf_text_mapping_cnt(const struct gperf_text *t);

#endif
