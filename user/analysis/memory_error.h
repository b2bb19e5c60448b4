/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_error.h - how exact the sums of a row are, if blocks were recorded in bursts: one standard
 * deviation, from how much the row differs from burst to burst.
 *
 * Only what was seen goes into it. A row that no burst has seen is not known to be missing.
 */
#ifndef TACHBPF_MEMORY_ERROR_H
#define TACHBPF_MEMORY_ERROR_H

#include "formats/mlyze/mlyze_notes.h"

struct memory_errors;

/* For a file with these notes, and the bursts in this range. NULL: no memory, or no bursts. */
struct memory_errors *memory_errors_new(const struct mlyze_notes *notes, uint64_t from_us,
					uint64_t to_us);
void memory_errors_free(struct memory_errors *e);

/* An ALLOC of a row; times must not go back. Those outside the range do not count. 0 or -ENOMEM. */
int memory_errors_take(struct memory_errors *e, uint32_t row, uint64_t time_us, uint64_t bytes);

/*
 * The error of a row's bytes, as a share of them: of touched ones. 1: one burst says nothing. row:
 * MEMORY_ERRORS_TOTAL: all rows together.
 */
#define MEMORY_ERRORS_TOTAL UINT32_MAX
double memory_errors_touched(const struct memory_errors *e, uint32_t row);
/*
 * Of held ones, of which there are so many blocks: chance also chose which of those that were seen
 * live on. Includes the error of what counts as used again (memory_sampled.again_error).
 */
double memory_errors_held(const struct memory_errors *e, uint32_t row, uint64_t live_blocks);

#endif
