/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * deque.h - the items of a collections.deque. The memory is hostile and may change while it is
 * read.
 */
#ifndef TACHBPF_CPYTHON_DEQUE_H
#define TACHBPF_CPYTHON_DEQUE_H

#include "cpython/walk.h"

/* Items that a block of a deque has at most. */
#define PY_DEQUE_BLOCK 64

/*
 * Read the first items, as many as the first block has. *cnt: their number; *len: that of all. 0;
 * -EBADMSG: impossible numbers; -errno of py_get(). The caller knows that it is a deque.
 */
int py_deque_read(struct py_walk *w, uint64_t deque, uint64_t items[PY_DEQUE_BLOCK], uint32_t *cnt,
		  uint64_t *len);

#endif
