// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * deque.c - see deque.h.
 *
 * Source: Modules/_collectionsmodule.c (dequeobject, block, BLOCKLEN), the same at v3.8.18 ...
 * v3.15.0.
 */
#include "cpython/deque.h"

#include <errno.h>
#include <stddef.h>

struct deque_words {
	uint64_t len;		/* ob_size */
	uint64_t left, right;	/* the first and the last block */
	uint64_t left_index, right_index;
};

/* data in struct block, after leftlink */
#define BLOCK_DATA 8

int py_deque_read(struct py_walk *w, uint64_t deque, uint64_t items[PY_DEQUE_BLOCK], uint32_t *cnt,
		  uint64_t *len)
{
	struct deque_words d;
	int err = py_get(w, deque + w->head, &d, sizeof(d));

	*cnt = 0;
	*len = 0;
	if (err)
		return err;
	*len = d.len;
	if (!d.len)
		return 0;
	if (d.left_index >= PY_DEQUE_BLOCK || d.len > INT64_MAX)
		return -EBADMSG;
	*cnt = PY_DEQUE_BLOCK - (uint32_t)d.left_index;
	if (*cnt > d.len)
		*cnt = (uint32_t)d.len;
	return py_get(w, d.left + BLOCK_DATA + 8 * d.left_index, items, *cnt * sizeof(items[0]));
}
