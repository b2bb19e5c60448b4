/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* layout.h - the offsets of each CPython version. */
#ifndef TACHBPF_CPYTHON_LAYOUT_H
#define TACHBPF_CPYTHON_LAYOUT_H

#include "cpython/debug_offsets.h"
#include "cpython/image.h"

/* The range of 3.x versions that have rows; defined only here. */
#define LAYOUT_MINOR_MIN 6
#define LAYOUT_MINOR_MAX 15

/*
 * 3.6 to 3.12: fill the image's layout and objects from the table. 0, or -ENOTSUP: there is no row,
 * or the size of mutexes is unknown, and with it the offsets after the GIL.
 */
int layout_from_table(struct cpython_image *img);

/* sizeof(pthread_cond_t) in bytes. */
unsigned int layout_cond_bytes(void);

/*
 * 3.13 to 3.15: fill the image's layout and objects from validated debug offsets, and the rest from
 * the row for 3.minor. 0, or -EBADMSG: *what is the name of the field that shows that the struct is
 * unknown.
 */
int layout_from_debug_offsets(struct cpython_image *img, unsigned int minor,
			      const struct debug_offsets *d, const char **what);

/*
 * Offsets in PyCodeObject, with a head of 16 bytes, and of the first slot in a frame: an int each,
 * and pointers. Up to 3.10 a frame is an object, too. Also the link between a generator and its
 * frame, and what says where a suspended one has its stack.
 */
struct py_code_layout {
	uint8_t minor;		/* first version, up to the next row */
	uint8_t argcount, kwonly, stacksize, flags;
	uint8_t cnt;		/* co_nlocals, from 3.11 on co_nlocalsplus */
	uint8_t names;		/* co_varnames, from 3.11 on co_localsplusnames */
	uint8_t second;		/* co_cellvars, from 3.11 on co_localspluskinds */
	uint8_t third;		/* co_freevars (up to 3.10) */
	uint8_t used;		/* co_names: of globals and attributes */
	uint8_t exceptions;	/* co_exceptiontable (3.11 on) */
	uint8_t globals;	/* f_globals, in the frame */
	uint16_t slots;		/* f_localsplus, from 3.11 on localsplus */
	uint16_t generator;	/* f_gen in a frame, from 3.11 on gi_iframe in a generator */
	/* In a frame; 3.8 to 3.13 */
	uint8_t stack;		/* f_stacktop (3.8, 3.9): NULL: it runs, or has ended;
				 * f_valuestack (3.10); stacktop (3.11): int, from the slots on */
	uint8_t depth;		/* f_stackdepth (3.10), int: entries of f_valuestack */
	/* In a generator; 3.8 to 3.13, but in the frame in 3.10 */
	uint8_t state;		/* gi_running; f_state; gi_frame_state (3.11): one byte */
};
/* NULL: 3.minor is unknown. */
const struct py_code_layout *py_code_layout(uint8_t minor);

/* PyThreadState.dict in 3.minor, for user/asyncio: 3.8 to 3.13; 0: unknown. */
uint16_t py_thread_dict(uint8_t minor);

#endif
