/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shared_frames.h - compares stacks from their roots. Knows no tables. */
#ifndef TACHBPF_SHARED_FRAMES_H
#define TACHBPF_SHARED_FRAMES_H

#include <stdint.h>

#include "base/common_end.h"

/*
 * Returns the number of frames that two stacks share at their roots. The root comes last, as in an
 * event; a stack without frames may be NULL.
 */
static inline uint32_t frames_shared(const uint32_t *a, uint32_t a_cnt, const uint32_t *b,
				     uint32_t b_cnt)
{
	uint32_t most = a_cnt < b_cnt ? a_cnt : b_cnt;

	return most ? (uint32_t)common_end(a + a_cnt, b + b_cnt, most, sizeof(*a)) : 0;
}

#endif
