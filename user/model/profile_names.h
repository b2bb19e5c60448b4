/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_names.h - the words for the numbers in a profile: one table for each kind of word, used
 * by every output and the command line.
 */
#ifndef TACHBPF_PROFILE_NAMES_H
#define TACHBPF_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/event.h"
#include "model/sink.h"

/* Returns "wall", "cpu", ...; "unknown" for any other number. */
const char *profile_mode_name(enum profile_mode mode);
/* Returns true if the mode has its own name. */
bool profile_mode_known(enum profile_mode mode);

/* Returns "samples", "bytes" or "nanoseconds"; "unknown" for any other number. */
const char *profile_unit_name(enum profile_unit unit);
/* The same after a number: "sample", ... if it is 1. */
const char *profile_unit_of(uint64_t cnt, enum profile_unit unit);

/* Returns "release", ...; "unknown" for any other number. */
const char *profile_layout_name(enum profile_layout layout);

/* Returns the i-th feature and its FEATURE_* bit; NULL after the last. */
const char *profile_feature_at(size_t i, uint32_t *bit);

/* Returns the kind of a frame: "python", "native", "kernel" or "synthetic". */
const char *profile_frame_kind_name(enum frame_kind kind);

#define PROFILE_STATUS_BYTES 64
/* Writes the names of status bits to text, and returns it: "gil+on-cpu"; "none" without any. */
const char *profile_status_text(uint8_t status, char text[PROFILE_STATUS_BYTES]);
/* Finds the status bit for a word of --status (len bytes). Returns false if there is none. */
bool profile_status_parse(const char *word, size_t len, uint8_t *bit);

#endif
