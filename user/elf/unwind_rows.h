/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_rows.h - collects the rows of functions, which come in any order and can overlap, and
 * turns them into one sorted list that is unambiguous for each address.
 *
 * If functions overlap, the one that starts last applies from its start on, as in a search of
 * .eh_frame_hdr; if several have the same start, the one collected first. Addresses between
 * functions have the rule UNWIND_NO_ROW.
 */
#ifndef TACHBPF_ELF_UNWIND_ROWS_H
#define TACHBPF_ELF_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_native.h"

/* Limit on rows: a table with more would be larger than UNWIND_FILE_BYTES_MAX. */
#define UNWIND_ROWS_MAX (8u << 20)

struct unwind_function {
	uint32_t start, end;	/* bytes from the table's start */
	uint32_t first, cnt;	/* its rows */
};

struct unwind_rows {
	struct unwind_function *functions;
	size_t function_cnt, function_cap;
	size_t sorted_cnt;	/* the first sorted_cnt functions are sorted */
	struct unwind_row *rows;
	size_t row_cnt, row_cap;
};

/* Zero-initialise; also free it after an error. */
void unwind_rows_free(struct unwind_rows *r);

/*
 * Begin a function; start < end, and it must get a row at its start. 0 or -errno: -ENOMEM, -EFBIG.
 */
int unwind_rows_begin(struct unwind_rows *r, uint32_t start, uint32_t end);
/*
 * Add a row to it; addresses must not decrease. A row with the last row's address replaces that. 0
 * or -errno: -ENOMEM, -EFBIG.
 */
int unwind_rows_add(struct unwind_rows *r, uint32_t addr, uint32_t rule);
/* Discard the function that was begun last. */
void unwind_rows_undo(struct unwind_rows *r);

/* Sort the functions. 0 or -ENOMEM. */
int unwind_rows_sort(struct unwind_rows *r);
/* Returns true if a function that existed when they were sorted has an address in [start, end). */
bool unwind_rows_covered(const struct unwind_rows *r, uint32_t start, uint32_t end);

/*
 * Create the list: *rows, which the caller frees, with *row_cnt rows, the first one at address 0.
 * It covers *bytes: up to the last function's end. 0; -ENOENT: no function; -ENOMEM, -EFBIG.
 */
int unwind_rows_list(struct unwind_rows *r, struct unwind_row **rows, uint32_t *row_cnt,
		     uint32_t *bytes);

#endif
