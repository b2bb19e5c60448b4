/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_names.h - the words for what a profile's numbers mean: each kind of word in
 * one table, which every output and the command line use.
 */
#ifndef TACHBPF_PROFILE_NAMES_H
#define TACHBPF_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/event.h"
#include "model/sink.h"

/* "wall", "cpu", ...; "unknown" for any other number. */
const char *profile_mode_name(enum profile_mode mode);
/* Has the mode a name of its own? */
bool profile_mode_known(enum profile_mode mode);

/* "samples", "bytes" or "nanoseconds"; "unknown" for any other number. */
const char *profile_unit_name(enum profile_unit unit);
/* The same behind a number: "sample", ... if it is 1. */
const char *profile_unit_of(uint64_t cnt, enum profile_unit unit);

/* "release", ...; "unknown" for any other number. */
const char *profile_layout_name(enum profile_layout layout);

/* The i-th feature and its FEATURE_* bit; NULL behind the last. */
const char *profile_feature_at(size_t i, uint32_t *bit);

/* What a frame is: "python", "native", "kernel" or "synthetic". */
const char *profile_frame_kind_name(enum frame_kind kind);

#define PROFILE_STATUS_BYTES 64
/* The status bits by name in text, which is returned: "gil+on-cpu"; "none" without any bit. */
const char *profile_status_text(uint8_t status, char text[PROFILE_STATUS_BYTES]);
/* The status bit that --status calls word (len bytes). Returns false if there is none. */
bool profile_status_parse(const char *word, size_t len, uint8_t *bit);

#endif
