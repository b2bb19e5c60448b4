/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_index.h - the index of a table's rows (struct unwind_table): it leaves about
 * UNWIND_INDEX_ROWS rows to search for an address.
 */
#ifndef TACHBPF_ELF_UNWIND_INDEX_H
#define TACHBPF_ELF_UNWIND_INDEX_H

#include <stdint.h>

#include "bpf/abi_native.h"

#define UNWIND_INDEX_ROWS 8u
#define UNWIND_SHIFT_MAX 31u

/* Entries of an index: one for each 2^shift bytes, and one for the end. */
static inline uint64_t unwind_index_cnt(uint32_t bytes, uint32_t shift)
{
	return ((bytes + (1ull << shift) - 1) >> shift) + 1;
}

/* The shift for row_cnt rows in this many bytes; at most UNWIND_SHIFT_MAX. */
uint32_t unwind_index_shift(uint32_t bytes, uint32_t row_cnt);
/* Fill an index of unwind_index_cnt() entries. The first row is at address 0. */
void unwind_index_fill(uint32_t *index, uint32_t bytes, uint32_t shift,
		       const struct unwind_row *rows, uint32_t row_cnt);

#endif
