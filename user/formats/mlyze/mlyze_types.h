/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mlyze_types.h - the censuses (heap/census.h) in a .mlyze file that tachbpf recorded: how many
 * objects of which type there were. Only for mlyze_notes.
 *
 * A file has the types that matter of each census, and the others summed up: a type that is missing
 * in one census may be in the next.
 */
#ifndef TACHBPF_MLYZE_TYPES_H
#define TACHBPF_MLYZE_TYPES_H

#include "base/util.h"
#include "formats/mlyze/mlyze_marks.h"
#include "heap/census.h"

/*
 * Limits, because files are hostile: types of a census (one with more is left out), and types and
 * censuses of a file. If there are more, every second census after the first is left out.
 */
#define MLYZE_TYPES_MAX 512
#define MLYZE_TYPE_ROWS_MAX (1u << 16)
#define MLYZE_CENSUSES_MAX 4096

/* As in struct heap_row; each at most INT64_MAX. */
struct mlyze_type_row {
	char name[HEAP_NAME_BYTES];	/* any bytes, NUL-terminated; "": the rest, summed up */
	uint64_t objects, objects_error, bytes, bytes_error;
};

struct mlyze_census {
	uint64_t time_us;		/* when it began, as the events of the file */
	uint64_t took_us;
	uint64_t rss_anon, pool_bytes;	/* bytes, as in struct heap_census */
	bool limited;
	uint32_t first, cnt;		/* its types: mlyze_census_types() */
};

/* Zero-initialise. */
struct mlyze_types {
	struct buf censuses;		/* struct mlyze_census, by time */
	struct buf rows;		/* struct mlyze_type_row */
	struct mlyze_census open;	/* the one whose types are being read */
	uint32_t wanted;		/* ... and how many it has; 0: none is open */
};

/* Take a mark with this word. 0 or -ENOMEM. */
int mlyze_types_census(struct mlyze_types *t, const struct mlyze_mark *m, uint64_t time_us);
int mlyze_types_type(struct mlyze_types *t, const struct mlyze_mark *m);
void mlyze_types_free(struct mlyze_types *t);

/* The censuses that are complete, by time; and the types of one, in the order of the file. */
const struct mlyze_census *mlyze_types_censuses(const struct mlyze_types *t, size_t *cnt);
const struct mlyze_type_row *mlyze_census_types(const struct mlyze_types *t,
					    const struct mlyze_census *c);

#endif
