/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * used_mem.h - notes which memory a walk has used, for others to find out later whether it would
 * end as it did.
 *
 * A walk is a function of what it reads. If all of that has the same content at some moment, the
 * walk would have the same end then. What was read is noted in words, and these in ranges
 * (bpf/abi_await.h): a range is one read for whoever compares them.
 */
#ifndef TACHBPF_CPYTHON_USED_MEM_H
#define TACHBPF_CPYTHON_USED_MEM_H

#include <stdbool.h>

#include "bpf/abi_await.h"
#include "cpython/code.h"

/* Limits of one walk: on parts of memory that are noted, their bytes, and the words in them. */
#define USED_PARTS_MAX 1024
#define USED_BYTES_MAX 16384u
#define USED_WORDS_MAX 1024

/* While a walk is noted. */
struct used_mem {
	struct target_mem mem;		/* to read from */
	bool whole;			/* so far everything was noted, and readable */
	uint32_t part_cnt, byte_cnt;
	struct {
		uint64_t addr;
		uint32_t at, len;	/* in bytes[] */
	} parts[USED_PARTS_MAX];
	uint8_t bytes[USED_BYTES_MAX];
};

/* What a walk has used: in the order in which it did. */
#define USED_NOT_KNOWN 0xffffffffu
struct used_ranges {
	uint32_t cnt;			/* USED_NOT_KNOWN: see used_ranges_find() */
	uint64_t range[CHAIN_RANGES];	/* chain_range() */
	uint32_t mask[CHAIN_RANGES];
	uint64_t sum[CHAIN_RANGES];	/* chain_range_sum() */
};

struct used_place {
	uint64_t addr;
	uint32_t len;
};

/*
 * Read cnt places into buf, one after another, of len bytes in total. 0 or -errno. ctx: that of the
 * walk's target_mem, with which they are read if there is no such function.
 */
typedef int (*used_gather_fn)(void *ctx, const struct used_place *places, uint32_t cnt,
			      uint8_t *buf, size_t len);

/* Note from now on what is read with used_read(), whose ctx is u; it reads from *mem. */
void used_begin(struct used_mem *u, const struct target_mem *mem);
int used_read(void *ctx, uint64_t addr, void *buf, size_t len);
/* Note these bytes, which the walk has read from u->mem, and uses. */
void used_part(struct used_mem *u, uint64_t addr, const void *bytes, size_t len);

/*
 * The ranges that the walk has used, by reading them again. Returns false, and out->cnt is
 * USED_NOT_KNOWN, if not everything was noted, there are more than CHAIN_RANGES, or something has
 * changed since it was read.
 */
bool used_ranges_find(const struct used_mem *u, used_gather_fn gather, struct used_ranges *out);

#endif
