/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * home.h - where asyncio keeps its tasks in CPython 3.8 to 3.13: objects of the module
 * asyncio.tasks, found in sys.modules of each interpreter.
 *
 * What is found stays where it is as long as the module is loaded. The memory is hostile and may
 * change while it is read.
 */
#ifndef TACHBPF_ASYNCIO_HOME_H
#define TACHBPF_ASYNCIO_HOME_H

#include "asyncio/trio_step.h"
#include "cpython/walk.h"

/* Interpreters of a process that have loaded asyncio; more are left out. */
#define ASYNC_HOMES_MAX 8

/* asyncio's objects in one interpreter. */
struct async_home {
	uint64_t interp, interp_id;
	uint64_t weak;		/* set of weak references to tasks: WeakSet.data of _all_tasks (up
				 * to 3.11) or of _scheduled_tasks */
	uint64_t eager;		/* _eager_tasks: a set of tasks (3.12+); 0: none */
	uint64_t current;	/* _current_tasks: a dict, loop -> the task that it runs now */
	uint64_t task, future;	/* the types Task and Future of _asyncio; without it asyncio's */
	uint64_t py_step;	/* code object of the method of py_task that runs its coroutine; 0:
				 * unknown */
	uint64_t py_task, py_future;	/* the Python classes; 0: unknown */
	uint8_t pure;		/* 1: there is no _asyncio: all are Python classes */
	uint8_t pad[7];
};

/* Where fields of _asyncio's FutureObj and TaskObj are (3.8 to 3.13), in bytes. */
struct async_fields {
	uint16_t loop, callback0, callbacks, state;
	uint16_t future_bytes;			/* sizeof(FutureObj) */
	uint16_t fut_waiter, coro, name;	/* of a task */
	uint16_t task_bytes;			/* sizeof(TaskObj) */
};

struct async_homes {
	uint8_t cnt;		/* 0: asyncio is not loaded */
	uint8_t cut;		/* more interpreters have it, or some were unreadable */
	uint8_t minor;		/* 3.minor; 0: 3.14 or later, which has no homes */
	uint8_t musl;		/* the C library, else glibc, for ids of threads: the caller of
				 * async_homes_find() sets it afterwards */
	uint8_t pad[4];
	struct async_fields fields;
	uint16_t pad2[3];
	struct async_home home[ASYNC_HOMES_MAX];
	struct trio_steps trio;	/* not of async_homes_find(): see reader_async_homes() */
};

/*
 * Find them. interps: address of the pointer to the first interpreter; l, w->o: of this process'
 * CPython. 0, also if nothing is loaded (out->cnt 0); -EOPNOTSUPP: not 3.8 to 3.13; -errno of
 * py_get() if sys.modules cannot be read.
 */
int async_homes_find(struct py_walk *w, const struct py_layout *l, uint64_t interps,
		     struct async_homes *out);

/*
 * The fields of _asyncio's structs in 3.minor. head: sizeof(PyObject), py_walk.head. Returns false:
 * unknown.
 */
bool async_fields_of(uint8_t minor, uint16_t head, struct async_fields *out);

#endif
