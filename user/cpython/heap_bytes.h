/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_bytes.h - how many bytes an object takes, as sys.getsizeof() counts: its own memory with the
 * collector's head, and what only it owns outside of it: a list's items, a dict's keys, an array's
 * data. Also the values of attributes, if they are outside of the object (3.11, 3.12).
 *
 * Keys that several dicts or objects share belong to none of them. The memory is hostile: sizes are
 * limited by HEAP_BYTES_MAX.
 */
#ifndef TACHBPF_CPYTHON_HEAP_BYTES_H
#define TACHBPF_CPYTHON_HEAP_BYTES_H

#include "cpython/heap_types.h"

/* No object takes more: larger figures are a lie. 64 TiB. */
#define HEAP_BYTES_MAX (1ull << 46)
/* Bytes of an object that are enough for heap_size_begin(), if it has as many. */
#define HEAP_OBJECT_LOOK 256u
/* Bytes of the second read, at most. */
#define HEAP_MORE_BYTES 64u
/* Dimensions of an ndarray that are shown. */
#define HEAP_DIMS_MAX 4

struct heap_size {
	uint64_t bytes;		/* of the object itself, with what is before it */
	uint64_t owned;		/* of what only it owns */
	uint64_t items;		/* of a container; of bytes, str: their length */
	/* The memory with references that it owns, or what its data is; 0: none. */
	uint64_t at, at_bytes;
	/* Of owned: in pieces of this size each, wherever they are. */
	uint64_t node_cnt;
	uint32_t node_bytes;
	/* Must be read to know the rest; more_bytes 0: nothing. */
	uint64_t more;
	uint32_t more_bytes;
	/* Of an ndarray: its data type ('f', 'O'; 0: unknown), dimensions, bytes of an item */
	char dtype;
	uint8_t dim_cnt;
	uint64_t dims[HEAP_DIMS_MAX], item_bytes;

	/* For this file only. */
	uint8_t step;
	uint64_t addr, cnt, values, strides, descr;
};

/*
 * From a copy of the object's first len bytes, of which `before` bytes are also right before it:
 * 0 if these are unknown. The sizes are complete unless out->more_bytes is not 0: then that memory
 * is read, and passed to heap_size_more(). If it cannot be read, the sizes stay as they are.
 */
void heap_size_begin(const struct heap_build *b, const struct heap_type *type, uint64_t addr,
		     const uint8_t *bytes, uint32_t before, uint32_t len, struct heap_size *out);
/* more: a copy of out->more_bytes bytes at out->more. It may need more again, at most twice. */
void heap_size_more(const struct heap_build *b, const struct heap_type *type, const uint8_t *more,
		    struct heap_size *out);

/* Returns true if a frame is in the object: its memory does not tell its size (3.11). */
bool heap_has_frame(const struct heap_build *b, const struct heap_type *type);
/* Returns false if objects of this type have no references, only data. */
bool heap_has_references(const struct heap_type *type);

/* "12,000 items", "float64 (1000, 200)", "20,000 bytes"; "": nothing to say. */
void heap_size_text(const struct heap_type *type, const struct heap_size *s, char *out,
		    size_t size);

#endif
