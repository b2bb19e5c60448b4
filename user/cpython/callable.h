/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * callable.h - what an object that can be called is: its kind, its qualified name, what it is bound
 * to, and the variables of its closure. CPython 3.8 to 3.13; functions and closures also of 3.14+.
 *
 * The memory is hostile and may change while it is read: what is found only identifies the object,
 * and the caller checks whatever it leads to.
 */
#ifndef TACHBPF_CPYTHON_CALLABLE_H
#define TACHBPF_CPYTHON_CALLABLE_H

#include "cpython/walk.h"

#define PY_CALLABLE_NAME_BYTES 96
#define PY_CALLABLE_TYPES 8
/* Limit on the variables of a closure, and on the variables of its function. */
#define PY_CELLS_MAX 32
#define PY_CELL_NAMES_MAX 96

enum py_callable_kind {
	PY_CALL_OTHER,		/* of another type */
	PY_CALL_FUNCTION,
	PY_CALL_METHOD,		/* a function bound to an object */
	PY_CALL_BUILTIN,	/* a function written in C, which may be bound to an object */
	PY_CALL_CYTHON,
	PY_CALL_PARTIAL,	/* functools.partial */
};

/* Cache of types, which the caller zeroes and keeps beside its py_walk. */
struct py_callable_types {
	struct {
		uint64_t addr;
		uint8_t kind;
	} type[PY_CALLABLE_TYPES];
	uint32_t next;
};

struct py_callable {
	enum py_callable_kind kind;
	/*
	 * The qualified name of the function, of a METHOD's and PARTIAL's function; of a BUILTIN
	 * without its class; of OTHER that of its type. Valid UTF-8, cut between characters; "":
	 * unreadable.
	 */
	char name[PY_CALLABLE_NAME_BYTES];
	uint64_t self;		/* METHOD, BUILTIN: what it is bound to; 0: nothing */
	uint64_t args;		/* PARTIAL: a tuple of its first arguments */
	uint64_t code, closure;	/* FUNCTION: its code object, its tuple of cells or 0 */
};

/* Read it. 0, or -errno of py_get(): it is unreadable. Makes at most 20 reads. */
int py_callable_read(struct py_walk *w, struct py_callable_types *types, uint64_t obj,
		     struct py_callable *out);

/*
 * The object in the variable of this name of a FUNCTION's closure. *value 0: it has none yet. 0;
 * -ENOENT: there is no such variable; -EBADMSG: impossible numbers; -errno of py_get().
 */
int py_callable_cell(struct py_walk *w, const struct py_callable *f, const char *name,
		     uint64_t *value);

/* The item of a tuple; -ENOENT: it is shorter. */
int py_tuple_item(struct py_walk *w, uint64_t tuple, uint32_t index, uint64_t *item);

#endif
