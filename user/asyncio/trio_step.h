/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trio_step.h - the function of trio (0.22+) that runs tasks, in CPython 3.8 to 3.15: the code
 * object by which the BPF side recognises its frame, and the variable that has the task.
 *
 * The memory is hostile and may change while it is read.
 */
#ifndef TACHBPF_ASYNCIO_TRIO_STEP_H
#define TACHBPF_ASYNCIO_TRIO_STEP_H

#include "cpython/walk.h"

/* Interpreters of a process that have loaded trio; more are left out. */
#define TRIO_STEPS_MAX 4
/* Limit on the function's variables. */
#define TRIO_LOCALS_MAX 64

struct trio_steps {
	uint8_t cnt;		/* 0: trio is not loaded, or not completely so far */
	uint8_t pad[7];
	struct {
		uint64_t interp;	/* address of the PyInterpreterState */
		uint64_t code;		/* address of the code object */
		uint32_t local;		/* index of the variable, below TRIO_LOCALS_MAX */
		uint32_t pad;
	} step[TRIO_STEPS_MAX];
};

/*
 * Find them. interps: address of the pointer to the first interpreter; l, w->o: of this process'
 * CPython. 0, also if nothing is loaded; -EOPNOTSUPP: this CPython is not known; -errno of py_get()
 * if no interpreter can be read.
 */
int trio_steps_find(struct py_walk *w, const struct py_layout *l, uint64_t interps,
		    struct trio_steps *out);

#endif
