// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind_file.c - see unwind_file.h. */
#include "elf/unwind_file.h"

#include "elf/unwind_index.h"

_Static_assert(sizeof(struct unwind_file) <= UNWIND_FILE_HEAD, "the header has its place");

/* Returns true if cnt elements of this many bytes, from element `at` on, end within total. */
static bool lies_within(uint64_t at, uint64_t cnt, uint64_t bytes, uint64_t total)
{
	return (at + cnt) * bytes <= total;
}

bool unwind_file_is_valid(const void *map, size_t len)
{
	const struct unwind_file *f = map;
	uint64_t index_end;

	if (len < UNWIND_FILE_HEAD || f->magic != UNWIND_FILE_MAGIC ||
	    f->version != UNWIND_FILE_VERSION)
		return false;
	if (f->total > UNWIND_FILE_BYTES_MAX || f->total % NATIVE_CHUNK ||
	    f->total != len - UNWIND_FILE_HEAD)
		return false;
	if (!f->row_cnt || !f->bytes || f->shift > UNWIND_SHIFT_MAX)
		return false;
	index_end = (uint64_t)f->index_at + unwind_index_cnt(f->bytes, f->shift);
	return lies_within(0, f->row_cnt, sizeof(struct unwind_row), f->total) &&
	       f->index_at >= 2ull * f->row_cnt &&
	       lies_within(0, index_end, sizeof(uint32_t), f->total) &&
	       4ull * f->ext_at >= index_end &&
	       lies_within(f->ext_at, f->ext_cnt, sizeof(struct unwind_rule), f->total);
}

struct unwind_table unwind_file_table(const struct unwind_file *f, uint32_t chunk, uint32_t stamp)
{
	return (struct unwind_table){
		.start = f->start, .bytes = f->bytes, .chunk = chunk, .row_cnt = f->row_cnt,
		.index_at = f->index_at, .ext_at = f->ext_at, .ext_cnt = f->ext_cnt,
		.shift = (abi_u16)f->shift, .stamp = stamp,
	};
}
