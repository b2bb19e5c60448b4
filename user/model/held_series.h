/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held_series.h - the bytes that a process held over time, in a limited number of steps: when there
 * are more, steps become twice as wide. What a step shows is its highest value.
 */
#ifndef TACHBPF_HELD_SERIES_H
#define TACHBPF_HELD_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define HELD_STEPS_MAX 512

/* Zero-initialise, then set start_us and width_us (not 0). The rest belongs to the functions. */
struct held_series {
	uint64_t start_us, width_us;	/* of the first step; of each step */
	uint64_t check_us;		/* time between two checks of what is held; 0: unknown */
	uint32_t cnt;			/* steps */
	/* What has become of it, in pages that were looked at (struct memory_fate); 0: unknown. */
	uint64_t pages, own, gone;	/* number of pages; bytes: as at first, and not */
	uint64_t now;			/* bytes held at the end of the last step */
	uint64_t most[HELD_STEPS_MAX];	/* by step: bytes */
};

/* Nothing changes until this time. Times never decrease; one before the start counts as it. */
void held_series_until(struct held_series *s, uint64_t time_us);
/* From this time on this many bytes more, or less, are held. Sums stay within 64 bits. */
void held_series_change(struct held_series *s, uint64_t time_us, uint64_t bytes, bool more);

#endif
