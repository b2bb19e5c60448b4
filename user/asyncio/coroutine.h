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
#include <stddef.h>

#include "asyncio/tasks.h"
#include "cpython/walk.h"

/*
 * What is read of a coroutine, as far as its page has it: everything before the frame, the frame,
 * and usually all of its stack.
 */
#define COROUTINE_READ 512

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
	/* Private. */
	int8_t raw_state;	/* as in the process; for comparison only */
	uint32_t tlbc;		/* of the frame: which copy of the bytecode it executes */
	uint64_t stack;		/* behind the top of the frame's value stack; 0: unknown */
};

/*
 * Its frame, and that frame's code object. 0; -ENOENT: it has ended, and so has no frame; -EBADMSG;
 * -errno. Whether it runs is not noted (py_use()).
 */
int coroutine_frame_read(struct py_walk *w, const struct tasks_at *at, uint64_t obj,
			 uint64_t *frame, uint64_t *code);

/* How many bytes of a coroutine must be readable; 0: the layout is invalid. */
size_t coroutine_bytes(const struct py_walk *w, const struct tasks_at *at);
/*
 * What a coroutine is, of which the first len bytes, at least coroutine_bytes(), were read before:
 * obj must be of a type with this layout, which the caller has found out. coroutine_look():
 * everything but lasti and awaits; a state SUSPENDED may turn out to be YIELDED. 0; -EBADMSG: it is
 * none; -errno of py_get().
 */
int coroutine_look(struct py_walk *w, const struct tasks_at *at, uint64_t obj,
		   const uint8_t *bytes, size_t len, struct coroutine *out);
void coroutine_awaits(struct py_walk *w, const struct tasks_at *at, const uint8_t *bytes,
		      size_t len, struct coroutine *c);
uint32_t coroutine_lasti(struct py_walk *w, const struct tasks_at *at, const struct coroutine *c);

/*
 * Where a coroutine of 3.minor has its frame: at *off in itself, or, if *pointer, what the word at
 * *off points to. head: sizeof(PyObject). Returns false: unknown (3.14+: struct async_layout).
 */
bool coroutine_frame_at(uint8_t minor, uint16_t head, bool *pointer, uint16_t *off);

#endif
