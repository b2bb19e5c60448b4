/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil_rows.h - gil.h's results for one profile in the order of output: the rows of a process are
 * adjacent, the longest wait first.
 */
#ifndef TACHBPF_GIL_ROWS_H
#define TACHBPF_GIL_ROWS_H

#include "analysis/gil.h"

/* Indices of rows in one of gil.h's arrays, in the order of output. */
struct gil_order {
	const uint32_t *ids;
	uint32_t cnt;
};

struct gil_interp {
	uint32_t process, interp_id;
	uint64_t held, waited;
};

struct gil_rows;

/* Sorts g's results; g must outlive the rows. NULL: out of memory. Freed by gil_rows_free(). */
struct gil_rows *gil_rows_new(const struct gil *g);
void gil_rows_free(struct gil_rows *r);

/*
 * For one process: its threads that held the GIL or waited for it; all its lines, pairs and stacks.
 * Valid until gil_rows_free().
 */
struct gil_order gil_rows_threads(const struct gil_rows *r, uint32_t process);
struct gil_order gil_rows_lines(const struct gil_rows *r, uint32_t process);
struct gil_order gil_rows_pairs(const struct gil_rows *r, uint32_t process);
struct gil_order gil_rows_stacks(const struct gil_rows *r, uint32_t process);

/* Returns the *cnt interpreters of one process, sorted by id. */
const struct gil_interp *gil_rows_interps(const struct gil_rows *r, uint32_t process,
					  uint32_t *cnt);

/* Returns the number of all threads of the process. */
uint32_t gil_rows_thread_cnt(const struct gil_rows *r, uint32_t process);

#endif
