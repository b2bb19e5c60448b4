/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * census.h - a census of the objects of a process: how many there are of each type, and their
 * bytes.
 *
 * It is taken from a random sample of the allocator's pools (free-threaded: pages) while the
 * process runs, by the worker (heap_worker.h). Figures are estimates for the whole process; their
 * errors are half-widths of 95 % intervals. 0 means that everything was read.
 */
#ifndef TACHBPF_HEAP_CENSUS_H
#define TACHBPF_HEAP_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "cpython/image.h"

#define HEAP_NAME_BYTES 96
/* Limits on types of a census (further ones: heap_census.other), and on its largest objects. */
#define HEAP_TYPES_MAX 4096
#define HEAP_LARGEST_MAX 64

/* The process, as it must be known to read its objects. */
struct heap_target {
	pid_t tgid;
	uint8_t minor;			/* 3.minor */
	bool free_threaded, debug, trace_refs;
	bool musl;			/* the C library; else glibc */
	uint64_t runtime, interps;	/* as in struct py_proc; 0: unknown */
	struct py_layout layout;
	struct py_object_layout objects;
};

/* Limits of one census. */
struct heap_limits {
	double error;		/* enough: a 95 % half-width of all bytes, such as 0.02 */
	uint64_t bytes;		/* of the process' memory that may be read */
	uint64_t time_ns;	/* that it may take */
	uint64_t seed;		/* of the choice of pools */
};

/* One type. */
struct heap_row {
	char name[HEAP_NAME_BYTES];	/* "app.Session"; hostile, valid UTF-8, NUL-terminated */
	uint64_t objects, objects_error;
	uint64_t bytes, bytes_error;	/* of the objects, and of what only they own */
	uint64_t owned;			/* of these: outside of the object: a list's items */
};

/* A large object, found as itself or through an object that refers to it. */
struct heap_large {
	uint64_t addr, bytes;
	char type[HEAP_NAME_BYTES];
	char what[HEAP_NAME_BYTES];	/* "12,000 items", "float64 (1000, 200)"; or "" */
	char where[HEAP_NAME_BYTES];	/* "app.CACHE": the value of a module's variable; "in
					 * app.CACHE": this refers to it; "": unknown */
};

struct heap_census {
	uint64_t time_ns;		/* CLOCK_MONOTONIC when it began */
	uint64_t took_ns, cpu_ns;	/* of the worker */
	uint64_t rss;			/* RssAnon, bytes */
	uint64_t pools, pools_read;	/* that were found; of these: whose blocks were read */
	uint64_t pool_bytes;		/* of all pools, with free blocks */
	uint64_t free_bytes;		/* estimate: blocks in pools that are not in use */
	uint64_t untyped_blocks, untyped_bytes;	/* estimate: in use, but of no known type: keys of
						 * dicts, raw blocks */
	/* Blocks and pools that were left out, by cause: */
	uint64_t bad_pools;		/* a header or free list that does not fit */
	uint64_t bad_types;		/* a type pointer that leads to no type */
	uint64_t unread;		/* pools that could not be read */
	bool limited;			/* limits.bytes or time_ns ended it before limits.error, or
					 * sparse mappings were left out */
	bool pages;			/* the pools are pages of mimalloc: all that is said of
					 * pools here is of these */
	uint32_t row_cnt, large_cnt;
	struct heap_row other;		/* of further types */
	struct heap_row rows[HEAP_TYPES_MAX];		/* most bytes first */
	struct heap_large largest[HEAP_LARGEST_MAX];	/* largest first */
};

/* What a type has grown by, from one census of a process to a later one. */
struct heap_growth {
	const char *name;		/* in one of the two */
	int64_t objects, bytes;
	uint64_t objects_error, bytes_error;	/* 95 % half-widths; below them it is no growth */
	double minutes;			/* between the two */
	const struct heap_row *row;	/* in the later one; NULL: the type has gone */
};

/*
 * Compare two censuses of a process. Fills out, most growth in bytes first, with all types that are
 * in one of them; at most max. Returns the number.
 */
size_t heap_census_growth(const struct heap_census *before, const struct heap_census *after,
			  struct heap_growth *out, size_t max);

#endif
