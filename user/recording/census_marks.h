/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * census_marks.h - the marks of a census in a Memlyze file (mlyze_marks.h): which of its types are
 * written, and the rest summed up.
 *
 * The first census of a file has many types, so that what has grown since is known of those that
 * come to matter later. Each further one has those with the most bytes, those that have grown or
 * shrunk most since the first, and further ones of these that are the program's own (own_types.h):
 * five hundred objects that keep megabytes of bytearrays are small themselves.
 */
#ifndef TACHBPF_CENSUS_MARKS_H
#define TACHBPF_CENSUS_MARKS_H

#include <stdbool.h>

#include "base/util.h"
#include "formats/mlyze/mlyze_marks.h"
#include "heap/census.h"

/* Limits of the first census, and of further ones: most bytes, most change, own types. */
#define CENSUS_FIRST_TYPES 256
#define CENSUS_LARGE_TYPES 12
#define CENSUS_CHANGED_TYPES 16
#define CENSUS_CHANGED_OWN 12

/* Zero-initialise. */
struct census_marks {
	struct buf first;	/* struct census_first, by hash: the first census */
	uint64_t least;		/* bytes that a type had at most which it has not; 0: it has all */
	bool any;		/* there was one */
};

/*
 * Writes the marks of a census by put(), which returns 0 or -errno. Returns its first error, or
 * -ENOMEM.
 */
int census_marks_put(struct census_marks *m, const struct heap_census *c,
		     int (*put)(void *ctx, const struct mlyze_mark_text *t), void *ctx);
void census_marks_free(struct census_marks *m);

#endif
