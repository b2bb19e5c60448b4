/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_error.h - how exact the sums of a row are, if blocks were recorded in bursts: one standard
 * deviation, from how much the row differs from burst to burst.
 *
 * Only what was seen goes into it. A row that no burst has seen is not known to be missing.
 */
#ifndef TACHBPF_MEMORY_ERROR_H
#define TACHBPF_MEMORY_ERROR_H

#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_notes.h"

struct memory_errors;

/* The file's own number of an ALLOC's row. Returns 0 or -ENOMEM. */
typedef int (*memory_row_fn)(void *ctx, const struct mlyze_event *alloc, uint32_t *row);

/*
 * Reads a file with these notes; of what was touched, only the bursts and the ALLOCs in this range
 * count, both ends included; what is held is live at its end, however old. *out: NULL if the file
 * has no bursts. Returns 0 or -ENOMEM. Free it by memory_errors_free().
 */
int memory_errors_read(const struct mlyze_file *file, const struct mlyze_notes *notes,
		       uint64_t from_us, uint64_t to_us, memory_row_fn row_of, void *ctx,
		       struct memory_errors **out);
void memory_errors_free(struct memory_errors *e);

/*
 * The error of a row's bytes, as a share of them. 1: one burst says nothing. row:
 * MEMORY_ERRORS_TOTAL: of all rows together. Of what is held it includes that of what counts as
 * used again (memory_sampled.again_error).
 */
#define MEMORY_ERRORS_TOTAL UINT32_MAX
double memory_errors_touched(const struct memory_errors *e, uint32_t row);
double memory_errors_held(const struct memory_errors *e, uint32_t row);

#endif
