/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * coroutine.h - a coroutine, generator or asynchronous generator of a process (3.8+): whether it is
 * suspended, where, and what it awaits.
 *
 * Up to 3.10 the frame is an object of its own; from 3.11 on it is inside of the coroutine.
 */
#ifndef TACHBPF_ASYNCIO_COROUTINE_H
#define TACHBPF_ASYNCIO_COROUTINE_H

#include <stdbool.h>

#include "asyncio/tasks.h"

enum coroutine_state {
	CORO_CREATED,		/* it has not begun */
	CORO_SUSPENDED,		/* in await, or yield from */
	CORO_YIELDED,		/* suspended in a yield, which awaits nothing */
	CORO_RUNNING,
	CORO_ENDED,
};

struct coroutine {
	uint64_t addr;
	uint64_t frame;		/* address of its frame; 0: it has none */
	uint64_t code;		/* 0: it has no frame */
	uint64_t ip;		/* changes when it goes on; for comparison only */
	uint32_t lasti;		/* as raw_frame.lasti */
	enum coroutine_state state;
	uint64_t awaits;	/* SUSPENDED: the object; 0: unknown */
};

/*
 * Read it: obj must be of a type with this layout, which the caller has found out. 1 to 3 reads. 0;
 * -EBADMSG: it is none; -errno of py_get().
 */
int coroutine_read(struct py_walk *w, const struct tasks_at *at, uint64_t obj,
		   struct coroutine *out);

/*
 * Where a coroutine of 3.minor has its frame: at *off in itself, or, if *pointer, what the word at
 * *off points to. head: sizeof(PyObject). Returns false: unknown (3.14+: struct async_layout).
 */
bool coroutine_frame_at(uint8_t minor, uint16_t head, bool *pointer, uint16_t *off);

#endif
