// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* gil_cells.c - see gil_cells.h. A cell is a pair of a pair of threads and a pair of lines. */
#include "analysis/gil_cells.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pairs.h"
#include "base/util.h"

struct gil_cells {
	struct pairs threads, lines;	/* of holder and waiter */
	struct pairs ids;		/* of ids of both */
	struct buf waited;		/* uint64_t, by id */
};

struct gil_cells *gil_cells_new(void)
{
	return calloc(1, sizeof(struct gil_cells));
}

void gil_cells_free(struct gil_cells *c)
{
	if (!c)
		return;
	pairs_free(&c->threads);
	pairs_free(&c->lines);
	pairs_free(&c->ids);
	buf_free(&c->waited);
	free(c);
}

static uint64_t *waited_of(const struct gil_cells *c)
{
	return (uint64_t *)(void *)c->waited.data;
}

int gil_cells_add(struct gil_cells *c, const struct gil_cell *cell)
{
	struct pair threads = { cell->holder, cell->waiter }, key;
	struct pair lines = { cell->holder_line, cell->waiter_line };
	const uint64_t none = 0;
	uint32_t id;
	int err;

	if (pairs_find(&c->threads, threads, &key.a) && pairs_find(&c->lines, lines, &key.b) &&
	    pairs_find(&c->ids, key, &id)) {
		waited_of(c)[id] += cell->waited;
		return 0;
	}
	if (c->ids.cnt >= GIL_CELLS_MAX)
		return -ENOSPC;
	err = pairs_add(&c->threads, threads, &key.a);
	if (!err)
		err = pairs_add(&c->lines, lines, &key.b);
	if (!err)
		err = pairs_add(&c->ids, key, &id);
	if (!err)
		err = buf_add(&c->waited, &none, sizeof(none));
	if (!err)
		waited_of(c)[id] += cell->waited;
	return err;
}

uint32_t gil_cells_cnt(const struct gil_cells *c)
{
	return c->ids.cnt;
}

struct gil_cell gil_cells_get(const struct gil_cells *c, uint32_t i)
{
	struct pair threads = c->threads.list[c->ids.list[i].a];
	struct pair lines = c->lines.list[c->ids.list[i].b];

	return (struct gil_cell){ threads.a, threads.b, lines.a, lines.b, waited_of(c)[i] };
}
