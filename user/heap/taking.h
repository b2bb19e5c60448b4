/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* taking.h - the state of a census while it is taken, for the files census_*.c of this room. */
#ifndef TACHBPF_HEAP_TAKING_H
#define TACHBPF_HEAP_TAKING_H

#include "base/hash_index.h"
#include "cpython/heap_bytes.h"
#include "heap/estimate.h"
#include "heap/units.h"

/* Rows of the estimate: types, further types, and what is no object. */
enum { ROW_OTHER = HEAP_TYPES_MAX, ROW_RAW, ROW_BAD, ROW_ALL, ROW_CNT };

/* Objects that count for sure. */
#define CERTAIN_MAX 4096u
/* Further reads for the size of an object. */
#define MORE_READS_MAX 4

/* An object whose size needs further reads. */
#define PENDING_MAX 256u
struct pending {
	const struct heap_type *type;
	uint64_t addr;
	struct heap_size size;
};

struct taking {
	const struct heap_target *target;
	const struct heap_limits *limits;
	const struct heap_allocator *allocator;
	struct heap_census *out;
	bool no_pools;			/* small objects are in windows, too */
	bool whole;			/* the limits allow to read all units */
	uint64_t bytes_before;		/* bytes read before the errors count */
	uint64_t seed;

	struct heap_mem mem;
	struct target_mem reader;
	struct heap_build build;
	struct heap_maps maps;
	uint64_t mapped;		/* bytes of all of them */
	struct heap_units units;
	struct heap_types *types;
	struct estimate *sums;

	const struct heap_type *rows[HEAP_TYPES_MAX];
	uint32_t row_cnt;
	uint16_t row_of[HEAP_TYPE_CNT_MAX];	/* by heap_type.number; + 1; 0: not known */
	struct hash_index by_name;

	const struct heap_type *bytes_type;	/* bytes; NULL: not seen yet */
	uint64_t chunks;		/* objects in memory that glibc has allocated */
	uint64_t certain[2 * CERTAIN_MAX];	/* a table of addresses; 0: free */
	uint32_t certain_cnt;
	struct pending pending[PENDING_MAX];
	uint32_t pending_cnt;
};

/* Add an object; if its size needs further reads, later, together with others. */
void taking_pending(struct taking *t, const struct heap_type *type, uint64_t addr,
		    const struct heap_size *s);
/* Add the objects that wait for further reads. */
void taking_finish(struct taking *t);

/* Read a unit and add all of it. 0, or -errno: it was left out, and counted. */
int taking_unit(struct taking *t, const struct heap_unit *unit);
/* The part of it that reads a window: a unit of memory outside of the allocator's. 0 or -errno. */
int taking_window(struct taking *t, const struct heap_unit *unit);

/* ---- what is known before the sample is taken ---- */

/* Visit what the variables of modules hold. */
void taking_roots(struct taking *t);
/* Count an object for sure. The sample does not count it any more. */
void taking_certain(struct taking *t, const struct heap_type *type, uint64_t addr,
		    const struct heap_size *s);

/*
 * Put it into the list of the largest, if it is one and not yet there: a pointer to it, until the
 * next call; else NULL.
 */
struct heap_large *largest_take(struct heap_census *c, const struct heap_type *type,
				uint64_t addr, const struct heap_size *s);

/* Take a census of a process from this process. As heap_worker_census(). */
int heap_census_take(const struct heap_target *target, const struct heap_limits *limits,
		struct heap_census *out);

#endif
