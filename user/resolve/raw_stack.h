/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_stack.h - compares stacks as the BPF side sends them. */
#ifndef TACHBPF_RAW_STACK_H
#define TACHBPF_RAW_STACK_H

#include <stdint.h>
#include <string.h>

#include "bpf/abi.h"

/*
 * How many frames at the root two stacks share. a_end and b_end: behind their roots; they have a_cnt
 * and b_cnt frames.
 */
static inline uint32_t raw_stacks_shared(const struct raw_frame *a_end, uint32_t a_cnt,
					 const struct raw_frame *b_end, uint32_t b_cnt)
{
	uint32_t most = a_cnt < b_cnt ? a_cnt : b_cnt, i = 0;

	while (i + 8 <= most && !memcmp(a_end - i - 8, b_end - i - 8, 8 * sizeof(*a_end)))
		i += 8;
	while (i < most && !memcmp(a_end - i - 1, b_end - i - 1, sizeof(*a_end)))
		i++;
	return i;
}

#endif
