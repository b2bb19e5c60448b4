// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind_index.c - see unwind_index.h. */
#include "elf/unwind_index.h"

uint32_t unwind_index_shift(uint32_t bytes, uint32_t row_cnt)
{
	uint32_t shift = 0;

	while (shift < UNWIND_SHIFT_MAX && bytes >> shift > row_cnt / UNWIND_INDEX_ROWS)
		shift++;
	return shift;
}

void unwind_index_fill(uint32_t *index, uint32_t bytes, uint32_t shift,
		       const struct unwind_row *rows, uint32_t row_cnt)
{
	uint64_t cnt = unwind_index_cnt(bytes, shift), i;
	uint32_t row = 0;

	for (i = 0; i < cnt; i++) {
		while (row + 1 < row_cnt && rows[row + 1].addr <= i << shift)
			row++;
		index[i] = row;
	}
}
