/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * future.h - the fields of an asyncio future or task in CPython 3.8 to 3.13: of _asyncio's structs,
 * of subclasses of them, and of asyncio's Python classes.
 */
#ifndef TACHBPF_ASYNCIO_FUTURE_H
#define TACHBPF_ASYNCIO_FUTURE_H

#include "asyncio/home.h"

/* Limit on base classes of an object's type that are searched for Task and Future. */
#define FUTURE_BASES_MAX 32
#define FUTURE_TYPES 16
#define FUTURE_KEYS 256

enum future_kind {
	FUTURE_NONE,		/* neither, or unreadable */
	FUTURE_FUTURE,
	FUTURE_TASK,
};

/*
 * Cache of types, and of names of attributes, which the caller zeroes and keeps beside its py_walk:
 * for at most one batch, as a type can go and another one take its place.
 */
struct future_types {
	struct {
		uint64_t addr;
		uint8_t kind, pure;
	} type[FUTURE_TYPES];
	uint32_t next;
	struct {
		uint64_t addr;		/* of a str */
		uint8_t which;		/* private to future.c */
	} key[FUTURE_KEYS];
	uint64_t none;			/* None; 0: not met so far */
};

/* All 0 if unknown or None. References are borrowed: they may be gone at the next read. */
struct future_fields {
	enum future_kind kind;
	bool pure;
	bool done;			/* it has a result, an exception, or was cancelled */
	uint64_t loop;
	uint64_t callback0;		/* C: the first callback; Python: 0 */
	uint64_t callbacks;		/* a list of further (callback, context) */
	uint64_t coro, name;		/* of a task */
	uint64_t fut_waiter;		/* of a task: the future that it awaits; 0: it is ready */
};

enum future_kind future_kind(struct py_walk *w, const struct async_homes *h,
			     struct future_types *types, uint64_t obj);

/* Read a future's fields: 2 reads if C made it, about 10 otherwise. 0; -EBADMSG: it is none. */
int future_read(struct py_walk *w, const struct async_homes *h, struct future_types *types,
		uint64_t obj, struct future_fields *out);

#endif
