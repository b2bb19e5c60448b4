/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * type_growth.h - which types have grown in a .mlyze file: from its first census of the process'
 * objects to its last.
 */
#ifndef TACHBPF_TYPE_GROWTH_H
#define TACHBPF_TYPE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/mlyze/mlyze_notes.h"

struct type_growth {
	const char *name;		/* any bytes, of the notes */
	uint64_t objects, bytes;	/* in the later census */
	int64_t more_objects, more_bytes;
	bool was_known;			/* the earlier census names it, or all that there was; if
					 * not, it had at most what the errors have of it */
	/* 95 % half-widths: those of both censuses, and of what the earlier one does not say */
	uint64_t objects_error, bytes_error;
};

/* Zero-initialise; freed by type_growths_free(), before the notes. */
struct type_growths {
	struct type_growth *list;	/* cnt of them, most bytes more first */
	size_t cnt;
	const struct mlyze_census *from, *to;	/* NULL: there are fewer than two */
};

/*
 * Compares the first census of the file from from_us on with the last one up to to_us: all types
 * that the later one names. Returns 0 or -ENOMEM.
 */
int type_growths_read(const struct mlyze_notes *notes, uint64_t from_us, uint64_t to_us,
		      struct type_growths *out);
void type_growths_free(struct type_growths *g);

/* Seconds between the two censuses. */
double type_growths_seconds(const struct type_growths *g);

/* Returns true if it has grown by more than its error, in objects or in bytes. */
bool type_has_grown(const struct type_growth *g);

/*
 * Returns the two types to name first, of those that have grown: the program's own (own_types.h)
 * with the most objects more, and the one with the most bytes more. *own NULL: none has grown, or
 * others have a thousand times as many objects; *most NULL: no type has grown. They may be the
 * same.
 */
void type_growths_leaders(const struct type_growths *g, const struct type_growth **own,
			  const struct type_growth **most);

#endif
