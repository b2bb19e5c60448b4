/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * layout.h - the row of offsets for a CPython version.
 */
#ifndef TACHBPF_CPYTHON_LAYOUT_H
#define TACHBPF_CPYTHON_LAYOUT_H

#include "cpython/debug_offsets.h"
#include "cpython/image.h"

/* What we have rows for; the single place that says so. */
#define LAYOUT_MINOR_MIN 6
#define LAYOUT_MINOR_MAX 15

/*
 * 3.6 to 3.12: fill the image's layout and objects from the table. 0, or -ENOTSUP: there is
 * no row, or with mutexes of unknown length nobody knows what lies behind the GIL.
 */
int layout_from_table(struct cpython_image *img);

/* pthread_cond_t's. */
unsigned int layout_cond_bytes(void);

/*
 * 3.13 to 3.15: fill them from validated debug offsets plus what those do not say of the
 * row 3.minor.
 * 0, or -EBADMSG and *what names the field where this is not the struct we know.
 */
int layout_from_debug_offsets(struct cpython_image *img, unsigned int minor,
			      const struct debug_offsets *d, const char **what);

#endif
