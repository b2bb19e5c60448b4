/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * counts_since.h - what a capture counted while a recording was made that began after it, or
 * follows another one.
 */
#ifndef TACHBPF_COUNTS_SINCE_H
#define TACHBPF_COUNTS_SINCE_H

#include "recording/capture_counts.h"

struct counts_since;

/* Remember the counts so far, which are copied. NULL: no memory. Freed by counts_since_free(). */
struct counts_since *counts_since_new(const struct capture_counts *now);
/* The same counts, to be freed likewise. NULL: no memory. */
struct counts_since *counts_since_copy(const struct counts_since *s);
void counts_since_free(struct counts_since *s);

/*
 * Fill *out with what was counted since then, and with the states of now. CPU time before is no
 * part of it. The cost of samples is that of the whole capture. Valid until the next call, and as
 * long as now is. Returns the share of missed ticks and lost samples, 0 to 100.
 */
double counts_since(struct counts_since *s, const struct capture_counts *now,
		    struct capture_counts *out);

#endif
