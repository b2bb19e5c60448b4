/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil_cells.h - which thread waited for which one, and the lines of both: the parts of gil.h's
 * pairs of lines. Numbers of threads and lines are gil.h's.
 */
#ifndef TACHBPF_GIL_CELLS_H
#define TACHBPF_GIL_CELLS_H

#include <stdint.h>

#define GIL_CELLS_MAX (1u << 20)

struct gil_cells;

struct gil_cell {
	uint32_t holder, waiter;		/* threads; GIL_NOBODY: no holder was found */
	uint32_t holder_line, waiter_line;	/* GIL_NOBODY with no holder */
	uint64_t waited;			/* samples */
};

/* Returns NULL with errno. Freed by gil_cells_free(). */
struct gil_cells *gil_cells_new(void);
void gil_cells_free(struct gil_cells *c);

/* Adds c->waited to the cell of these threads and lines. 0; -ENOSPC: left out; -ENOMEM. */
int gil_cells_add(struct gil_cells *c, const struct gil_cell *cell);

uint32_t gil_cells_cnt(const struct gil_cells *c);
struct gil_cell gil_cells_get(const struct gil_cells *c, uint32_t i);

#endif
