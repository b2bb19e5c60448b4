/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gperftools_text.h - the two halves of the gperftools reader: binary profile and
 * text around it. Nobody else includes this.
 */
#ifndef TACHBPF_GPERFTOOLS_TEXT_H
#define TACHBPF_GPERFTOOLS_TEXT_H

#include "model/reader.h"

struct intern;
struct gperf_text;

/* NULL: out of memory. */
struct gperf_text *gperf_text_new(void);
void gperf_text_free(struct gperf_text *t);

/* "--- symbol" sections before the profile: [0, len) of data. 0 or -ENOMEM. */
int gperf_text_symbols(struct gperf_text *t, const char *data, size_t len);
/* Mappings and symbols behind the profile. Lines that say nothing are passed over. 0, -ENOMEM. */
int gperf_text_trailer(struct gperf_text *t, const char *data, size_t len);

/*
 * The frame of an address. caller: it is a return address, behind the call. 0 or
 * -ENOMEM.
 */
int gperf_text_frame(struct gperf_text *t, struct intern *in, uint64_t addr, bool caller,
		     uint32_t *frame);

size_t gperf_text_symbol_cnt(const struct gperf_text *t);
size_t gperf_text_mapping_cnt(const struct gperf_text *t);

#endif
