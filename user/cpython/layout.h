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
 * 3.6 to 3.12: fill the image's layout and objects from the table. 0, or -ENOTSUP: there is
 * no row, or the length of mutexes is unknown, so that the offsets behind the GIL are, too.
 */
int layout_from_table(struct cpython_image *img);

/* sizeof(pthread_cond_t) in bytes. */
unsigned int layout_cond_bytes(void);

/*
 * 3.13 to 3.15: fill the image's layout and objects from validated debug offsets, and the
 * rest from the row for 3.minor. 0, or -EBADMSG, and *what is the name of the field that
 * shows that the struct is unknown.
 */
int layout_from_debug_offsets(struct cpython_image *img, unsigned int minor,
			      const struct debug_offsets *d, const char **what);

#endif
