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

/* Objects outside of units that are known, so that none is counted twice. */
#define SEEN_MAX (256u * 1024)
/* Memory with references that waits to be looked through. */
#define RANGES_MAX 4096u
/* In a sample, the part of such memory that is read; and such memory for each unit. */
#define RANGE_PART 8192u
#define RANGES_OF_UNIT 64u

struct range {
	uint64_t addr, bytes;
	double weight;			/* what an object found there counts, times its references */
};

/* An address that may be a large object's. */
struct candidate {
	uint64_t addr;
	double weight;
};

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
	bool whole;			/* all units are read, not a sample */
	uint64_t seed;

	struct heap_mem mem;
	struct target_mem reader;
	struct heap_build build;
	struct heap_maps maps;
	struct heap_units units;
	struct heap_types *types;
	struct estimate *sums;

	const struct heap_type *rows[HEAP_TYPES_MAX];
	uint32_t row_cnt;
	uint16_t row_of[HEAP_TYPE_CNT_MAX];	/* by heap_type.number; + 1; 0: not known */
	struct hash_index by_name;

	struct pending pending[PENDING_MAX];
	uint32_t pending_cnt;

	uint64_t *seen;			/* a table of addresses; 0: free */
	uint32_t seen_cnt;
	struct range ranges[RANGES_MAX];
	uint32_t range_cnt, ranges_of_unit;
	struct candidate candidates[PENDING_MAX];
	uint32_t candidate_cnt;
	uint64_t lowest, highest;	/* of all mappings */
	uint64_t ranges_left_out;
};

/* The row of a type: all types of one name have the same. */
uint32_t taking_row(struct taking *t, const struct heap_type *type);

/* Add an object: weight 1, or in a sample for an object that others lead to, less. */
void taking_object(struct taking *t, const struct heap_type *type, uint64_t addr,
		   const struct heap_size *s, double weight);

/*
 * Read a unit and add all of it: -ENOENT: it is gone; other -errno: it was left out, and counted.
 */
int taking_unit(struct taking *t, const struct heap_unit *unit);

/* ---- census_large.c: objects outside of units ---- */

/* 0 or -ENOMEM. */
int large_begin(struct taking *t);
void large_end(struct taking *t);
/* Look through a copy of memory for references to them. weight: see struct range. */
void large_scan(struct taking *t, const uint8_t *bytes, size_t len, double weight);
/* Look through memory later. */
void large_range(struct taking *t, uint64_t addr, uint64_t bytes, double weight);
/* Do so, and add all that was found. */
void large_finish(struct taking *t);

/* Put it into the list of the largest, if it is one. */
void largest_take(struct heap_census *c, const struct heap_type *type, uint64_t addr,
		  const struct heap_size *s);

/* Take a census of a process from this process. As heap_worker_census(). */
int heap_census_take(const struct heap_target *target, const struct heap_limits *limits,
		struct heap_census *out);

#endif
